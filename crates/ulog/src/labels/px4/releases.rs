//! The releases of PX4, and which of them may have written a log.

use std::ops::Range;

use logtool_core::{Manifest, MetadataKey, Topic, Value};

/// A release, as the major and the minor number in one byte each: 0x010d is 1.13.
pub(super) type Release = u16;

/// The first release whose definitions are in the tables, and the development branch after the last.
const FIRST: Release = 0x010d;
const LAST: Release = 0x0113;

/// The kind of a first release candidate in the lowest byte of `ver_sw_release`. Lower kinds are
/// development builds, which may have any state between two releases.
const CANDIDATE: u8 = 0xc0;

const FIELDS: &str = include_str!("fields.txt");

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

/// Returns the releases whose messages have exactly the fields of `topics`. Those before the first
/// of the table are like the first. If there are none, all releases are possible.
fn releases_with_topics(topics: &[Topic]) -> Vec<Release> {
    let mut possible: Vec<Release> = (FIRST..=LAST).collect();
    for topic in topics {
        let fields = message_fields(&topic.type_name);
        let line = topic.definition.lines().next().unwrap_or_default();
        let own: Vec<&str> = line
            .split(';')
            .filter_map(|field| field.rsplit(' ').next())
            .map(|name| name.split('[').next().unwrap_or_default())
            .collect();
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

/// Returns the releases that have the field `field` of `message`, a PX4 message or one of its topics.
/// A field of a field, e.g. `esc[0].esc_rpm`, is that of its message. They are empty if no release
/// since 1.13 has it.
pub fn px4_field_releases(message: &str, field: &str) -> Vec<Range<u16>> {
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let name = first.split('[').next().unwrap_or_default();
    let mut found = Vec::new();
    for_each_field(message, |own, nested, ranges| match nested {
        _ if own != name => {}
        Some(nested) if !rest.is_empty() => {
            found.extend(px4_field_releases(nested, rest));
        }
        _ => found.extend(ranges),
    });
    found
}

/// Returns the fields of a message with their releases.
fn message_fields(message: &str) -> Vec<(&'static str, Vec<Range<Release>>)> {
    let mut fields: Vec<(&str, Vec<Range<Release>>)> = Vec::new();
    for_each_field(message, |name, _, ranges| {
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(ranges),
            None => fields.push((name, ranges)),
        }
    });
    fields
}

/// Calls `visit` with the name of each field of `message`, its message if it is one, and its releases.
fn for_each_field(
    message: &str,
    mut visit: impl FnMut(&'static str, Option<&'static str>, Vec<Range<Release>>),
) {
    let mut is_message = false;
    for line in FIELDS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(messages) = line.strip_suffix(':') {
            is_message = messages.split(' ').any(|name| name == message);
        } else if is_message {
            let mut words = line.split(' ').peekable();
            let name = words.next().unwrap_or_default();
            let nested = words.next_if(|word| !word.contains('-'));
            let ranges = parse_ranges(words).unwrap_or_default();
            let always = std::iter::once(FIRST..Release::MAX).collect();
            visit(name, nested, if ranges.is_empty() { always } else { ranges });
        }
    }
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
        assert_eq!(px4_field_releases("vehicle_status", "kitchen"), []);
        assert_eq!(px4_field_releases("kitchen_status", "nav_state"), []);
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
