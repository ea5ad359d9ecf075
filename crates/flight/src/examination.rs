//! Which kinds of diagnoses a log allows to examine.

use serde::Serialize;

use crate::{
    coverage::{self, Coverage},
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
    /// The log has the fields that the kind needs, and there are no diagnoses of the kind.
    NotFound,
    /// The log does not have the fields that the kind needs, so that the result is unknown.
    NotExamined {
        /// The missing topics and fields. Of alternatives, the usual one is named.
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
    /// The parts of the log to which the result does not apply, because a topic starts late, pauses
    /// or ends early. Empty if nothing was examined.
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
    /// The topic that is missing. Of alternatives, the usual one that the log has is named.
    pub missing: String,
}

/// Fields as `topic.field`. The log must have at least one of them. The first is the usual one.
type Alternatives = &'static [&'static str];

const ARMED: Alternatives = &["vehicle_status.arming_state"];
const UNDERWAY: Alternatives =
    &["vehicle_land_detected.landed", "vehicle_status.arming_state"];
const VOLTAGE: Alternatives =
    &["battery_status.voltage_v", "battery_status.voltage_filtered_v"];

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
        Kind::GpsLoss => &[
            &[
                "vehicle_gps_position.fix_type",
                "sensor_gps.fix_type",
                "failsafe_flags.gnss_lost",
            ],
            ARMED,
        ],
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
        Kind::BatteryLow => {
            &[&["battery_status.warning", "failsafe_flags.battery_unhealthy"], ARMED]
        }
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
    let coverage = Coverage::new(data);
    let is_rotary_wing = is_rotary_wing(data);
    let examine = |kind: &DiagnosisKind| {
        let needs = needs(*kind, is_rotary_wing);
        let is_missing = |fields: &&Alternatives| {
            !fields.iter().any(|field| has_values(data, field))
        };
        let missing = needs.iter().filter(is_missing);
        let names = missing.filter_map(|fields| missing_name(data, fields.first()?));
        let mut missing: Vec<String> = Vec::new();
        for name in names {
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
            _ => unexamined_parts(needs, data, phases, &coverage),
        };
        Examination { kind: *kind, outcome, unexamined_parts }
    };
    DiagnosisKind::ALL.iter().map(examine).collect()
}

/// Returns the parts of the log in which one of the needed fields has no records. Parts on the ground
/// do not matter to a kind that is examined in the air only.
fn unexamined_parts(
    needs: &[Alternatives],
    data: &FlightData,
    phases: &Phases,
    coverage: &Coverage<'_>,
) -> Vec<UnexaminedPart> {
    let log = Intervals::from_unsorted(vec![data.time]);
    let topics_of = |fields: &Alternatives| -> Vec<&str> {
        let present = fields.iter().filter(|field| has_values(data, field));
        present.filter_map(|field| Some(field.split_once('.')?.0)).collect()
    };
    let mut relevant = log.clone();
    for (fields, active) in [(ARMED, &phases.armed), (UNDERWAY, &phases.underway)] {
        if needs.contains(&fields)
            && let Some(active) = active
        {
            let unknown = log.without(&coverage.of_states(&topics_of(&fields)));
            relevant = relevant.intersection(&active.union(&unknown));
        }
    }
    let mut parts = Vec::new();
    for fields in needs {
        let topics = topics_of(fields);
        let covered = match *fields == ARMED || *fields == UNDERWAY {
            true => coverage.of_states(&topics),
            false => coverage.of(&topics),
        };
        let Some(missing) = topics.first() else { continue };
        let uncovered = relevant.without(&covered);
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

/// Returns whether the log has values of a field, which is `topic.field`.
fn has_values(data: &FlightData, field: &str) -> bool {
    let Some((topic, field)) = field.split_once('.') else { return false };
    let mut instances = data.instances(topic);
    instances.any(|series| {
        let values = match field {
            VIBRATION => data.vibration(series),
            _ => series.column(field),
        };
        values.is_some_and(|values| !values.is_empty())
    })
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
mod tests {
    use super::*;
    use crate::{analyze, series::Series};

    fn outcome(data: &FlightData, kind: DiagnosisKind) -> Outcome {
        let mut examinations = analyze(data).examinations.into_iter();
        examinations.find(|examination| examination.kind == kind).unwrap().outcome
    }

    #[test]
    fn kind_without_its_topics_is_not_examined() {
        let missing = |names: &[&str]| Outcome::NotExamined {
            missing: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut data = FlightData::new((0, 1_000_000_000));
        let kind = DiagnosisKind::BatteryBrownout;
        assert_eq!(
            outcome(&data, kind),
            missing(&["battery_status", "vehicle_status"])
        );
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        data.series.push(status);
        assert_eq!(outcome(&data, kind), missing(&["battery_status"]));
        assert_eq!(outcome(&data, DiagnosisKind::HardFault), Outcome::NotFound);
        // A topic is named once, although two of its fields are missing.
        let without_status = FlightData::new((0, 1_000_000_000));
        let failsafe = outcome(&without_status, DiagnosisKind::Failsafe);
        assert_eq!(failsafe, missing(&["vehicle_status"]));
        let mut battery = Series::new("battery_status", 0, vec![0, 900_000_000]);
        battery.add_column("warning", vec![0.0, 0.0]);
        data.series.push(battery.clone());
        assert_eq!(outcome(&data, kind), missing(&["battery_status.voltage_v"]));
        assert_eq!(outcome(&data, DiagnosisKind::BatteryLow), Outcome::NotFound);
        battery.add_column("voltage_v", vec![16.0, 16.0]);
        data.series.push(battery);
        assert_eq!(outcome(&data, kind), Outcome::NotFound);
        assert_eq!(analyze(&data).seconds_of_kind(kind), Some(0.0));
        assert_eq!(analyze(&data).seconds_of_kind(DiagnosisKind::GpsLoss), None);
    }

    #[test]
    fn motors_that_may_stop_are_examined_only_with_detectors() {
        let kinds = [DiagnosisKind::MotorFailure, DiagnosisKind::EscFailure];
        let outcomes = |vehicle_types: Vec<f32>, detector: &str| {
            let count = vehicle_types.len();
            let times: Vec<i64> = (0..count as i64).collect();
            let with_field = |topic: &str, field: &str, value: f32| {
                let mut series = Series::new(topic, 0, times.clone());
                series.add_column(field, vec![value; count]);
                series
            };
            let mut status = with_field("vehicle_status", "arming_state", 2.0);
            status.add_column("vehicle_type", vehicle_types);
            let (topic, field) = detector.split_once('.').unwrap();
            let data = FlightData::new((0, 1_000_000_000)).with_series([
                status,
                with_field("actuator_outputs", "output[0]", 1500.0),
                with_field("esc_status", "esc[0].esc_rpm", 5000.0),
                with_field(topic, field, 0.0),
            ]);
            kinds.map(|kind| outcome(&data, kind))
        };
        let missing =
            |name: &str| Outcome::NotExamined { missing: vec![name.to_owned()] };
        let found_nothing = || Outcome::NotFound;
        assert_eq!(outcomes(vec![1.0, 1.0], "t.f"), [found_nothing(), found_nothing()]);
        let unexamined = [
            missing("failure_detector_status"),
            missing("esc_status.esc_online_flags"),
        ];
        // A plane, and a VTOL that changes to forward flight.
        assert_eq!(outcomes(vec![2.0, 2.0], "t.f"), unexamined);
        assert_eq!(outcomes(vec![1.0, 2.0], "t.f"), unexamined);
        let detected = outcomes(vec![2.0, 2.0], "failure_detector_status.fd_motor");
        assert_eq!(detected[0], found_nothing());
    }

    #[test]
    fn empty_log_has_no_examined_kind() {
        let analysis = analyze(&FlightData::new((0, 0)));
        assert!(!analysis.is_examined() && analysis.diagnoses.is_empty());
        assert_eq!(analysis.examinations.len(), DiagnosisKind::ALL.len());
    }

    /// Each field that a kind needs is one that the analysis reads.
    #[test]
    fn needed_fields_are_read() {
        for kind in DiagnosisKind::ALL {
            let needs = [true, false].map(|is_rotary| needs(*kind, is_rotary));
            for field in needs.iter().flat_map(|needs| needs.iter().copied().flatten())
            {
                let (topic, field) = field.split_once('.').unwrap();
                let mut topics = crate::flight_topics().iter();
                // Of a list, all elements are read.
                let list = field.replace("[0]", "[*]");
                let is_read = |own: &&str| *own == field || *own == list;
                assert!(
                    topics
                        .any(|own| own.name == topic && own.fields.iter().any(is_read)),
                    "{topic}.{field}"
                );
            }
        }
    }
}
