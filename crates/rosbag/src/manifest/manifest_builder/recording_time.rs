//! The recording time of a bag.

use logtool_core::{Part, TimeRange};

/// Times that are further apart than this do not belong to one recording.
const FAR_NANOS: i64 = 366 * 86_400 * 1_000_000_000;

/// Returns the time range from the first record to the last. Parts whose times are years
/// away from the times of most parts are ignored.
pub(super) fn robust_range(
    parts: &[Part],
    remarks: &mut Vec<String>,
) -> Option<TimeRange> {
    let is_known = |time: &TimeRange| !time.is_empty() && *time != TimeRange::ALL;
    let mut times: Vec<TimeRange> =
        parts.iter().map(|part| part.time).filter(is_known).collect();
    times.sort_unstable_by_key(|time| time.start);
    // The time ranges of parts that are near each other, and the number of parts in each.
    let mut groups: Vec<(TimeRange, usize)> = Vec::new();
    for time in times {
        match groups.last_mut() {
            Some((group, count)) if is_near(group, &time) => {
                *group = group.cover(&time);
                *count += 1;
            }
            _ => groups.push((time, 1)),
        }
    }
    // Of groups with equally many parts, the latest is used: a clock that is not set shows 1970.
    let most_frequent =
        groups.iter().max_by_key(|(_, count)| *count).map(|(time, _)| *time)?;
    let other_count: usize = groups
        .iter()
        .filter(|(time, _)| *time != most_frequent)
        .map(|(_, count)| count)
        .sum();
    if other_count > 0 {
        remarks.push(format!(
            "{other_count} of {} parts have times years away from the others",
            parts.len()
        ));
    }
    Some(most_frequent)
}

fn is_near(group: &TimeRange, next: &TimeRange) -> bool {
    let gap = next.start.as_nanos().saturating_sub(group.end.as_nanos());
    gap < FAR_NANOS
}
