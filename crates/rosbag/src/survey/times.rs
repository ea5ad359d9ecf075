//! When a bag was recorded.

use logtool_core::{Part, TimeRange};

/// Times that are further apart than this are not of one recording.
const FAR_NANOS: i64 = 366 * 86_400 * 1_000_000_000;

/// From the first record to the last, leaving out parts of which the times lie years
/// away from those of most.
pub(super) fn robust(parts: &[Part], remarks: &mut Vec<String>) -> Option<TimeRange> {
    let is_known = |time: &TimeRange| !time.is_empty() && *time != TimeRange::ALL;
    let mut times: Vec<TimeRange> =
        parts.iter().map(|part| part.time).filter(is_known).collect();
    times.sort_unstable_by_key(|time| time.start);
    // Neighbours, and how many parts they are.
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
    // Of equals the latest: a clock that is not yet set shows 1970.
    let most = groups.iter().max_by_key(|(_, count)| *count).map(|(time, _)| *time)?;
    let others: usize =
        groups.iter().filter(|(time, _)| *time != most).map(|g| g.1).sum();
    if others > 0 {
        remarks.push(format!(
            "{others} of {} parts have times years away from the others",
            parts.len()
        ));
    }
    Some(most)
}

fn is_near(group: &TimeRange, next: &TimeRange) -> bool {
    let gap = next.start.as_nanos().saturating_sub(group.end.as_nanos());
    gap < FAR_NANOS
}
