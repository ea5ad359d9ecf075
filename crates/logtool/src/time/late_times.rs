//! Selected times that are after the end of a log, because they mean something else to the user.

use logtool_core::{Manifest, TimeRange};

use crate::{
    error::Remedy,
    text::units::Span,
    time::{
        clock::{Iso, Seconds, unix_offset},
        typed_time::TypedTime,
    },
};

/// The smallest number of seconds that is shown as a date too: nine digits were used until 2001.
const MIN_UNIX_NANOS: i64 = 1_000_000_000_000_000_000;

/// A warning about a selected time, and what may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateTime {
    /// The warning, one sentence.
    pub text: String,
    /// Other ways to type the time.
    pub remedy: Remedy,
}

/// Returns a warning if `start` or `end` counts from the start of the log of `manifest` and is
/// after its end. Such an end selects the rest of the log, so there is only a warning if it is far
/// away, and would be in the log as a time on its clock or as Unix time.
pub fn find(
    manifest: &Manifest,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
) -> Option<LateTime> {
    let log = manifest.time?;
    let late = |time: Option<TypedTime>| match time? {
        TypedTime::Relative(nanos) => {
            let is_late =
                u64::try_from(nanos).is_ok_and(|nanos| nanos > log.span_nanos());
            is_late.then_some(nanos)
        }
        _ => None,
    };
    let (name, nanos) = match (late(start), late(end)) {
        (Some(nanos), _) => ("start", nanos),
        (None, Some(nanos)) if has_other_meaning(nanos, log, manifest) => {
            ("end", nanos)
        }
        _ => return None,
    };
    let length = Span(log.span_nanos());
    let text = format!(
        "the selected {name} is after the end of the log, which is {length} long"
    );
    let seconds = Seconds(nanos).to_string();
    let seconds = seconds.trim_end_matches('0').trim_end_matches('.').to_owned();
    let date = (nanos >= MIN_UNIX_NANOS)
        .then(|| Iso(nanos).to_string().replace(".000000Z", "Z"));
    Some(LateTime { text, remedy: Remedy::TypeOtherTime { seconds, date } })
}

/// Returns whether `nanos`, which is far from the start of the `log`, is a time of it on its own
/// clock, or as Unix time.
fn has_other_meaning(nanos: i64, log: TimeRange, manifest: &Manifest) -> bool {
    let is_far = u64::try_from(nanos / 2).is_ok_and(|half| half > log.span_nanos());
    let is_in_log =
        |nanos: i64| (log.start.as_nanos()..=log.end.as_nanos()).contains(&nanos);
    let offset = unix_offset(&manifest.clock);
    let is_unix = offset.is_some_and(|offset| is_in_log(nanos.saturating_sub(offset)));
    is_far && (is_in_log(nanos) || is_unix)
}

#[cfg(test)]
mod tests {
    use logtool_core::{Clock, ClockZero, Timestamp};

    use super::*;

    /// A log of 30 s, on a clock that counts from 1970, or from the start of the vehicle.
    fn log(zero: ClockZero, start_seconds: i64) -> Manifest {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let time = TimeRange { start: at(start_seconds), end: at(start_seconds + 30) };
        Manifest {
            clock: Clock { zero, ..Clock::default() },
            time: Some(time),
            ..Manifest::default()
        }
    }

    fn found(manifest: &Manifest, start: &str, end: &str) -> Option<(String, Remedy)> {
        let time = |text: &str| text.parse::<TypedTime>().ok();
        let late = find(manifest, time(start), time(end))?;
        Some((late.text, late.remedy))
    }

    #[test]
    fn late_start_is_explained_with_the_other_forms() {
        let other = |seconds: &str, date: Option<&str>| Remedy::TypeOtherTime {
            seconds: seconds.to_owned(),
            date: date.map(str::to_owned),
        };
        // date -u -d @1396293890
        let bag = log(ClockZero::Unix, 1_396_293_880);
        let text =
            "the selected start is after the end of the log, which is 30.0 s long";
        let date = other("1396293890", Some("2014-03-31T19:24:50Z"));
        assert_eq!(found(&bag, "1396293890", ""), Some((text.to_owned(), date)));
        let flight = log(ClockZero::Boot, 5);
        let expected = Some((text.to_owned(), other("33.5", None)));
        assert_eq!(found(&flight, "33.5", ""), expected);
        assert_eq!(found(&flight, "boot:1h", ""), None);
        assert_eq!(found(&flight, "29", "30"), None);
    }

    #[test]
    fn late_end_is_explained_if_it_is_in_the_log_otherwise() {
        let bag = log(ClockZero::Unix, 1_396_293_880);
        let flight = log(ClockZero::Boot, 5);
        let is_late = |log, end| found(log, "", end).is_some();
        let late_flight = log(ClockZero::Boot, 605);
        assert!(is_late(&bag, "1396293890") && is_late(&late_flight, "620"));
        // The rest of the log is a sensible selection.
        assert!(!is_late(&bag, "1h") && !is_late(&flight, "1h"));
        assert!(!is_late(&flight, "30") && !is_late(&flight, "33"));
    }
}
