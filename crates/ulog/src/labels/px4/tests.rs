use std::collections::BTreeMap;

use logtool_core::{Topic, raw_schema};

use super::*;

/// Returns the description of a log of `vehicle_status` from this system and release.
fn manifest(system: &str, release: Option<u64>) -> Manifest {
    let mut info =
        BTreeMap::from([("sys_name".to_owned(), Value::Text(system.to_owned()))]);
    let release = release.map(Value::UInt);
    info.extend(release.map(|release| ("ver_sw_release".to_owned(), release)));
    let topic = Topic {
        type_name: "vehicle_status".to_owned(),
        ..Topic::new("vehicle_status".to_owned(), raw_schema("us"))
    };
    Manifest {
        metadata: BTreeMap::from([("info".to_owned(), Value::Map(info))]),
        topics: vec![topic],
        ..Manifest::default()
    }
}

fn labels(system: &str, release: Option<u64>) -> Labels {
    px4_labels(&manifest(system, release))
}

fn label(labels: &Labels, field: &str, value: i64) -> Option<String> {
    labels.get("vehicle_status", field)?.get(&value).cloned()
}

#[test]
fn value_with_changed_meaning_has_label_of_its_release() {
    let nav_state = |value: i64, release| {
        label(&labels("PX4", release), "nav_state", value)
            .map(|name| name.replace("NAVIGATION_STATE_", ""))
    };
    // vehicle_status.msg of v1.9.2, and VehicleStatus.msg of v1.16.0.
    let nav_state_6 = |release| nav_state(6, release);
    assert_eq!(nav_state_6(Some(0x0109_02ff)).as_deref(), Some("AUTO_RCRECOVER"));
    assert_eq!(nav_state_6(Some(0x0110_00ff)).as_deref(), Some("POSITION_SLOW"));
    for unknown in [None, Some(0), Some(0x010d_00ff)] {
        assert_eq!(nav_state_6(unknown), None);
    }
    // A development build between 1.14, where the value has no meaning, and 1.16.
    assert_eq!(nav_state_6(Some(0x010f_0000)).as_deref(), Some("POSITION_SLOW"));
    // VehicleStatus.msg of 1.17 and of 1.18, and a build between them.
    assert_eq!(nav_state(8, Some(0x0111_00ff)).as_deref(), Some("ALTITUDE_CRUISE"));
    assert_eq!(nav_state(7, Some(0x0111_00ff)).as_deref(), Some("FREE5"));
    assert_eq!(nav_state(7, Some(0x0112_00ff)).as_deref(), Some("GUIDED_COURSE"));
    assert_eq!(nav_state(7, Some(0x0112_0000)), None);
    let arming_1 = |release| label(&labels("PX4", release), "arming_state", 1);
    assert_eq!(arming_1(Some(0x0109_02ff)).as_deref(), Some("ARMING_STATE_STANDBY"));
    assert_eq!(arming_1(Some(0x0110_00ff)).as_deref(), Some("ARMING_STATE_DISARMED"));
    // Release 1.14 itself, and a later development version.
    assert_eq!(arming_1(Some(0x010e_00ff)).as_deref(), Some("ARMING_STATE_STANDBY"));
    assert_eq!(arming_1(Some(0x010e_0000)), None);
    // A release after those of the table has the names on which all releases since 1.13 agree.
    assert_eq!(arming_1(Some(0x0120_00ff)), None);
    assert_eq!(nav_state(4, Some(0x0120_00ff)).as_deref(), Some("AUTO_LOITER"));
}

#[test]
fn labels_that_never_changed_need_no_release() {
    let unknown = labels("PX4", None);
    assert_eq!(
        label(&unknown, "nav_state", 4).as_deref(),
        Some("NAVIGATION_STATE_AUTO_LOITER")
    );
    assert_eq!(
        label(&unknown, "arming_state", 2).as_deref(),
        Some("ARMING_STATE_ARMED")
    );
    assert!(labels("ArduPilot", Some(0x0110_00ff)).is_empty());
    let names =
        px4_value_names(&manifest("ArduPilot", None), "vehicle_status", "nav_state");
    assert_eq!(names[&4], "NAVIGATION_STATE_AUTO_LOITER");
}

/// Message files of the branches of px4_msgs for 1.13 to 1.18, and the names that they use.
#[test]
fn releases_have_the_names_of_their_message_files() {
    let names = |message: &str, field: &str, value: i64| {
        [0x010d_03ff, 0x010e_04ff, 0x010f_04ff, 0x0110_00ff, 0x0111_00ff, 0x0112_00ff]
            .map(|release| {
                let names =
                    px4_value_names(&manifest("PX4", Some(release)), message, field);
                names.get(&value).cloned().unwrap_or_default()
            })
    };
    let (cmd, old) = ("VEHICLE_CMD_RESULT_DENIED", "VEHICLE_RESULT_DENIED");
    assert_eq!(
        names("vehicle_command_ack", "result", 2),
        [old, cmd, cmd, cmd, cmd, cmd]
    );
    let new = "VEHICLE_CMD_RESULT_CANCELLED";
    assert_eq!(
        names("vehicle_command_ack", "result", 6),
        ["", new, new, new, new, new]
    );
    let (old, new) = ("ARMING_STATE_STANDBY", "ARMING_STATE_DISARMED");
    let arming = [old, old, new, new, new, new];
    assert_eq!(names("vehicle_status", "arming_state", 1), arming);
    let (old, new) = ("ARM_DISARM_REASON_RC_STICK", "ARM_DISARM_REASON_STICK_GESTURE");
    let reasons = [old, old, old, new, new, new];
    assert_eq!(names("vehicle_status", "latest_arming_reason", 1), reasons);
    let (old, new) = ("ARM_DISARM_REASON_SAFETY_BUTTON", "ARM_DISARM_REASON_LANDING");
    let reasons = [old, old, old, old, old, new];
    assert_eq!(names("vehicle_status", "latest_disarming_reason", 6), reasons);
    let (old, new) = ("BATTERY_SOURCE_ESCS", "SOURCE_ESCS");
    assert_eq!(names("battery_status", "source", 2), [old, old, old, new, new, new]);
    let (old, new) = ("JAMMING_STATE_WARNING", "JAMMING_STATE_MITIGATED");
    let jamming = ["", old, old, old, new, new];
    assert_eq!(names("vehicle_gps_position", "jamming_state", 2), jamming);
    let follow = "SETPOINT_TYPE_FOLLOW_TARGET";
    assert_eq!(names("position_setpoint", "type", 6), [follow, "", "", "", "", ""]);
    let (old, new) = ("VEHICLE_TYPE_UNKNOWN", "VEHICLE_TYPE_UNSPECIFIED");
    let types = [old, old, old, "", new, new];
    assert_eq!(names("vehicle_status", "vehicle_type", 0), types);
    let flight = "TAKEOFF_STATE_FLIGHT";
    assert_eq!(names("takeoff_status", "takeoff_state", 5), [flight; 6]);
    assert_eq!(names("landing_gear", "landing_gear", -1), ["GEAR_DOWN"; 6]);
}

#[test]
fn bits_have_names_by_their_numbers() {
    let bits = |release, message, field| {
        px4_bit_names(&manifest("PX4", Some(release)), message, field)
    };
    // EscReport.msg, and VehicleStatus.msg of 1.13 and 1.14.
    let failures = bits(0x0112_00ff, "esc_report", "failures");
    assert_eq!(failures[&5], "FAILURE_MOTOR_STUCK");
    assert_eq!(failures[&8], "FAILURE_WARN_ESC_TEMPERATURE");
    let old = bits(0x010d_00ff, "vehicle_status", "failure_detector_status");
    assert_eq!(
        (&*old[&5], &*old[&7]),
        ("FAILURE_HIGH_WIND", "FAILURE_IMBALANCED_PROP")
    );
    let new = bits(0x010e_00ff, "vehicle_status", "failure_detector_status");
    assert_eq!((&*new[&5], &*new[&7]), ("FAILURE_BATTERY", "FAILURE_MOTOR"));
    assert!(bits(0x010e_00ff, "vehicle_status", "nav_state").is_empty());
    let labels = labels("PX4", Some(0x010e_00ff));
    assert_eq!(labels.get("vehicle_status", "failure_detector_status"), None);
}

/// PX4 logs setpoints nested in `position_setpoint_triplet`.
#[test]
fn nested_type_has_labels() {
    let mut topic =
        Topic::new("position_setpoint_triplet".to_owned(), raw_schema("us"));
    topic.type_name = topic.name.clone();
    topic.definition = "uint64_t timestamp;position_setpoint current;\n\
                        position_setpoint:uint64_t timestamp;uint8_t type;"
        .to_owned();
    assert!(has_type(&topic, "position_setpoint"));
    assert!(!has_type(&topic, "position") && !has_type(&topic, "uint64_t timestamp"));
}

#[test]
fn table_is_valid_and_each_release_has_one_name_per_value() {
    let is_line = |line: &&str| {
        !line.starts_with('#') && !line.contains(':') && !line.trim().is_empty()
    };
    let lines: Vec<&str> = include_str!("names.txt").lines().filter(is_line).collect();
    assert!(lines.iter().all(|line| ValueName::parse(line).is_some()));
    let all = &*NAMES;
    assert_eq!(all.iter().map(|named| named.names.len()).sum::<usize>(), lines.len());
    for named in all {
        assert!(!named.messages.is_empty() && !named.fields.is_empty());
        for (index, name) in named.names.iter().enumerate() {
            assert!(!name.releases.is_empty(), "{}", name.name);
            let others = named.names.iter().skip(index + 1);
            for other in others.filter(|other| other.value == name.value) {
                let is_apart = |range: &Range<Release>| {
                    let mut others = other.releases.iter();
                    others.all(|o| range.end <= o.start || o.end <= range.start)
                };
                assert!(name.releases.iter().all(is_apart), "{}", name.name);
            }
        }
    }
}
