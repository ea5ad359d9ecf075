//! The releases of PX4, and which of them may have written a log.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    sync::LazyLock,
};

use logtool_core::{Manifest, MetadataKey, Topic, Value};

/// A release, as the major and the minor number in one byte each: 0x010d is 1.13.
pub(super) type Release = u16;

/// The first release whose definitions are in the tables, and the development branch after the last.
const FIRST: Release = 0x010d;
const LAST: Release = 0x0113;

/// The kind of a first release candidate in the lowest byte of `ver_sw_release`. Lower kinds are
/// development builds, which may have any state between two releases.
const CANDIDATE: u8 = 0xc0;

/// The fields of the messages that some topics of PX4 have, by the names of messages and topics.
static FIELDS: LazyLock<HashMap<&str, Vec<MessageField>>> =
    LazyLock::new(|| parse_fields(include_str!("fields.txt")));

/// A field of a message.
struct MessageField {
    name: &'static str,
    /// The message of the field, if it is one.
    nested: Option<&'static str>,
    releases: Vec<Range<Release>>,
}

/// Parses ranges of releases, e.g. `-1.11` or `1.13-1.15`.
pub(super) fn parse_ranges<'t>(
    words: impl Iterator<Item = &'t str>,
) -> Option<Vec<Range<Release>>> {
    let release = |text: &str, default| match text.split_once('.') {
        Some((major, minor)) => {
            Some(Release::from_be_bytes([major.parse().ok()?, minor.parse().ok()?]))
        }
        None => text.is_empty().then_some(default),
    };
    words
        .map(|word| {
            let (since, before) = word.split_once('-')?;
            Some(release(since, 0)?..release(before, Release::MAX)?)
        })
        .collect()
}

/// Returns the releases that may have written the log of `manifest`: the one that it declares in
/// `ver_sw_release`, else those whose messages have the fields of its topics, else all.
///
/// A development build may have the definitions of the release before or after it. Releases after
/// those of the tables are like all from the first to the last.
pub(super) fn possible_releases(manifest: &Manifest) -> Vec<Release> {
    let declared = match manifest.file_metadata(MetadataKey::Info) {
        Some(Value::Map(info)) => info.get("ver_sw_release"),
        _ => None,
    };
    let declared = match declared {
        Some(Value::UInt(release)) => u32::try_from(*release).unwrap_or_default(),
        _ => 0,
    };
    let [major, minor, _, kind] = declared.to_be_bytes();
    let release = Release::from_be_bytes([major, minor]);
    match release {
        0 => releases_with_topics(&manifest.topics),
        _ if release > LAST => (FIRST..=LAST).collect(),
        _ if kind < CANDIDATE => (release.saturating_sub(1)..=release + 1).collect(),
        _ => vec![release],
    }
}

/// Returns the releases whose messages have exactly the fields of `topics`. Releases before
/// the first of the table are like the first. If no release matches, all are possible.
fn releases_with_topics(topics: &[Topic]) -> Vec<Release> {
    let mut possible: Vec<Release> = (FIRST..=LAST).collect();
    for topic in topics {
        let fields = message_fields(&topic.type_name);
        let own = defined_fields(topic);
        if !fields.iter().any(|(name, _)| own.contains(name)) {
            continue;
        }
        possible.retain(|release| {
            fields.iter().all(|(name, ranges)| {
                ranges.iter().any(|range| range.contains(release)) == own.contains(name)
            })
        });
    }
    match possible.first() {
        Some(first) if *first > FIRST => possible,
        Some(_) => (0..FIRST).chain(possible).collect(),
        None => (0..=LAST).collect(),
    }
}

/// Returns the fields of the records of `topic`.
fn defined_fields(topic: &Topic) -> Vec<&str> {
    let line = topic.definition.lines().next().unwrap_or_default();
    let fields = line.split(';').filter_map(|field| field.rsplit(' ').next());
    fields.map(|name| name.split('[').next().unwrap_or_default()).collect()
}

/// Returns the names of the bits of a field that has a bit for each of `flags`, which are fields of
/// `message` in the order of their bits. Bits move if a release lacks some of the flags: those in the log
/// count, or, if it does not have the message, those of the releases that may have written it. A bit has a
/// name if these releases agree.
pub fn px4_bits_of_flags(
    manifest: &Manifest,
    message: &str,
    flags: &[&str],
) -> BTreeMap<u32, String> {
    let with = |is_known: &dyn Fn(&str) -> bool| -> Vec<&str> {
        flags.iter().copied().filter(|flag| is_known(flag)).collect()
    };
    let mut topics = manifest.topics.iter();
    let variants: Vec<Vec<&str>> = match topics.find(|own| own.type_name == message) {
        Some(topic) => {
            let defined = defined_fields(topic);
            vec![with(&|flag| defined.contains(&flag))]
        }
        None => {
            let releases = possible_releases(manifest).into_iter();
            // Releases before those of the table are like the first.
            let releases: BTreeSet<Release> =
                releases.map(|release| release.max(FIRST)).collect();
            let variant = |release: Release| {
                with(&|flag| {
                    let mut ranges = px4_field_releases(message, flag).into_iter();
                    ranges.any(|range| range.contains(&release))
                })
            };
            releases.into_iter().map(variant).collect()
        }
    };
    let Some((first, others)) = variants.split_first() else { return BTreeMap::new() };
    let names = first.iter().enumerate();
    let agreed = names.filter(|(bit, name)| {
        others.iter().all(|variant| variant.get(*bit) == Some(*name))
    });
    agreed.map(|(bit, name)| (bit as u32, (*name).to_owned())).collect()
}

/// Returns whether `vehicle_imu_status.accel_vibration_metric` of a log is a velocity, as in PX4 before
/// 1.13, and not an acceleration. The name of another metric changed at the same time.
pub fn px4_vibration_is_velocity(manifest: &Manifest) -> bool {
    let mut topics = manifest.topics.iter();
    topics.any(|topic| {
        topic.type_name == "vehicle_imu_status"
            && topic.definition.contains(" gyro_coning_vibration;")
    }) || possible_releases(manifest).iter().all(|release| *release < FIRST)
}

/// Returns the releases that have the field `field` of `message`, a PX4 message or one of its topics.
/// A field of a field, e.g. `esc[0].esc_rpm`, is that of its message. `fd_*` is any field with this start.
/// They are empty if no release since 1.13 has it.
pub fn px4_field_releases(message: &str, field: &str) -> Vec<Range<u16>> {
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let name = first.split('[').next().unwrap_or_default();
    let is_named = |own: &str| match name.strip_suffix('*') {
        Some(start) => own.starts_with(start),
        None => own == name,
    };
    let mut found = Vec::new();
    for own in FIELDS.get(message).into_iter().flatten() {
        match own.nested {
            _ if !is_named(own.name) => {}
            Some(nested) if !rest.is_empty() => {
                found.extend(px4_field_releases(nested, rest));
            }
            _ => found.extend(own.releases.iter().cloned()),
        }
    }
    found
}

/// Returns the fields of a message with their releases.
fn message_fields(message: &str) -> Vec<(&'static str, Vec<Range<Release>>)> {
    let mut fields: Vec<(&str, Vec<Range<Release>>)> = Vec::new();
    for MessageField { name, releases, .. } in FIELDS.get(message).into_iter().flatten()
    {
        let releases = releases.iter().cloned();
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.extend(releases),
            None => fields.push((name, releases.collect())),
        }
    }
    fields
}

/// Parses a table of fields: a line of names with a colon, and a line for each field.
fn parse_fields(table: &'static str) -> HashMap<&'static str, Vec<MessageField>> {
    let mut all: HashMap<&str, Vec<MessageField>> = HashMap::new();
    let mut messages = "";
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some(names) = line.strip_suffix(':') {
            messages = names;
            continue;
        }
        let mut words = line.split(' ').peekable();
        let name = words.next().unwrap_or_default();
        let nested = words.next_if(|word| !word.contains('-'));
        let releases = parse_ranges(words).unwrap_or_default();
        let always = || std::iter::once(FIRST..Release::MAX).collect();
        let releases = if releases.is_empty() { always() } else { releases };
        for message in messages.split(' ') {
            let field = MessageField { name, nested, releases: releases.clone() };
            all.entry(message).or_default().push(field);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use logtool_core::raw_schema;

    use super::*;

    #[test]
    fn releases_of_fields_are_those_of_the_message_files() {
        // EstimatorStatus.msg, EscReport.msg and AirspeedValidated.msg of px4_msgs.
        let since = |message: &str, field: &str| {
            px4_field_releases(message, field).first().map(|range| range.start)
        };
        assert_eq!(since("estimator_status", "hdg_test_ratio"), Some(0x0110));
        assert_eq!(
            px4_field_releases("estimator_status", "mag_test_ratio"),
            vec![0x010d..0x0110; 1]
        );
        assert_eq!(since("esc_status", "esc[11].motor_temperature"), Some(0x0112));
        assert_eq!(since("vehicle_status", "nav_state"), Some(0x010d));
        assert_eq!(since("vehicle_gps_position", "latitude_deg"), Some(0x010f));
        assert_eq!(since("failure_detector_status", "fd_*"), Some(0x010d));
        assert_eq!(px4_field_releases("vehicle_status", "kitchen*"), []);
        assert_eq!(px4_field_releases("vehicle_status", "kitchen"), []);
        assert_eq!(px4_field_releases("kitchen_status", "nav_state"), []);
    }

    #[test]
    fn bits_of_flags_move_with_the_release() {
        let flags = ["fs_bad_optflow_y", "fs_bad_vel_n", "fs_bad_acc_bias"];
        let flags = [&flags[..], &["fs_bad_acc_vertical"]].concat();
        let message = "estimator_status_flags";
        let names = |manifest: &Manifest| {
            let names = px4_bits_of_flags(manifest, message, &flags).into_iter();
            names.map(|(bit, name)| format!("{bit} {name}")).collect::<Vec<_>>()
        };
        let of_release = |release: u64| {
            let info = [("ver_sw_release".to_owned(), Value::UInt(release))];
            let info = Value::Map(info.into());
            Manifest {
                metadata: [("info".to_owned(), info)].into(),
                ..Manifest::default()
            }
        };
        let all = ["0 fs_bad_optflow_y", "1 fs_bad_vel_n", "2 fs_bad_acc_bias"];
        let all = [&all[..], &["3 fs_bad_acc_vertical"]].concat();
        let of_1_15 =
            ["0 fs_bad_optflow_y", "1 fs_bad_acc_bias", "2 fs_bad_acc_vertical"];
        let of_1_16 = ["0 fs_bad_optflow_y", "1 fs_bad_acc_vertical"];
        // EstimatorStatusFlags.msg of px4_msgs.
        assert_eq!(names(&of_release(0x010c_00ff)), all);
        assert_eq!(names(&of_release(0x010e_00ff)), all);
        assert_eq!(names(&of_release(0x010f_00ff)), of_1_15);
        assert_eq!(names(&of_release(0x0110_00ff)), of_1_16);
        // A build between 1.14 and 1.16.
        assert_eq!(names(&of_release(0x010f_0000)), of_1_16[..1]);
        // The definition in the log precedes the release.
        let topic = Topic {
            type_name: message.to_owned(),
            definition: "uint64_t timestamp;bool fs_bad_vel_n;bool fs_bad_acc_bias;"
                .to_owned(),
            ..Topic::new(message.to_owned(), raw_schema("us"))
        };
        let log = Manifest { topics: vec![topic], ..of_release(0x0110_00ff) };
        assert_eq!(names(&log), ["0 fs_bad_vel_n", "1 fs_bad_acc_bias"]);
    }

    #[test]
    fn definitions_state_the_release_of_a_log_without_one() {
        let topic = |fields: &[&str]| Topic {
            type_name: "airspeed_validated".to_owned(),
            definition: fields.iter().map(|field| format!("float {field};")).collect(),
            ..Topic::new("airspeed_validated".to_owned(), raw_schema("us"))
        };
        let of = |release: Release| {
            let fields = message_fields("airspeed_validated");
            let own = fields.iter().filter(|(_, ranges)| {
                ranges.iter().any(|range| range.contains(&release))
            });
            own.map(|(name, _)| *name).collect::<Vec<_>>()
        };
        let newest = releases_with_topics(&[topic(&of(0x0112))]);
        assert!(newest.contains(&0x0112) && !newest.contains(&0x010d), "{newest:?}");
        let oldest = releases_with_topics(&[topic(&of(0x010d))]);
        assert!(oldest.contains(&0x010d) && oldest.contains(&0x0109), "{oldest:?}");
        assert!(!oldest.contains(&0x0112), "{oldest:?}");
        let unknown = releases_with_topics(&[topic(&["timestamp", "kitchen"])]);
        assert_eq!((unknown.first(), unknown.last()), (Some(&0), Some(&LAST)));
    }
}
