//! Labels of PX4's own enumerations, for logs that come without the `.msg` files of PX4.
//!
//! The facts are those of the files `msg/*.msg` of PX4-Autopilot, releases 1.9 to 1.16. Where
//! the meaning of a value changed between releases, the label depends on the release that the
//! log declares (`ver_sw_release`). A log without a release, or of a release near such a change,
//! has only the labels that never changed.

use logtool_core::{Labels, Manifest, Value};

/// An enumeration: the fields that have it, and its values.
struct Enumeration {
    /// The message types, which PX4 calls as its topics.
    messages: &'static [&'static str],
    fields: &'static [&'static str],
    /// The start of each name.
    prefix: &'static str,
    values: &'static [Named],
}

/// A value and its name, in some releases.
#[derive(Clone, Copy)]
struct Named {
    value: i64,
    name: &'static str,
    /// The first release with this name.
    since: u32,
    /// The first release without it.
    before: u32,
}

/// Releases as in `ver_sw_release`, which has 0xC0 for the first release candidate.
const V1_10: u32 = 0x010a_0000;
const V1_11: u32 = 0x010b_0000;
const V1_12: u32 = 0x010c_0000;
const V1_13: u32 = 0x010d_0000;
const V1_14: u32 = 0x010e_0000;
const V1_15: u32 = 0x010f_0000;
const V1_15_RC: u32 = 0x010f_00c0;
const V1_16: u32 = 0x0110_0000;

/// A value that has the same name in all releases.
const fn named(value: i64, name: &'static str) -> Named {
    Named { value, name, since: 0, before: u32::MAX }
}

impl Named {
    const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }

    const fn before(self, before: u32) -> Self {
        Self { before, ..self }
    }

    /// Whether it has this name in `release`; unknown releases have what never changed.
    fn is_in(self, release: Option<u32>) -> bool {
        match release {
            Some(release) => (self.since..self.before).contains(&release),
            None => self.since == 0 && self.before == u32::MAX,
        }
    }
}

/// Returns the labels of the enumerations in the log of `manifest`: none unless PX4 wrote it.
pub fn px4_labels(manifest: &Manifest) -> Labels {
    let mut labels = Labels::default();
    let info = match manifest.metadata.get("info") {
        Some(Value::Map(info)) => info,
        _ => return labels,
    };
    if info.get("sys_name") != Some(&Value::Text("PX4".to_owned())) {
        return labels;
    }
    let release = match info.get("ver_sw_release") {
        Some(Value::UInt(release)) => u32::try_from(*release).ok(),
        _ => None,
    };
    let release = release.filter(|release| *release > 0);
    let is_there =
        |message: &str| manifest.topics.iter().any(|topic| topic.type_name == message);
    for enumeration in ENUMERATIONS {
        let Enumeration { messages, fields, prefix, values } = enumeration;
        for message in messages.iter().filter(|message| is_there(message)) {
            for named in values.iter().filter(|named| named.is_in(release)) {
                for field in *fields {
                    let label = format!("{prefix}{}", named.name);
                    labels.insert(message, field, named.value, label);
                }
            }
        }
    }
    labels
}

const ENUMERATIONS: &[Enumeration] = &[
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["nav_state", "nav_state_user_intention"],
        prefix: "NAVIGATION_STATE_",
        values: &[
            named(0, "MANUAL"),
            named(1, "ALTCTL"),
            named(2, "POSCTL"),
            named(3, "AUTO_MISSION"),
            named(4, "AUTO_LOITER"),
            named(5, "AUTO_RTL"),
            named(6, "AUTO_RCRECOVER").before(V1_11),
            named(6, "POSITION_SLOW").since(V1_15_RC),
            named(7, "AUTO_RTGS").before(V1_11),
            named(8, "AUTO_LANDENGFAIL").before(V1_13),
            named(9, "AUTO_LANDGPSFAIL").before(V1_13),
            named(10, "ACRO"),
            named(12, "DESCEND"),
            named(13, "TERMINATION"),
            named(14, "OFFBOARD"),
            named(15, "STAB"),
            named(16, "RATTITUDE").before(V1_11),
            named(17, "AUTO_TAKEOFF"),
            named(18, "AUTO_LAND"),
            named(19, "AUTO_FOLLOW_TARGET"),
            named(20, "AUTO_PRECLAND"),
            named(21, "ORBIT"),
            named(22, "AUTO_VTOL_TAKEOFF"),
            named(23, "EXTERNAL1"),
            named(24, "EXTERNAL2"),
            named(25, "EXTERNAL3"),
            named(26, "EXTERNAL4"),
            named(27, "EXTERNAL5"),
            named(28, "EXTERNAL6"),
            named(29, "EXTERNAL7"),
            named(30, "EXTERNAL8"),
        ],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["arming_state"],
        prefix: "ARMING_STATE_",
        values: &[
            named(0, "INIT").before(V1_14),
            named(1, "STANDBY").before(V1_14),
            named(1, "DISARMED").since(V1_15_RC),
            named(2, "ARMED"),
            named(3, "STANDBY_ERROR").before(V1_14),
            named(4, "REBOOT").before(V1_10),
            named(4, "SHUTDOWN").since(V1_12).before(V1_14),
            named(5, "IN_AIR_RESTORE").before(V1_14),
        ],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["latest_arming_reason", "latest_disarming_reason"],
        prefix: "ARM_DISARM_REASON_",
        values: &[
            named(0, "TRANSITION_TO_STANDBY"),
            named(1, "RC_STICK").before(V1_15),
            named(1, "STICK_GESTURE").since(V1_16),
            named(2, "RC_SWITCH"),
            named(3, "COMMAND_INTERNAL"),
            named(4, "COMMAND_EXTERNAL"),
            named(5, "MISSION_START"),
            named(6, "SAFETY_BUTTON"),
            named(7, "AUTO_DISARM_LAND"),
            named(8, "AUTO_DISARM_PREFLIGHT"),
            named(9, "KILL_SWITCH"),
            named(10, "LOCKDOWN"),
            named(11, "FAILURE_DETECTOR"),
            named(12, "SHUTDOWN"),
            named(13, "UNIT_TEST"),
        ],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["vehicle_type"],
        prefix: "VEHICLE_TYPE_",
        values: &[
            named(0, "UNKNOWN"),
            named(1, "ROTARY_WING"),
            named(2, "FIXED_WING"),
            named(3, "ROVER"),
            named(4, "AIRSHIP"),
        ],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["hil_state"],
        prefix: "HIL_STATE_",
        values: &[named(0, "OFF"), named(1, "ON")],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["rc_input_mode"],
        prefix: "RC_IN_MODE_",
        values: &[named(0, "DEFAULT"), named(1, "OFF"), named(2, "GENERATED")],
    },
    Enumeration {
        messages: &["vehicle_status"],
        fields: &["failsafe_defer_state"],
        prefix: "FAILSAFE_DEFER_STATE_",
        values: &[
            named(0, "DISABLED"),
            named(1, "ENABLED"),
            named(2, "WOULD_FAILSAFE"),
        ],
    },
    Enumeration {
        messages: &["commander_state"],
        fields: &["main_state"],
        prefix: "MAIN_STATE_",
        values: &[
            named(0, "MANUAL"),
            named(1, "ALTCTL"),
            named(2, "POSCTL"),
            named(3, "AUTO_MISSION"),
            named(4, "AUTO_LOITER"),
            named(5, "AUTO_RTL"),
            named(6, "ACRO"),
            named(7, "OFFBOARD"),
            named(8, "STAB"),
            named(9, "RATTITUDE").before(V1_11),
            named(10, "AUTO_TAKEOFF"),
            named(11, "AUTO_LAND"),
            named(12, "AUTO_FOLLOW_TARGET"),
            named(13, "AUTO_PRECLAND"),
            named(14, "ORBIT"),
        ],
    },
    Enumeration {
        messages: &["battery_status"],
        fields: &["warning"],
        prefix: "BATTERY_",
        values: &[
            named(0, "WARNING_NONE"),
            named(1, "WARNING_LOW"),
            named(2, "WARNING_CRITICAL"),
            named(3, "WARNING_EMERGENCY"),
            named(4, "WARNING_FAILED"),
            named(6, "STATE_UNHEALTHY"),
            named(7, "STATE_CHARGING"),
        ],
    },
    Enumeration {
        messages: &["battery_status"],
        fields: &["source"],
        prefix: "BATTERY_SOURCE_",
        values: &[named(0, "POWER_MODULE"), named(1, "EXTERNAL"), named(2, "ESCS")],
    },
    Enumeration {
        messages: &["sensor_gps", "vehicle_gps_position"],
        fields: &["fix_type"],
        prefix: "FIX_TYPE_",
        values: &[
            named(1, "NONE"),
            named(2, "2D"),
            named(3, "3D"),
            named(4, "RTCM_CODE_DIFFERENTIAL"),
            named(5, "RTK_FLOAT"),
            named(6, "RTK_FIXED"),
            named(8, "EXTRAPOLATED"),
        ],
    },
    Enumeration {
        messages: &["sensor_gps", "vehicle_gps_position"],
        fields: &["jamming_state"],
        prefix: "JAMMING_STATE_",
        values: &[
            named(0, "UNKNOWN"),
            named(1, "OK"),
            named(2, "WARNING").before(V1_16),
            named(3, "CRITICAL").before(V1_16),
        ],
    },
    Enumeration {
        messages: &["landing_gear"],
        fields: &["landing_gear"],
        prefix: "GEAR_",
        values: &[named(-1, "DOWN"), named(0, "KEEP"), named(1, "UP")],
    },
    Enumeration {
        messages: &["takeoff_status"],
        fields: &["takeoff_state"],
        prefix: "TAKEOFF_STATE_",
        values: &[
            named(0, "UNINITIALIZED"),
            named(1, "DISARMED"),
            named(2, "SPOOLUP"),
            named(3, "READY_FOR_TAKEOFF"),
            named(4, "RAMPUP"),
            named(5, "FLIGHT"),
        ],
    },
    Enumeration {
        messages: &["vtol_vehicle_status"],
        fields: &["vehicle_vtol_state"],
        prefix: "VEHICLE_VTOL_STATE_",
        values: &[
            named(0, "UNDEFINED"),
            named(1, "TRANSITION_TO_FW"),
            named(2, "TRANSITION_TO_MC"),
            named(3, "MC"),
            named(4, "FW"),
        ],
    },
    Enumeration {
        messages: &["vehicle_command_ack"],
        fields: &["result"],
        prefix: "VEHICLE_CMD_RESULT_",
        values: &[
            named(0, "ACCEPTED"),
            named(1, "TEMPORARILY_REJECTED"),
            named(2, "DENIED"),
            named(3, "UNSUPPORTED"),
            named(4, "FAILED"),
            named(5, "IN_PROGRESS"),
        ],
    },
    Enumeration {
        messages: &["distance_sensor"],
        fields: &["type"],
        prefix: "MAV_DISTANCE_SENSOR_",
        values: &[
            named(0, "LASER"),
            named(1, "ULTRASOUND"),
            named(2, "INFRARED"),
            named(3, "RADAR"),
        ],
    },
    Enumeration {
        messages: &["esc_status"],
        fields: &["esc_connectiontype"],
        prefix: "ESC_CONNECTION_TYPE_",
        values: &[
            named(0, "PPM"),
            named(1, "SERIAL"),
            named(2, "ONESHOT"),
            named(3, "I2C"),
            named(4, "CAN"),
            named(5, "DSHOT"),
        ],
    },
    Enumeration {
        messages: &["position_setpoint"],
        fields: &["type"],
        prefix: "SETPOINT_TYPE_",
        values: &[
            named(0, "POSITION"),
            named(1, "VELOCITY"),
            named(2, "LOITER"),
            named(3, "TAKEOFF"),
            named(4, "LAND"),
            named(5, "IDLE"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use logtool_core::{Topic, raw_schema};

    use super::*;

    /// The labels of a log of `vehicle_status` that a system of this release wrote.
    fn labels(system: &str, release: Option<u64>) -> Labels {
        let mut info =
            BTreeMap::from([("sys_name".to_owned(), Value::Text(system.to_owned()))]);
        let release = release.map(Value::UInt);
        info.extend(release.map(|release| ("ver_sw_release".to_owned(), release)));
        let topic = Topic {
            type_name: "vehicle_status".to_owned(),
            ..Topic::new("vehicle_status".to_owned(), raw_schema("us"))
        };
        px4_labels(&Manifest {
            metadata: BTreeMap::from([("info".to_owned(), Value::Map(info))]),
            topics: vec![topic],
            ..Manifest::default()
        })
    }

    fn label(labels: &Labels, field: &str, value: i64) -> Option<String> {
        labels.get("vehicle_status", field)?.get(&value).cloned()
    }

    #[test]
    fn a_value_that_changed_its_meaning_has_the_label_of_its_release() {
        let nav_state_6 = |release| label(&labels("PX4", release), "nav_state", 6);
        // vehicle_status.msg of v1.9.2, and VehicleStatus.msg of v1.16.0.
        assert_eq!(
            nav_state_6(Some(0x0109_02ff)).as_deref(),
            Some("NAVIGATION_STATE_AUTO_RCRECOVER")
        );
        assert_eq!(
            nav_state_6(Some(0x0110_00ff)).as_deref(),
            Some("NAVIGATION_STATE_POSITION_SLOW")
        );
        for between in [None, Some(0), Some(0x010d_00ff), Some(0x010f_0000)] {
            assert_eq!(nav_state_6(between), None);
        }
        let arming_1 = |release| label(&labels("PX4", release), "arming_state", 1);
        assert_eq!(
            arming_1(Some(0x0109_02ff)).as_deref(),
            Some("ARMING_STATE_STANDBY")
        );
        assert_eq!(
            arming_1(Some(0x0110_00ff)).as_deref(),
            Some("ARMING_STATE_DISARMED")
        );
        assert_eq!(arming_1(Some(0x010e_00ff)), None);
    }

    #[test]
    fn what_never_changed_needs_no_release_and_other_systems_have_no_labels() {
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
    }

    #[test]
    fn no_release_has_two_names_for_one_value() {
        for enumeration in ENUMERATIONS {
            for (index, one) in enumeration.values.iter().enumerate() {
                for other in &enumeration.values[index + 1..] {
                    assert!(
                        one.value != other.value
                            || one.before <= other.since
                            || other.before <= one.since,
                        "{}{} {}",
                        enumeration.prefix,
                        one.name,
                        other.name
                    );
                }
            }
        }
    }
}
