//! Finds the offset between the clocks of two logs from a motion that both recorded.

use std::path::PathBuf;

use logtool_core::Timestamp;

use crate::{
    error::{Context as _, Error, Result},
    jobs::merge::ClockDrift,
    records::signals,
    source::{
        input::open,
        losses::{Findings, Strictness},
        progress_counter::ProgressCounter,
        session::Session,
    },
    text::units::count_of,
    time::segments::TimeSegments,
};

pub use logtool_align::{Confidence, Estimate};

/// A request to find the offset between the clocks of two logs, by the correlation of one
/// signal of each. The clock of the first log is the reference.
///
/// ```no_run
/// use logtool::{Session, align::{Align, AlignInput}};
///
/// let flight = AlignInput::new("flight.ulg", "sensor_combined.gyro_rad");
/// let bag = AlignInput::new("drive.bag", "/imu/data.angular_velocity");
/// let report = Align::new(flight, bag).run(&Session::new())?;
/// if report.is_aligned() {
///     println!("add {} ns to the times of the bag", report.estimate.offset_nanos);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Align {
    first: AlignInput,
    second: AlignInput,
    strictness: Strictness,
}

/// A log, and the name of its signal that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignInput {
    path: PathBuf,
    signal: String,
}

/// The result of an [`Align`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlignReport {
    /// The signal of the first log.
    pub first: AlignedSignal,
    /// The signal of the second log, whose times are corrected.
    pub second: AlignedSignal,
    /// The offset and the drift of the second clock, and how reliable they are.
    pub estimate: Estimate,
}

/// A signal that was compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlignedSignal {
    /// The name of the log.
    pub log: String,
    /// The name of the signal.
    pub signal: String,
    /// The number of values that were dropped because their times are more than an hour away
    /// from the others.
    pub outliers: u64,
    /// The losses and the damage of the topic of the signal.
    pub losses: Findings,
}

impl AlignInput {
    /// Creates an input of the log at `path`: a path, a URL, or `-` for standard input.
    /// `signal` is a topic and a field, e.g. `/imu/data.angular_velocity`. The length of a vector
    /// or a list is compared.
    pub fn new(path: impl Into<PathBuf>, signal: impl Into<String>) -> Self {
        Self { path: path.into(), signal: signal.into() }
    }
}

impl Align {
    /// Creates a request to find the offset of the clock of `second` to that of `first`.
    pub fn new(first: AlignInput, second: AlignInput) -> Self {
        Self { first, second, strictness: Strictness::Tolerant }
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads both signals and compares them. Signals that do not match are not an error: see
    /// [`AlignReport::is_aligned`].
    ///
    /// # Errors
    /// `NotFound` if a log has no such signal; others if an input is not a log, if a signal
    /// cannot be compared, or, of the kind `Damaged`, if something is lost in a strict
    /// request.
    pub fn run(&self, session: &Session) -> Result<AlignReport> {
        let (first, first_samples) = self.read(&self.first, session)?;
        let (second, second_samples) = self.read(&self.second, session)?;
        let estimate = logtool_align::align(&first_samples, &second_samples);
        let estimate = estimate.map_err(|(index, reason)| {
            let side = if index == 0 { &first } else { &second };
            Error::other(format!("{}: {}: {reason}", side.log, side.signal))
        })?;
        Ok(AlignReport { first, second, estimate })
    }

    /// Reads the signal of `input`, and returns it with its samples: their times in nanoseconds and
    /// values.
    fn read(
        &self,
        input: &AlignInput,
        session: &Session,
    ) -> Result<(AlignedSignal, Vec<(i64, f64)>)> {
        let opened = open::open(&input.path, session)?;
        let (log, manifest) = (opened.input.name.clone(), opened.log.manifest());
        let mut losses = opened.input.findings(manifest);
        losses.check(self.strictness)?;
        let progress = ProgressCounter::for_bytes(session, &log, manifest.bytes);
        let signal = signals::read_samples(&*opened.log, &input.signal, &|bytes| {
            progress.add(bytes);
        });
        drop(progress);
        let mut signal = signal.with_context(|| log.clone())?;
        let outliers = remove_outliers(&mut signal.samples) as u64;
        if outliers > 0 {
            let values = count_of(outliers, "value");
            let text =
                format!("{values} left out, more than an hour away from the others");
            session.note(&log, &text);
        }
        let topics = [signal.signal.topic].into_iter().collect();
        losses.add(manifest, &topics, &signal.damage);
        losses.check(self.strictness)?;
        let name = signal.signal.name;
        Ok((AlignedSignal { log, signal: name, outliers, losses }, signal.samples))
    }
}

impl AlignReport {
    /// Returns whether the signals match. If not, the estimate must not be used, and its doubts
    /// state why.
    pub fn is_aligned(&self) -> bool {
        self.estimate.doubts.is_empty()
    }

    /// Returns the drift of the second clock, for
    /// [`MergeInput::with_alignment`](crate::jobs::merge::MergeInput::with_alignment), if it is known
    /// well enough.
    pub fn drift(&self) -> Option<ClockDrift> {
        let Estimate { drift_ppm: ppm, reference, confidence, .. } = self.estimate;
        let reference = Some(Timestamp::from_nanos(reference));
        confidence.is_drift_known().then_some(ClockDrift { ppm, reference })
    }
}

/// Sorts `samples`, which are times in nanoseconds and values. Removes those that are more than
/// an hour away from the others, if at least nine of ten are together, and returns how many
/// were removed.
fn remove_outliers(samples: &mut Vec<(i64, f64)>) -> usize {
    samples.sort_by_key(|(time, _)| *time);
    let mut segments = TimeSegments::default();
    samples.iter().for_each(|(time, _)| segments.add(*time));
    let Some(main) = segments.main() else { return 0 };
    let count = samples.len();
    samples.retain(|(time, _)| main.contains(time));
    count - samples.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_1970_are_outliers_and_those_after_a_pause_are_not() {
        let second = 1_000_000_000;
        let of = |start: i64, count: i64| {
            (start..start + count).map(move |n| (n * second, n as f64))
        };
        let now: Vec<_> = of(1_700_000_000, 95).collect();
        let mut samples: Vec<_> = now.iter().copied().chain(of(0, 5)).collect();
        assert_eq!((remove_outliers(&mut samples), &samples), (5, &now));
        let mut pause: Vec<_> = of(0, 50).chain(of(7200, 50)).collect();
        assert_eq!((remove_outliers(&mut pause), pause.len()), (0, 100));
        assert_eq!(remove_outliers(&mut samples), 0);
        assert_eq!(remove_outliers(&mut Vec::new()), 0);
    }
}
