//! Compares the clocks of logs, and determines the offsets between them.

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

/// Two clocks count from the same start of a vehicle if their estimates of it differ by at most
/// this number of nanoseconds: the delay of GPS times varies, and no vehicle starts twice within
/// this time.
const MAX_SAME_START_NANOS: u64 = 2_000_000_000;

/// Fails if the logs do not count from the same instant, or if that is unknown and
/// `unknown_clocks` are refused.
pub(super) fn check(logs: &[MergeSource], unknown_clocks: UnknownClocks) -> Result<()> {
    let Some((first, others)) = logs.split_first() else { return Ok(()) };
    for other in others {
        let (a, b) = (&first.input.name, &other.input.name);
        let (first_clock, other_clock) =
            (&first.log.manifest().clock, &other.log.manifest().clock);
        match relation(first_clock, other_clock) {
            Relation::Same => {}
            Relation::Different => {
                let message = format!(
                    "{a} counts its times from {}, and {b} from {}",
                    describe_zero(first_clock),
                    describe_zero(other_clock)
                );
                return Err(Error::other(message));
            }
            _ if unknown_clocks == UnknownClocks::Same => {}
            Relation::Apart(nanos) => {
                let message = format!(
                    "{a} and {b} count from different instants, {} apart, and the times in \
                     their records are copied as they are",
                    Span(nanos)
                );
                return Err(Error::other(message).with_remedy(Remedy::AssumeSameClock));
            }
            Relation::Unknown => {
                let message = format!(
                    "it is unknown whether {a} and {b} count from the same instant: both \
                     count from {}",
                    describe_zero(first_clock)
                );
                return Err(Error::other(message).with_remedy(Remedy::AssumeSameClock));
            }
        }
    }
    Ok(())
}

/// Returns the offset of each log to a common clock: Unix time, if it is known, or else the clock
/// of the reference log, which is the first log without an offset in the request. Offsets in the
/// request are relative to that log.
pub(super) fn offsets(
    logs: &[MergeSource],
    unknown_clocks: UnknownClocks,
) -> Result<Vec<ClockOffset>> {
    let Some(reference) = logs.iter().find(|log| log.offset.is_none()) else {
        let requested_offset = |log: &MergeSource| ClockOffset {
            nanos: log.offset.unwrap_or(0),
            is_unix: false,
        };
        return Ok(logs.iter().map(requested_offset).collect());
    };
    let reference_clock = &reference.log.manifest().clock;
    let reference_to_unix = unix_offset(reference_clock);
    let mut offsets = Vec::with_capacity(logs.len());
    for log in logs {
        let nanos = match log.offset {
            Some(offset) => Some(offset.saturating_add(reference_to_unix.unwrap_or(0))),
            None => {
                let clock = &log.log.manifest().clock;
                offset_between(reference_clock, clock, unknown_clocks)
            }
        };
        let nanos = nanos.ok_or_else(|| no_common_clock(reference, log))?;
        offsets.push(ClockOffset { nanos, is_unix: reference_to_unix.is_some() });
    }
    Ok(offsets)
}

/// Increases `offsets` if records are before 1970, because files cannot store such times. If the
/// common clock is not Unix time, and a log with a stated offset has a UTC reference, Unix time
/// becomes the common clock. Otherwise all offsets are increased by the same number of whole seconds.
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
    let record_before_1970 =
        earliest_record(logs, &offsets).filter(|(nanos, _)| *nanos < 0);
    let is_aligned_to_unix =
        |log: &MergeSource| log.is_aligned && unix_offset_of(log).is_some();
    if record_before_1970.is_none() && (is_unix || !logs.iter().any(is_aligned_to_unix))
    {
        return Ok(offsets);
    }
    let increased_by = |delay_nanos: i64, is_unix: bool| -> Vec<ClockOffset> {
        let increase = |offset: &ClockOffset| ClockOffset {
            nanos: offset.nanos.saturating_add(delay_nanos),
            is_unix,
        };
        offsets.iter().map(increase).collect()
    };
    if !is_unix {
        for (log, offset) in logs.iter().zip(&offsets) {
            if log.offset.is_none() {
                continue;
            }
            // The offset from the common clock to Unix time, according to this log.
            let to_unix = unix_offset_of(log)
                .and_then(|unix_offset| unix_offset.checked_sub(offset.nanos));
            let Some(to_unix) = to_unix else { continue };
            let unix_offsets = increased_by(to_unix, true);
            let earliest = earliest_record(logs, &unix_offsets);
            if earliest.is_none_or(|(nanos, _)| nanos >= 0) {
                return Ok(unix_offsets);
            }
        }
    }
    let Some((nanos, log)) = record_before_1970 else { return Ok(offsets) };
    let seconds = nanos.unsigned_abs().div_ceil(NANOS_PER_SECOND);
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
        return Err(Error::invalid_request(message).with_remedy(remedy));
    }
    Ok(increased_by(
        i64::try_from(seconds * NANOS_PER_SECOND).unwrap_or(i64::MAX),
        false,
    ))
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

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the nanoseconds to add to times of the clock `other` to get times of the common clock:
/// Unix time, or `reference` if its offset to Unix time is unknown. Returns `None` if they are
/// unknown.
fn offset_between(
    reference: &Clock,
    other: &Clock,
    unknown_clocks: UnknownClocks,
) -> Option<i64> {
    let reference_to_unix = unix_offset(reference);
    // The offset of a clock that counts from 1970 corrects its error, which differs from clock to
    // clock.
    let is_same_start =
        other.zero != ClockZero::Unix && relation(reference, other) == Relation::Same;
    if std::ptr::eq(reference, other) || is_same_start {
        // The delay of GPS times varies, so logs of the same start use the same estimate.
        return Some(reference_to_unix.unwrap_or(0));
    }
    match (reference_to_unix, unix_offset(other)) {
        (Some(_), Some(offset)) => Some(offset),
        _ if unknown_clocks == UnknownClocks::Same && reference.zero == other.zero => {
            Some(reference_to_unix.unwrap_or(0))
        }
        _ => None,
    }
}

/// Returns the error for two logs whose clocks cannot be compared.
fn no_common_clock(first: &MergeSource, other: &MergeSource) -> Error {
    let logs_without_utc: Vec<&str> = [first, other]
        .into_iter()
        .filter(|log| unix_offset(&log.log.manifest().clock).is_none())
        .map(|log| log.input.name.as_str())
        .collect();
    let (a, b) = (&first.input.name, &other.input.name);
    let message = format!(
        "{a} and {b} have no common clock: UTC is not known to {}",
        logs_without_utc.join(" and ")
    );
    Error::other(message).with_remedy(Remedy::SetOffset {
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
    /// They count from the same instant.
    Same,
    /// They count from instants that differ by this number of nanoseconds.
    Apart(u64),
    /// They count from different kinds of instants, e.g. the start of the vehicle and 1970.
    Different,
    /// It is unknown whether they count from the same instant.
    Unknown,
}

/// Compares the instants from which two clocks count.
fn relation(a: &Clock, b: &Clock) -> Relation {
    if a.zero != b.zero {
        return Relation::Different;
    }
    if a.zero == ClockZero::Unix {
        return Relation::Same;
    }
    let (Some(a), Some(b)) = (&a.to_unix, &b.to_unix) else { return Relation::Unknown };
    let difference = a.offset_nanos.abs_diff(b.offset_nanos);
    let spread = a.spread_nanos.saturating_add(b.spread_nanos);
    if difference <= MAX_SAME_START_NANOS.max(spread.saturating_mul(3)) {
        Relation::Same
    } else {
        Relation::Apart(difference)
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
