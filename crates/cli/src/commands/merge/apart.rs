//! Where logs lie in time, once they are on one clock: whether that can be counted at all,
//! and whether they are near each other.

use logtool::{Error, Result, time::offset::Moved, units::Span};
use logtool_core::{TimeRange, Timestamp};

use crate::{commands::merge::sources::Source, terminal::say};

/// Logs that are no further apart may well be of one day.
const NEAR: u64 = 60_000_000_000;

/// Refuses to move logs to where no times are: nanoseconds are counted until 2262.
pub(super) fn check(logs: &[Source], moved: &[Moved]) -> Result<()> {
    for (log, Moved { nanos, .. }) in logs.iter().zip(moved) {
        let Some(TimeRange { start, end }) = log.log.manifest().time else { continue };
        let is_counted = |time: Timestamp| {
            [Timestamp::MIN, Timestamp::MAX].contains(&time)
                || time.as_nanos().checked_add(*nanos).is_some()
        };
        if !is_counted(start) || !is_counted(end) {
            let what = format!(
                "the times of {} would be after 2262, or before 1677: no file has such",
                log.input.name
            );
            let hint = "--offset takes seconds";
            return Err(Error::invalid(what).with_hint(hint));
        }
    }
    Ok(())
}

/// Says which logs begin so long after all others ended that they hardly belong together.
pub(super) fn tell(logs: &[Source], moved: &[Moved]) {
    let spans = logs.iter().zip(moved).filter_map(|(log, Moved { nanos, .. })| {
        Some((log.log.manifest().time?.later(*nanos), &*log.input.name))
    });
    for (before, after, nanos) in apart(spans.collect()) {
        let apart = Span(nanos);
        say!(
            "{after} begins {apart} after {before} ended: if that is not so, --offset says \
             what to add to its times"
        );
    }
}

/// Those of `spans`, each with a name, between which more time passed than all of them took.
fn apart(mut spans: Vec<(TimeRange, &str)>) -> Vec<(&str, &str, u64)> {
    let taken = spans.iter().map(|(span, _)| span.span_nanos());
    let least = taken.fold(NEAR, u64::saturating_add);
    spans.sort_by_key(|(span, _)| span.start);
    let mut found = Vec::new();
    let mut last: Option<(TimeRange, &str)> = None;
    for (span, name) in spans {
        if let Some((before, other)) = last
            && before.end < span.start
        {
            let gap = span.start.as_nanos().abs_diff(before.end.as_nanos());
            if gap > least {
                found.push((other, name, gap));
            }
        }
        if last.is_none_or(|(before, _)| before.end < span.end) {
            last = Some((span, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_one_day_are_near_and_those_of_two_years_are_not() {
        let second = 1_000_000_000;
        let span = |start: i64, end: i64| TimeRange {
            start: Timestamp::from_nanos(start * second),
            end: Timestamp::from_nanos(end * second),
        };
        // One after the other, one within another, and one a week later.
        let week = 7 * 86_400;
        let spans = vec![
            (span(week, week + 10), "late"),
            (span(0, 100), "a"),
            (span(101, 200), "b"),
            (span(20, 30), "in a"),
        ];
        let gap = (week - 200) as u64 * 1_000_000_000;
        assert_eq!(apart(spans), [("b", "late", gap)]);
        assert!(apart(vec![(span(0, 1), "a"), (span(59, 70), "b")]).is_empty());
    }
}
