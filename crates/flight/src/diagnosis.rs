//! Diagnoses of a flight: possible faults, and the evidence for them.

use serde::Serialize;

/// The severity of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// A condition that the operator should look into.
    Warning,
    /// A condition that endangers the vehicle.
    Critical,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $name:literal, $title:literal;)*) => {
        /// The kind of a diagnosis.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[non_exhaustive]
        pub enum DiagnosisKind {
            $($(#[doc = $doc])* #[serde(rename = $name)] $kind,)*
        }

        impl DiagnosisKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name in JSON and in the catalogue, e.g. `gps_interference`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// Returns the display name, e.g. "GPS interference".
            pub const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title),* }
            }
        }
    };
}

kinds! {
    /// The GPS reception became worse than at the start, or the receiver reports jamming or
    /// spoofing.
    GpsInterference = "gps_interference", "GPS interference";
    /// The GPS receiver lost its fix, or stopped sending messages.
    GpsLoss = "gps_loss", "GPS loss";
    /// The output of a motor dropped to zero, stayed at its maximum, or PX4 detected a failure.
    MotorFailure = "motor_failure", "motor failure";
    /// An ESC reports a failure, went offline, or its motor stopped in the air.
    EscFailure = "esc_failure", "ESC failure";
    /// The voltage of the battery was below its critical voltage.
    BatteryBrownout = "battery_brownout", "battery brownout";
    /// No battery voltage was measured while the vehicle was armed.
    BatteryNotMeasured = "battery_not_measured", "battery not measured";
    /// The voltage of the battery dropped far and fast in the air.
    BatterySag = "battery_sag", "battery sag";
    /// PX4 reports a critical charge or a fault of the battery.
    BatteryLow = "battery_low", "battery low";
    /// The voltage of the 5 V rail was too low.
    PowerRail = "power_rail", "power rail";
    /// An innovation test of the estimator failed for seconds, or it reports a fault.
    EkfFailure = "ekf_failure", "EKF failure";
    /// The estimator reset the position or the velocity in the air.
    EkfReset = "ekf_reset", "EKF reset";
    /// The estimator selector switched often between the estimator instances.
    EkfSelectorWhipsaw = "ekf_selector_whipsaw", "EKF selector whipsaw";
    /// The pitch integrator or setpoint of TECS is not a number.
    TecsNonfinitePitch = "tecs_nonfinite_pitch", "TECS without a pitch";
    /// The receiver of the remote control lost its signal.
    RcLoss = "rc_loss", "RC loss";
    /// The data link to the ground station was lost.
    DataLinkLoss = "data_link_loss", "data link loss";
    /// The accelerometers vibrated strongly in the air.
    Vibration = "vibration", "vibration";
    /// The accelerometers reached their limits.
    Clipping = "clipping", "clipping";
    /// The magnetic field changed in the air, or with the thrust.
    CompassInterference = "compass_interference", "compass interference";
    /// The processor was overloaded.
    CpuLoad = "cpu_load", "CPU load";
    /// The memory was nearly full.
    RamUsage = "ram_usage", "RAM usage";
    /// The logger lost data.
    LoggingDropouts = "logging_dropouts", "logging dropouts";
    /// PX4 entered a failsafe, terminated the flight, or reports a failure or an exceeded limit.
    Failsafe = "failsafe", "failsafe";
    /// The log contains the dump of a hard fault.
    HardFault = "hard_fault", "hard fault";
    /// The estimate of the position, the height or the velocity became invalid in the air, or lost the
    /// measurements that it needs.
    PositionLoss = "position_loss", "position aiding lost";
    /// PX4 reports an uncommanded loss of height.
    HeightLoss = "height_loss", "loss of height";
    /// PX4 reports that the vehicle left the geofence.
    GeofenceBreach = "geofence_breach", "geofence breach";
    /// PX4 reports that the parachute, the remote ID or the traffic avoidance does not work.
    SafetyEquipment = "safety_equipment", "safety equipment";
}

/// A measured value that supports a diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The name of the field of the log, or of the computed quantity.
    pub name: String,
    /// The value; infinite and missing values are null in JSON.
    pub value: f64,
    /// The unit; empty for quantities without a unit.
    pub unit: &'static str,
    /// The threshold that the value crossed, if there is one.
    pub threshold: Option<f64>,
    /// The name of the value, if it is a state that has one, e.g. `CRITICAL`.
    pub value_name: Option<String>,
    /// The name of the threshold, if it is a state that has one.
    pub threshold_name: Option<String>,
}

/// A possible fault of a vehicle, with its time and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The kind.
    pub kind: DiagnosisKind,
    /// The severity.
    pub severity: Severity,
    /// The start, in nanoseconds on the clock of the log.
    pub start_ns: i64,
    /// The end, or the last time at which the fault was observed, in nanoseconds on the clock of the
    /// log.
    pub end_ns: i64,
    /// A description: one sentence without a full stop.
    pub summary: String,
    /// The topic, with its instance unless that is 0.
    pub topic: String,
    /// The values that support the diagnosis.
    pub evidence: Vec<Evidence>,
}

impl Diagnosis {
    pub(crate) fn new(
        kind: DiagnosisKind,
        severity: Severity,
        (start_ns, end_ns): (i64, i64),
        topic: impl Into<String>,
        summary: impl Into<String>,
    ) -> Self {
        let (topic, summary) = (topic.into(), summary.into());
        Self { kind, severity, start_ns, end_ns, summary, topic, evidence: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with_evidence(
        mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        threshold: Option<f64>,
    ) -> Self {
        self.evidence.push(Evidence {
            name: name.into(),
            value,
            unit,
            threshold,
            value_name: None,
            threshold_name: None,
        });
        self
    }

    /// Returns the duration in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}
