//! The time axis of plots, and the flight modes behind them.

use logtool_core::{Log, Manifest, TimeRange, Timestamp};
use logtool_plot::{Band, Signal, TimeAxis};

use crate::{
    error::Result,
    text::{px4_modes, units::count_of},
    time::{
        clock::{ShownClock, TextTime, TimeChoice},
        record_span::RecordSpan,
    },
};

/// A second and a day, in nanoseconds.
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400_000_000_000;

/// A plot that starts later than this after the start of the log counts from its own start:
/// more than a million seconds are hard to read.
const MAX_AXIS_START: i64 = 1_000_000 * SECOND;

/// Returns a note about the values of `signals` that are left out because their times are far
/// from all others.
pub(crate) fn outlier_note<'s>(
    signals: impl Iterator<Item = &'s Signal>,
    span: &RecordSpan,
    clock: &ShownClock,
) -> Option<String> {
    let count: u64 = signals.map(|signal| signal.out_of_range).sum();
    if count == 0 {
        return None;
    }
    let values = count_of(count, "value");
    let example = span.outlier.map(|time| format!(", as {}", clock.typed_text(time)));
    let example = example.unwrap_or_default();
    Some(format!("not shown: {values} at times far from those of the log{example}"))
}

/// Returns the first and the last nanosecond of `time`.
pub(crate) fn first_and_last(time: TimeRange) -> (i64, i64) {
    (time.start.as_nanos(), time.end.as_nanos().saturating_sub(1))
}

/// Returns the time axis of a plot that starts at `first`.
pub(crate) fn time_axis(
    choice: TimeChoice,
    clock: &ShownClock,
    manifest: &Manifest,
    first: i64,
) -> TimeAxis {
    let offset = clock.base().offset_nanos;
    if clock.is_unix() {
        // Days of UTC start at multiples of days of Unix time.
        let day = first.saturating_add(offset).div_euclid(DAY);
        let start = day.saturating_mul(DAY);
        let date = TextTime::from_unix_time(Timestamp::from_nanos(start)).to_string();
        let name = format!("UTC, {}", date.split(' ').next().unwrap_or_default());
        let zero = start.saturating_sub(offset);
        return TimeAxis { zero, day: Some(day), name, range: None };
    }
    let start = manifest.time.map_or(0, |time| time.start.as_nanos());
    let (zero, name) = match choice {
        TimeChoice::Boot => (0, "time since boot (s)".to_owned()),
        // For example a log that also has records of 1970.
        _ if first.saturating_sub(start) > MAX_AXIS_START => {
            let second = first - first.rem_euclid(SECOND);
            let since = clock.typed_text(Timestamp::from_nanos(second));
            (second, format!("time since {since} (s)"))
        }
        _ => (start, "time since the start (s)".to_owned()),
    };
    TimeAxis { zero, name, ..TimeAxis::default() }
}

/// Returns the flight modes until `end`, if the log is of PX4.
pub(crate) fn flight_mode_bands(log: &dyn Log, end: i64) -> Result<Vec<Band>> {
    let modes = px4_modes::read_modes(log, 0)?.unwrap_or_default();
    let changes = modes.changes();
    let starts = changes.iter().map(|(start, _)| *start);
    let ends = starts.skip(1).chain([end]);
    let bands = changes.iter().zip(ends).map(|((start, mode), end)| Band {
        name: mode.name.clone(),
        start: *start,
        end,
        color: mode.color,
    });
    Ok(bands.filter(|band| band.start < band.end).collect())
}
