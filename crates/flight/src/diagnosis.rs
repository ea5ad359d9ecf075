//! What may have gone wrong in a flight, and the evidence for it.

use serde::Serialize;

/// How bad a diagnosis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Something to look at.
    Warning,
    /// Something that endangers the vehicle.
    Critical,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $name:literal, $title:literal;)*) => {
        /// What may have gone wrong.
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

            /// Returns the name for people, e.g. "GPS interference".
            pub const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title),* }
            }
        }
    };
}

kinds! {
    /// The GPS receiver got worse than it was at the start, or reports jamming or spoofing.
    GpsInterference = "gps_interference", "GPS interference";
    /// The GPS receiver lost its fix, or was silent.
    GpsLoss = "gps_loss", "GPS loss";
    /// The output of a motor dropped to zero, stayed at its maximum, or PX4 detected a failure.
    MotorFailure = "motor_failure", "motor failure";
    /// An ESC reports a failure, went offline, or its motor stopped in the air.
    EscFailure = "esc_failure", "ESC failure";
    /// The voltage of the battery was below the critical one.
    BatteryBrownout = "battery_brownout", "battery brownout";
    /// The vehicle was armed, and no voltage of a battery was measured.
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
    /// The selector changed often between the instances of the estimator.
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
    /// PX4 entered a failsafe, terminated the flight, or detected a failure.
    Failsafe = "failsafe", "failsafe";
    /// The log has the dump of a hard fault.
    HardFault = "hard_fault", "hard fault";
}

/// A measured value that supports a diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The field of the log or the computed quantity.
    pub name: String,
    /// The value; infinite and missing values are null in JSON.
    pub value: f64,
    /// The unit; empty for numbers without one.
    pub unit: &'static str,
    /// The threshold that the value crossed, if the value has one.
    pub threshold: Option<f64>,
}

/// Something that may have gone wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The kind.
    pub kind: DiagnosisKind,
    /// The severity.
    pub severity: Severity,
    /// The first time in nanoseconds on the clock of the log.
    pub start_ns: i64,
    /// The time when it was over, or last observed.
    pub end_ns: i64,
    /// One sentence without a full stop.
    pub summary: String,
    /// The topic, with its instance unless that is 0.
    pub topic: String,
    /// The values that support it.
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
        self.evidence.push(Evidence { name: name.into(), value, unit, threshold });
        self
    }

    /// Returns how long it lasted, in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}
