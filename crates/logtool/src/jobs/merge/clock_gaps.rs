//! Checks that the times of logs on one clock can be represented, and finds long gaps between
//! logs.

use logtool_core::{TimeRange, Timestamp};

use crate::{
    error::{Error, Remedy, Result},
    jobs::merge::source::MergeSource,
    source::session::Session,
    text::units::Span,
    time::offset::ClockOffset,
};

/// Gaps up to this number of nanoseconds are usual between logs of one day.
const MAX_SHORT_GAP_NANOS: u64 = 60_000_000_000;

/// Fails if times overflow: 64 bits count nanoseconds from 1677 to 2262.
pub(super) fn check(logs: &[MergeSource], offsets: &[ClockOffset]) -> Result<()> {
    for (log, ClockOffset { nanos, .. }) in logs.iter().zip(offsets) {
        let Some(TimeRange { start, end }) = log.log.manifest().time else { continue };
        let is_representable = |time: Timestamp| {
            [Timestamp::MIN, Timestamp::MAX].contains(&time)
                || time.as_nanos().checked_add(*nanos).is_some()
        };
        if !is_representable(start) || !is_representable(end) {
            let message = format!(
                "the times of {} would be before 1677 or after 2262, which no file can store",
                log.input.name
            );
            return Err(
                Error::invalid_request(message).with_remedy(Remedy::DecreaseOffsets)
            );
        }
    }
    Ok(())
}

/// Notes each log that starts long after the end of all earlier logs, because its clock may be
/// wrong.
pub(super) fn note(logs: &[MergeSource], offsets: &[ClockOffset], session: &Session) {
    let spans =
        logs.iter().zip(offsets).filter_map(|(log, ClockOffset { nanos, .. })| {
            Some((log.log.manifest().time?.shifted_by(*nanos), &*log.input.name))
        });
    for (before, after, nanos) in long_gaps(spans.collect()) {
        let gap = Span(nanos);
        session.note("", &format!("{after} begins {gap} after {before} ended"));
        session.progress.remedy(&Remedy::CorrectClock);
    }
}

/// Returns the gaps between `spans`, each with a name, that are longer than all spans together:
/// the names before and after the gap, and its nanoseconds.
fn long_gaps(mut spans: Vec<(TimeRange, &str)>) -> Vec<(&str, &str, u64)> {
    let min_gap = spans
        .iter()
        .map(|(span, _)| span.span_nanos())
        .fold(MAX_SHORT_GAP_NANOS, u64::saturating_add);
    spans.sort_by_key(|(span, _)| span.start);
    let mut gaps = Vec::new();
    // The span with the latest end so far.
    let mut latest: Option<(TimeRange, &str)> = None;
    for (span, name) in spans {
        if let Some((latest_span, latest_name)) = latest
            && latest_span.end < span.start
        {
            let gap = span.start.as_nanos().abs_diff(latest_span.end.as_nanos());
            if gap > min_gap {
                gaps.push((latest_name, name, gap));
            }
        }
        if latest.is_none_or(|(latest_span, _)| latest_span.end < span.end) {
            latest = Some((span, name));
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gaps_are_longer_than_all_logs_together() {
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
        assert_eq!(long_gaps(spans), [("b", "late", gap)]);
        assert!(long_gaps(vec![(span(0, 1), "a"), (span(59, 70), "b")]).is_empty());
    }
}
