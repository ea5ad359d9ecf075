//! Labels of PX4's own enumerations, for logs without the `.msg` files of PX4.
//!
//! The labels are in `px4_labels.txt`, with their sources. If the meaning of a value
//! changed between releases, the label depends on the release declared in the log
//! (`ver_sw_release`). A log without a release, or with a release close to such a
//! change, has only the labels that never changed.

use std::ops::Range;

use logtool_core::{Labels, Manifest, MetadataKey, Topic, Value};

const TABLE: &str = include_str!("px4_labels.txt");

/// The fields that have an enumeration.
struct EnumFields<'t> {
    /// The message types, which have the names of PX4 topics.
    messages: Vec<&'t str>,
    fields: Vec<&'t str>,
}

/// The name of a value.
struct ValueName<'t> {
    value: i64,
    name: &'t str,
    /// The releases with this name; empty if all releases have it.
    releases: Vec<Range<u32>>,
}

impl<'t> ValueName<'t> {
    /// Parses a line, e.g. `6 NAVIGATION_STATE_AUTO_RCRECOVER -1.11`.
    fn parse(line: &'t str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (value, name) = (words.next()?.parse().ok()?, words.next()?);
        let releases = words.map(releases).collect::<Option<_>>()?;
        Some(Self { value, name, releases })
    }

    /// Returns true if `release` has the name. Unknown releases have only names that
    /// never changed.
    fn is_in(&self, release: Option<u32>) -> bool {
        let mut releases = self.releases.iter();
        let is_in = |release| releases.any(|range| range.contains(&release));
        self.releases.is_empty() || release.is_some_and(is_in)
    }
}

/// Parses a range of releases, e.g. `1.15rc-1.16`.
fn releases(range: &str) -> Option<Range<u32>> {
    let (first, end) = range.split_once('-')?;
    let release = |text: &str, default| match text {
        "" => Some(default),
        text => release(text),
    };
    Some(release(first, 0)?..release(end, u32::MAX)?)
}

/// Parses a release, e.g. `1.15rc`. In `ver_sw_release`, the lowest byte is 0xC0 for
/// the first release candidate.
fn release(text: &str) -> Option<u32> {
    let numbers = text.strip_suffix("rc");
    let kind = if numbers.is_some() { 0xc0 } else { 0 };
    let (major, minor) = numbers.unwrap_or(text).split_once('.')?;
    let (major, minor): (u8, u8) = (major.parse().ok()?, minor.parse().ok()?);
    Some(u32::from_be_bytes([major, minor, 0, kind]))
}

/// Calls `visit` with each value name of `table` and the fields that have it.
fn for_each_name<'t>(
    table: &'t str,
    mut visit: impl FnMut(&EnumFields<'t>, ValueName<'t>),
) {
    let mut enum_fields = EnumFields { messages: Vec::new(), fields: Vec::new() };
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some((messages, fields)) = line.split_once(':') {
            let words = |text: &'t str| text.split_whitespace().collect();
            enum_fields =
                EnumFields { messages: words(messages), fields: words(fields) };
        } else if let Some(value_name) = ValueName::parse(line) {
            visit(&enum_fields, value_name);
        }
    }
}

/// Returns the labels of the enumerations in the log of `manifest`. They are empty unless PX4 wrote
/// the log.
pub fn px4_labels(manifest: &Manifest) -> Labels {
    let mut labels = Labels::default();
    let info = match manifest.file_metadata(MetadataKey::Info) {
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
    for_each_name(TABLE, |enum_fields, value_name| {
        let is_logged =
            |message: &&&str| manifest.topics.iter().any(|t| has_type(t, message));
        for message in enum_fields.messages.iter().filter(is_logged) {
            for field in enum_fields.fields.iter().filter(|_| value_name.is_in(release))
            {
                labels.insert(
                    message,
                    field,
                    value_name.value,
                    value_name.name.to_owned(),
                );
            }
        }
    });
    labels
}

/// Returns true if the records of `topic` have the type `message` or contain it.
fn has_type(topic: &Topic, message: &str) -> bool {
    let is_inside = |line: &str| {
        line.strip_prefix(message).is_some_and(|rest| rest.starts_with(':'))
    };
    topic.type_name == message || topic.definition.lines().skip(1).any(is_inside)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use logtool_core::{Topic, raw_schema};

    use super::*;

    /// Returns the labels of a log of `vehicle_status` from this system and release.
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
    fn value_with_changed_meaning_has_label_of_its_release() {
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
        // Release 1.14 itself, and a later development version.
        assert_eq!(
            arming_1(Some(0x010e_00ff)).as_deref(),
            Some("ARMING_STATE_STANDBY")
        );
        assert_eq!(arming_1(Some(0x010e_0000)), None);
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
    }

    /// The releases of the message reference on docs.px4.io with which the table was
    /// compared, and the names that they use.
    #[test]
    fn releases_have_the_names_of_their_message_files() {
        let names = |field: &str, value: i64| {
            [0x010d_03ff, 0x010e_04ff, 0x010f_04ff, 0x0110_00ff, 0x0111_00ff].map(
                |release| {
                    let mut name = None;
                    for_each_name(TABLE, |enum_fields, value_name| {
                        let is_it = enum_fields.fields.contains(&field)
                            && value_name.value == value;
                        if is_it && value_name.is_in(Some(release)) {
                            name = Some(value_name.name);
                        }
                    });
                    name.unwrap_or("")
                },
            )
        };
        let cmd = "VEHICLE_CMD_RESULT_DENIED";
        assert_eq!(names("result", 2), ["VEHICLE_RESULT_DENIED", cmd, cmd, cmd, cmd]);
        let cancelled = "VEHICLE_CMD_RESULT_CANCELLED";
        assert_eq!(
            names("result", 6),
            ["", cancelled, cancelled, cancelled, cancelled]
        );
        let (standby, disarmed) = ("ARMING_STATE_STANDBY", "ARMING_STATE_DISARMED");
        let arming = [standby, standby, disarmed, disarmed, disarmed];
        assert_eq!(names("arming_state", 1), arming);
        let stick = "ARM_DISARM_REASON_RC_STICK";
        let gesture = "ARM_DISARM_REASON_STICK_GESTURE";
        let reasons = [stick, stick, stick, gesture, gesture];
        assert_eq!(names("latest_arming_reason", 1), reasons);
        let button = "ARM_DISARM_REASON_SAFETY_BUTTON";
        let landing = "ARM_DISARM_REASON_LANDING";
        let reasons = [button, button, button, button, landing];
        assert_eq!(names("latest_disarming_reason", 6), reasons);
        let (old, new) = ("BATTERY_SOURCE_ESCS", "SOURCE_ESCS");
        assert_eq!(names("source", 2), [old, old, old, new, new]);
        let follow = "SETPOINT_TYPE_FOLLOW_TARGET";
        assert!(names("type", 6).contains(&follow));
        assert_eq!(names("type", 6)[1..], ["", "", "", ""]);
        assert_eq!(names("takeoff_state", 5), ["TAKEOFF_STATE_FLIGHT"; 5]);
        assert_eq!(names("landing_gear", -1), ["GEAR_DOWN"; 5]);
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
        assert!(
            !has_type(&topic, "position") && !has_type(&topic, "uint64_t timestamp")
        );
    }

    #[test]
    fn table_is_valid_and_each_release_has_one_name_per_value() {
        let is_line = |line: &&str| {
            !line.starts_with('#') && !line.contains(':') && !line.trim().is_empty()
        };
        let lines: Vec<&str> = TABLE.lines().filter(is_line).collect();
        assert!(lines.iter().all(|line| ValueName::parse(line).is_some()));
        let mut all: Vec<(String, i64, Vec<Range<u32>>)> = Vec::new();
        for_each_name(TABLE, |enum_fields, value_name| {
            assert!(
                !enum_fields.messages.is_empty() && !enum_fields.fields.is_empty(),
                "{}",
                value_name.name
            );
            let every = std::iter::once(0..u32::MAX);
            let own: Vec<Range<u32>> = if value_name.releases.is_empty() {
                every.collect()
            } else {
                value_name.releases
            };
            let key = format!("{:?}", (&enum_fields.messages, &enum_fields.fields));
            for (other, value, ranges) in &all {
                let is_apart = |range: &Range<u32>| {
                    own.iter().all(|o| range.end <= o.start || o.end <= range.start)
                };
                assert!(
                    *other != key
                        || *value != value_name.value
                        || ranges.iter().all(is_apart),
                    "{} {}",
                    value_name.value,
                    value_name.name
                );
            }
            all.push((key, value_name.value, own));
        });
        assert_eq!(all.len(), lines.len());
    }
}
