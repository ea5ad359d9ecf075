//! Which kinds of diagnoses a log allows to examine.

use serde::Serialize;

use crate::{
    coverage,
    data::{FlightData, VIBRATION},
    diagnosis::{Diagnosis, DiagnosisKind},
    intervals::Intervals,
    phases::{Phases, is_rotary_wing},
};

/// The result of one kind of diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
#[non_exhaustive]
pub enum Outcome {
    /// There are diagnoses of the kind.
    Found,
    /// The log has the values that the kind needs, and there are no diagnoses of the kind.
    NotFound,
    /// The log does not have the values that the kind needs, so that the result is unknown.
    NotExamined {
        /// The missing topics and fields, and "armed time" or "time in the air" if the vehicle was never
        /// armed or in the air. Of alternatives, the usual one is named.
        missing: Vec<String>,
    },
}

/// A kind of diagnosis and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Examination {
    /// The kind.
    pub kind: DiagnosisKind,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The parts of the log to which the result does not apply, because the values of a topic start
    /// late, pause or end early. Empty if nothing was examined.
    pub unexamined_parts: Vec<UnexaminedPart>,
}

/// A part of a log in which a kind of diagnosis could not be examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnexaminedPart {
    /// The start, in nanoseconds on the clock of the log.
    pub start_ns: i64,
    /// The end, in nanoseconds on the clock of the log.
    pub end_ns: i64,
    /// The topic whose values are missing. Of alternatives, the usual one that the log has is named.
    pub missing: String,
}

/// Fields as `topic.field`. The log must have at least one of them. The first is the usual one.
type Alternatives = &'static [&'static str];

const ARMED: Alternatives = &["vehicle_status.arming_state"];
const UNDERWAY: Alternatives =
    &["vehicle_land_detected.landed", "vehicle_status.arming_state"];
const VOLTAGE: Alternatives =
    &["battery_status.voltage_v", "battery_status.voltage_filtered_v"];

/// The field of `vehicle_status` with a bit for each failure that the failure detector of a release knows.
const DETECTOR_BITS: &str = "failure_detector_status";

/// Returns the fields that a kind needs: one of each of the alternatives. The motors of vehicles that
/// were not always multirotors may stop in the air, so that only PX4 and the ESCs report their failures.
fn needs(kind: DiagnosisKind, is_rotary_wing: bool) -> &'static [Alternatives] {
    use DiagnosisKind as Kind;
    match kind {
        Kind::GpsInterference => &[&[
            "vehicle_gps_position.eph",
            "vehicle_gps_position.jamming_state",
            "vehicle_gps_position.jamming_indicator",
            "sensor_gps.eph",
            "sensor_gps.jamming_state",
            "sensor_gps.jamming_indicator",
        ]],
        // A flag of PX4 does not exclude that the fix was lost.
        Kind::GpsLoss => {
            &[&["vehicle_gps_position.fix_type", "sensor_gps.fix_type"], ARMED]
        }
        Kind::MotorFailure if !is_rotary_wing => &[
            &[
                "failure_detector_status.fd_motor",
                "failsafe_flags.fd_motor_failure",
                "vehicle_status.failure_detector_status",
            ],
            ARMED,
        ],
        Kind::MotorFailure => &[
            &[
                "actuator_outputs.output[0]",
                "failure_detector_status.fd_motor",
                "failsafe_flags.fd_motor_failure",
                "vehicle_status.failure_detector_status",
            ],
            ARMED,
        ],
        Kind::EscFailure if !is_rotary_wing => {
            &[&["esc_status.esc_online_flags", "esc_status.esc[0].failures"], ARMED]
        }
        Kind::EscFailure => &[
            &[
                "esc_status.esc_online_flags",
                "esc_status.esc[0].esc_rpm",
                "esc_status.esc[0].failures",
            ],
            ARMED,
        ],
        Kind::BatteryBrownout | Kind::BatteryNotMeasured => &[VOLTAGE, ARMED],
        Kind::BatterySag => &[VOLTAGE, UNDERWAY],
        Kind::BatteryLow => &[&["battery_status.warning"], ARMED],
        Kind::PowerRail => {
            &[&["system_power.voltage5v_v", "system_power.voltage5V_v"], ARMED]
        }
        Kind::EkfFailure => &[&[
            "estimator_status.vel_test_ratio",
            "estimator_status.pos_test_ratio",
            "estimator_status.hgt_test_ratio",
            "estimator_status.filter_fault_flags",
        ]],
        Kind::EkfReset => &[
            &[
                "vehicle_local_position.xy_reset_counter",
                "vehicle_local_position.z_reset_counter",
            ],
            UNDERWAY,
        ],
        Kind::EkfSelectorWhipsaw => {
            &[&["estimator_selector_status.instance_changed_count"]]
        }
        Kind::TecsNonfinitePitch => {
            &[&["tecs_status.pitch_sp_rad", "tecs_status.pitch_integ"]]
        }
        Kind::RcLoss => &[
            &[
                "input_rc.rc_lost",
                "input_rc.rc_failsafe",
                "failsafe_flags.manual_control_signal_lost",
                "vehicle_status.rc_signal_lost",
            ],
            ARMED,
        ],
        Kind::DataLinkLoss => &[
            &[
                "failsafe_flags.gcs_connection_lost",
                "vehicle_status.gcs_connection_lost",
                "vehicle_status.data_link_lost",
            ],
            ARMED,
        ],
        Kind::Vibration => &[&["vehicle_imu_status.accel_vibration_metric"], UNDERWAY],
        Kind::Clipping => &[
            &[
                "vehicle_imu_status.accel_clipping[0]",
                "vehicle_imu_status.accel_clipping[1]",
                "vehicle_imu_status.accel_clipping[2]",
            ],
            UNDERWAY,
        ],
        Kind::CompassInterference => &[
            &[
                "vehicle_magnetometer.magnetometer_ga[0]",
                "sensor_combined.magnetometer_ga[0]",
                "estimator_status.hdg_test_ratio",
                "estimator_status.mag_test_ratio",
            ],
            UNDERWAY,
        ],
        Kind::CpuLoad => &[&["cpuload.load"]],
        Kind::RamUsage => &[&["cpuload.ram_usage"]],
        // Any log of a flight has its dropouts and hard faults.
        Kind::LoggingDropouts | Kind::HardFault => &[ARMED],
        Kind::Failsafe => &[
            &[
                "vehicle_status.failsafe",
                "vehicle_status.nav_state",
                "failure_detector_status.fd_roll",
                "failsafe_flags.fd_critical_failure",
            ],
            ARMED,
        ],
        Kind::PositionLoss => &[&["vehicle_local_position.xy_valid"], UNDERWAY],
        Kind::HeightLoss => &[&["failsafe_flags.fd_alt_loss"], ARMED],
        Kind::GeofenceBreach => &[
            &[
                "failsafe_flags.geofence_breached",
                "failsafe_flags.primary_geofence_breached",
            ],
            ARMED,
        ],
        Kind::SafetyEquipment => &[
            &[
                "failsafe_flags.parachute_unhealthy",
                "failsafe_flags.remote_id_unhealthy",
                "failsafe_flags.traffic_avoidance_unhealthy",
            ],
            ARMED,
        ],
    }
}

/// Returns the result of each kind, in the order of [`DiagnosisKind::ALL`].
pub(crate) fn examine(
    data: &FlightData,
    phases: &Phases,
    diagnoses: &[Diagnosis],
) -> Vec<Examination> {
    let is_rotary_wing = is_rotary_wing(data);
    let examine = |kind: &DiagnosisKind| {
        let needs = needs(*kind, is_rotary_wing).iter();
        let needs: Vec<Need<'_>> =
            needs.map(|fields| Need::new(*kind, fields, data)).collect();
        let absent = needs.iter().filter(|need| need.rows.is_empty());
        let names = absent.filter_map(|need| missing_name(data, need.fields.first()?));
        let mut missing: Vec<String> = Vec::new();
        for name in names.chain(missing_phase(*kind, &needs, phases)) {
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        let outcome = if diagnoses.iter().any(|diagnosis| diagnosis.kind == *kind) {
            Outcome::Found
        } else if missing.is_empty() {
            Outcome::NotFound
        } else {
            Outcome::NotExamined { missing }
        };
        let unexamined_parts = match outcome {
            Outcome::NotExamined { .. } => Vec::new(),
            _ => unexamined_parts(&needs, data, phases),
        };
        Examination { kind: *kind, outcome, unexamined_parts }
    };
    DiagnosisKind::ALL.iter().map(examine).collect()
}

/// Alternative fields, and where the log has values of them.
struct Need<'d> {
    fields: Alternatives,
    /// The topics with values, and the times of the rows with a value of one of the fields.
    rows: Vec<(&'d str, Vec<i64>)>,
}

impl<'d> Need<'d> {
    fn new(kind: DiagnosisKind, fields: Alternatives, data: &'d FlightData) -> Self {
        let names: Vec<(&str, &str)> =
            fields.iter().filter_map(|field| field.split_once('.')).collect();
        let mut topics: Vec<&str> = names.iter().map(|(topic, _)| *topic).collect();
        topics.dedup();
        let mut rows = Vec::new();
        for series in topics.into_iter().flat_map(|topic| data.instances(topic)) {
            let own = names.iter().filter(|(topic, _)| *topic == series.topic);
            let columns: Vec<(&str, &[f32])> = own
                .filter_map(|(_, field)| {
                    let values = match *field {
                        VIBRATION => data.vibration(series),
                        DETECTOR_BITS if kind == DiagnosisKind::MotorFailure => {
                            series.column(field).filter(|_| has_motor_bit(data))
                        }
                        _ => series.column(field),
                    };
                    Some((*field, values?))
                })
                .collect();
            let is_known = |row: usize| {
                let mut columns = columns.iter();
                columns.any(|(field, values)| {
                    values.get(row).is_some_and(|value| is_known(kind, field, *value))
                })
            };
            let times = series.times.iter().enumerate();
            let times = times.filter(|(row, _)| is_known(*row));
            let times: Vec<i64> = times.map(|(_, time)| *time).collect();
            if !times.is_empty() {
                rows.push((series.topic.as_str(), times));
            }
        }
        Self { fields, rows }
    }

    /// Returns when the log has values. The last value of a state may hold until `end`.
    fn coverage(&self, end: i64) -> Intervals {
        let is_state = self.fields == ARMED || self.fields == UNDERWAY;
        let rows = self.rows.iter().map(|(_, times)| times);
        rows.fold(Intervals::default(), |all, times| {
            all.union(&match is_state {
                true => coverage::of_state(times, end),
                false => coverage::of(times),
            })
        })
    }
}

/// Returns whether the failure detector of the release has a bit for motors.
fn has_motor_bit(data: &FlightData) -> bool {
    let bits = data.bit_names.get("vehicle_status.failure_detector_status");
    bits.is_some_and(|bits| bits.values().any(|name| name == "FAILURE_MOTOR"))
}

/// Returns whether a value of a field says anything about a kind. Sensors without a measurement report a
/// voltage of 0.
fn is_known(kind: DiagnosisKind, field: &str, value: f32) -> bool {
    use DiagnosisKind as Kind;
    match kind {
        // Its faults are values that are not numbers.
        Kind::TecsNonfinitePitch => true,
        Kind::BatteryBrownout | Kind::BatterySag | Kind::PowerRail
            if field.starts_with("voltage") =>
        {
            value > 0.0
        }
        _ => !value.is_nan(),
    }
}

/// Returns the phase that a kind needs, if the log states that the vehicle was never in it.
fn missing_phase(
    kind: DiagnosisKind,
    needs: &[Need<'_>],
    phases: &Phases,
) -> Option<String> {
    if matches!(kind, DiagnosisKind::LoggingDropouts | DiagnosisKind::HardFault) {
        return None;
    }
    let is_empty =
        |phase: &Option<Intervals>| phase.as_ref().is_some_and(Intervals::is_empty);
    let has = |fields: Alternatives| needs.iter().any(|need| need.fields == fields);
    let never_armed = is_empty(&phases.armed);
    let name = if has(UNDERWAY) && is_empty(&phases.underway) {
        if never_armed { "armed time" } else { "time in the air" }
    } else if has(ARMED) && never_armed {
        "armed time"
    } else {
        return None;
    };
    Some(name.to_owned())
}

/// Returns the parts of the log in which the needed fields have no values. Parts on the ground do not
/// matter to a kind that is examined in the air only.
fn unexamined_parts(
    needs: &[Need<'_>],
    data: &FlightData,
    phases: &Phases,
) -> Vec<UnexaminedPart> {
    let log = Intervals::from_unsorted(vec![data.time]);
    let mut relevant = log.clone();
    for (fields, active) in [(ARMED, &phases.armed), (UNDERWAY, &phases.underway)] {
        if let Some(need) = needs.iter().find(|need| need.fields == fields)
            && let Some(active) = active
        {
            let unknown = log.without(&need.coverage(data.time.1));
            relevant = relevant.intersection(&active.union(&unknown));
        }
    }
    let mut parts = Vec::new();
    for need in needs {
        let Some((missing, _)) = need.rows.first() else { continue };
        let uncovered = relevant.without(&need.coverage(data.time.1));
        let uncovered = uncovered.list().iter().filter(|(start, end)| {
            end.saturating_sub(*start) >= coverage::SHORTEST_PAUSE
        });
        parts.extend(uncovered.map(|(start, end)| UnexaminedPart {
            start_ns: *start,
            end_ns: *end,
            missing: (*missing).to_owned(),
        }));
    }
    parts
}

/// Returns the name of a missing field: that of its topic if the whole topic is missing.
fn missing_name(data: &FlightData, field: &str) -> Option<String> {
    let (topic, _) = field.split_once('.')?;
    let has_topic = data.instances(topic).any(|series| !series.times.is_empty());
    Some(match has_topic {
        true if data.vibration_is_velocity && field.ends_with(VIBRATION) => {
            format!("{field} as an acceleration")
        }
        true => field.to_owned(),
        false => topic.to_owned(),
    })
}

#[cfg(test)]
mod tests;
