//! Compares the clocks of logs, and finds the offsets between them.

use logtool_core::{Clock, ClockZero};

use crate::{
    error::{Error, Remedy, Result},
    jobs::merge::source::MergeSource,
    text::units::Span,
    time::{
        clock::{describe_zero, unix_offset},
        offset::ClockOffset,
    },
};

/// The treatment of clocks for which it is unknown whether they count from the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownClocks {
    /// They are an error.
    Refused,
    /// They count from the same instant.
    Same,
}

/// Starts with at most this difference in nanoseconds are the same start: the delay of GPS
/// times varies, and no vehicle starts twice within this time.
const SAME_NANOS: u64 = 2_000_000_000;

/// Fails if the logs do not count from the same instant, or if that is unknown and `unknown` is
/// refused.
pub(super) fn check(logs: &[MergeSource], unknown: UnknownClocks) -> Result<()> {
    let Some((first, others)) = logs.split_first() else { return Ok(()) };
    for other in others {
        let (a, b) = (&first.input.name, &other.input.name);
        let clocks = (&first.log.manifest().clock, &other.log.manifest().clock);
        match relation(clocks.0, clocks.1) {
            Relation::Same => {}
            Relation::Different => {
                let message = format!(
                    "{a} counts its times from {}, and {b} from {}",
                    describe_zero(clocks.0),
                    describe_zero(clocks.1)
                );
                return Err(Error::failed(message));
            }
            _ if unknown == UnknownClocks::Same => {}
            Relation::Apart(nanos) => {
                let message = format!(
                    "{a} and {b} count from different instants, {} apart, and the times in \
                     their records are copied as they are",
                    Span(nanos)
                );
                return Err(Error::failed(message).with_remedy(Remedy::AssumeSameClock));
            }
            Relation::Unknown => {
                let message = format!(
                    "it is unknown whether {a} and {b} count from the same instant: both \
                     count from {}",
                    describe_zero(clocks.0)
                );
                return Err(Error::failed(message).with_remedy(Remedy::AssumeSameClock));
            }
        }
    }
    Ok(())
}

/// Returns the offset of each log to a common clock: Unix time, if it is known. Offsets of the
/// request are relative to the first log without one.
pub(super) fn offsets(
    logs: &[MergeSource],
    unknown: UnknownClocks,
) -> Result<Vec<ClockOffset>> {
    let Some(first) = logs.iter().find(|log| log.offset.is_none()) else {
        let offset = |log: &MergeSource| ClockOffset {
            nanos: log.offset.unwrap_or(0),
            is_unix: false,
        };
        return Ok(logs.iter().map(offset).collect());
    };
    let clock = &first.log.manifest().clock;
    let zero = unix_offset(clock);
    let offset_of = |log: &MergeSource| {
        let own_clock = &log.log.manifest().clock;
        let nanos = match log.offset {
            Some(offset) => Some(offset.saturating_add(zero.unwrap_or(0))),
            None => offset_between(clock, own_clock, unknown),
        };
        let is_unix = zero.is_some();
        nanos
            .map(|nanos| ClockOffset { nanos, is_unix })
            .ok_or_else(|| no_common_clock(first, log))
    };
    logs.iter().map(offset_of).collect::<Result<_, _>>()
}

/// Returns `offsets`, changed so that no record is before 1970, as files cannot hold
/// such times: to the Unix time of a log that knows it, if the common clock does not, or else
/// later by whole seconds.
///
/// # Errors
/// If the request states the offset of every log, or that of one log while others keep Unix
/// time.
pub(super) fn since_1970(
    logs: &[MergeSource],
    offsets: Vec<ClockOffset>,
) -> Result<Vec<ClockOffset>> {
    let unix_offset_of = |log: &MergeSource| unix_offset(&log.log.manifest().clock);
    let is_unix = offsets.iter().any(|offset| offset.is_unix);
    let early = earliest_record(logs, &offsets).filter(|(nanos, _)| *nanos < 0);
    let is_aligned =
        |log: &MergeSource| log.is_aligned && unix_offset_of(log).is_some();
    if early.is_none() && (is_unix || !logs.iter().any(is_aligned)) {
        return Ok(offsets);
    }
    let later = |delay_nanos: i64, is_unix: bool| -> Vec<ClockOffset> {
        let delayed = |offset: &ClockOffset| ClockOffset {
            nanos: offset.nanos.saturating_add(delay_nanos),
            is_unix,
        };
        offsets.iter().map(delayed).collect()
    };
    // The offset from the common clock to Unix time, as each log with an offset knows it.
    let others = logs.iter().zip(&offsets).filter(|(log, _)| log.offset.is_some());
    let to_unix = others
        .filter_map(|(log, offset)| unix_offset_of(log)?.checked_sub(offset.nanos));
    let mut on_unix = to_unix.filter(|_| !is_unix).map(|nanos| later(nanos, true));
    let is_late = |offsets: &Vec<ClockOffset>| {
        earliest_record(logs, offsets).is_none_or(|(nanos, _)| nanos >= 0)
    };
    if let Some(on_unix) = on_unix.find(is_late) {
        return Ok(on_unix);
    }
    let Some((nanos, log)) = early else { return Ok(offsets) };
    let seconds = nanos.unsigned_abs().div_ceil(NANOS);
    let have_all_offsets = logs.iter().all(|log| log.offset.is_some());
    if have_all_offsets || is_unix && log.offset.is_some() {
        let message = format!(
            "{} would begin {} before 1970, and files have no such times",
            log.input.name,
            Span(nanos.unsigned_abs())
        );
        let remedy = if have_all_offsets {
            Remedy::IncreaseAllOffsets { seconds }
        } else {
            Remedy::IncreaseOffset { seconds }
        };
        return Err(Error::invalid(message).with_remedy(remedy));
    }
    Ok(later(i64::try_from(seconds * NANOS).unwrap_or(i64::MAX), false))
}

/// Returns the time of the first record of all `logs` after their offsets, in nanoseconds, and
/// the log that contains it.
fn earliest_record<'l>(
    logs: &'l [MergeSource],
    offsets: &[ClockOffset],
) -> Option<(i64, &'l MergeSource)> {
    let starts = logs.iter().zip(offsets).filter_map(|(log, offset)| {
        let start = log.log.manifest().time?.start.as_nanos();
        Some((start.saturating_add(offset.nanos), log))
    });
    starts.min_by_key(|(start, _)| *start)
}

/// Nanoseconds per second.
const NANOS: u64 = 1_000_000_000;

/// Returns the nanoseconds to add to times of `other` for Unix time, or for `clock` if that does
/// not know Unix time; `None` if they are unknown.
fn offset_between(clock: &Clock, other: &Clock, unknown: UnknownClocks) -> Option<i64> {
    let zero = unix_offset(clock);
    // A clock that counts from 1970 only has an error to be corrected.
    let is_of_one_start =
        other.zero != ClockZero::Unix && relation(clock, other) == Relation::Same;
    if std::ptr::eq(clock, other) || is_of_one_start {
        // The delay of GPS times varies: logs of one start use the same estimate.
        return Some(zero.unwrap_or(0));
    }
    match (zero, unix_offset(other)) {
        (Some(_), Some(offset)) => Some(offset),
        _ if unknown == UnknownClocks::Same && clock.zero == other.zero => {
            Some(zero.unwrap_or(0))
        }
        _ => None,
    }
}

fn no_common_clock(first: &MergeSource, other: &MergeSource) -> Error {
    let without = [first, other]
        .into_iter()
        .filter(|log| unix_offset(&log.log.manifest().clock).is_none());
    let without: Vec<&str> = without.map(|log| log.input.name.as_str()).collect();
    let (a, b) = (&first.input.name, &other.input.name);
    let message = format!(
        "{a} and {b} have no common clock: UTC is not known to {}",
        without.join(" and ")
    );
    Error::failed(message).with_remedy(Remedy::SetOffset {
        first: a.clone(),
        second: b.clone(),
        second_file: other.input.file_name().to_owned(),
    })
}

/// Returns whether two clocks are known to count from the same instant.
pub(super) fn is_same(a: &Clock, b: &Clock) -> bool {
    relation(a, b) == Relation::Same
}

/// The relation of two clocks.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    Same,
    /// Their zeros differ by this number of nanoseconds.
    Apart(u64),
    /// They count from different kinds of instants.
    Different,
    Unknown,
}

fn relation(a: &Clock, b: &Clock) -> Relation {
    if a.zero != b.zero {
        return Relation::Different;
    }
    if a.zero == ClockZero::Unix {
        return Relation::Same;
    }
    let (Some(a), Some(b)) = (&a.to_unix, &b.to_unix) else { return Relation::Unknown };
    let apart = a.offset_nanos.abs_diff(b.offset_nanos);
    let spread = a.spread_nanos.saturating_add(b.spread_nanos);
    if apart <= SAME_NANOS.max(spread.saturating_mul(3)) {
        Relation::Same
    } else {
        Relation::Apart(apart)
    }
}

#[cfg(test)]
mod tests {
    use logtool_core::ClockFit;

    use super::*;

    fn clock(zero: ClockZero, offset_nanos: Option<i64>) -> Clock {
        let fit = |offset_nanos| ClockFit {
            offset_nanos,
            spread_nanos: 1_000_000,
            observations: 9,
            source: String::new(),
        };
        Clock { zero, to_unix: offset_nanos.map(fit) }
    }

    #[test]
    fn logs_of_the_same_start_share_a_clock_and_others_do_not() {
        let second = 1_000_000_000;
        let boot = |offset| clock(ClockZero::Boot, offset);
        assert_eq!(relation(&boot(Some(0)), &boot(Some(second))), Relation::Same);
        let apart = relation(&boot(Some(0)), &boot(Some(3 * second)));
        assert_eq!(apart, Relation::Apart(3_000_000_000));
        assert_eq!(relation(&boot(Some(0)), &boot(None)), Relation::Unknown);
        let offset_between =
            |a: &Clock, b: &Clock| super::offset_between(a, b, UnknownClocks::Refused);
        assert_eq!(offset_between(&boot(Some(5)), &boot(Some(6))), Some(5));
        let hour = 3600 * second;
        assert_eq!(offset_between(&boot(Some(0)), &boot(Some(hour))), Some(hour));
        assert_eq!(offset_between(&boot(None), &boot(Some(hour))), None);
        assert_eq!(
            super::offset_between(&boot(None), &boot(None), UnknownClocks::Same),
            Some(0)
        );
        let unix = clock(ClockZero::Unix, None);
        assert_eq!(offset_between(&unix, &boot(Some(hour))), Some(hour));
        assert_eq!(offset_between(&boot(Some(hour)), &unix), Some(0));
        // Each clock of Unix time has its own error.
        let late = clock(ClockZero::Unix, Some(-second));
        assert_eq!(offset_between(&late, &unix), Some(0));
        assert_eq!(offset_between(&unix, &late), Some(-second));
        assert_eq!(offset_between(&late, &late), Some(-second));
        assert_eq!(
            super::offset_between(&unix, &boot(None), UnknownClocks::Same),
            None
        );
        assert_eq!(relation(&unix, &unix), Relation::Same);
        assert_eq!(relation(&unix, &boot(Some(0))), Relation::Different);
    }
}
