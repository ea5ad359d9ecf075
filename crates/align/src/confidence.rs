//! The estimate and its reliability.

/// The estimated relation of two clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds to add to a time of the second clock at [`reference`](Self::reference)
    /// to get the time of the first clock.
    pub offset_nanos: i64,
    /// The middle of the overlap, in nanoseconds of the second clock: the time at which the
    /// offset is exact.
    pub reference: i64,
    /// The drift in parts per million: the first clock runs faster than the second by
    /// this fraction of the time since the reference.
    pub drift_ppm: f64,
    /// The confidence of the estimate.
    pub confidence: Confidence,
    /// Reasons why the estimate is unreliable: one sentence each. If it is empty, the
    /// estimate is reliable.
    pub doubts: Vec<String>,
}

/// The confidence of an [`Estimate`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// The length of the overlap in seconds.
    pub overlap_seconds: f64,
    /// The number of compared values per second.
    pub rate_hz: f64,
    /// The correlation of the aligned signals: 1 if they are equal.
    pub correlation: f64,
    /// The ratio of the highest peak of the correlation to the second highest.
    pub peak_ratio: f64,
    /// The number of windows with enough motion, which were aligned separately.
    pub windows: usize,
    /// The number of windows whose offset agrees with the estimate.
    pub agreeing_windows: usize,
    /// The root mean square of the differences between the offsets of the agreeing windows
    /// and the estimate, in seconds.
    pub residual_seconds: f64,
    /// The standard error of the offset in seconds.
    pub offset_error_seconds: f64,
    /// The standard error of the drift in parts per million.
    pub drift_error_ppm: f64,
}

/// The minimum requirements of a reliable fit.
struct Requirements {
    /// The minimum peak ratio, below which the peak may be the wrong one.
    min_peak_ratio: f64,
    /// The minimum correlation, below which the signals are not of the same motion.
    min_correlation: f64,
    /// The minimum number of windows that agree.
    min_windows: usize,
    /// The minimum fraction of the windows that agree.
    min_fraction: f64,
}

const LONG_OVERLAP: Requirements = Requirements {
    min_peak_ratio: 1.15,
    min_correlation: 0.3,
    min_windows: 5,
    min_fraction: 0.6,
};
/// A short overlap fits by chance more easily, so all requirements are higher.
const SHORT_OVERLAP: Requirements = Requirements {
    min_peak_ratio: 1.4,
    min_correlation: 0.6,
    min_windows: 4,
    min_fraction: 0.75,
};
/// The length in seconds below which an overlap is short.
const MIN_LONG_SECONDS: f64 = 100.0;
/// The maximum drift in parts per million.
const MAX_DRIFT_PPM: f64 = 250.0;

impl Confidence {
    /// Returns the reasons why an estimate with this drift is unreliable, or none if it is
    /// reliable.
    pub(crate) fn doubts(&self, drift_ppm: f64) -> Vec<String> {
        let Requirements { min_peak_ratio, min_correlation, min_windows, min_fraction } =
            if self.is_short() { SHORT_OVERLAP } else { LONG_OVERLAP };
        let suffix = if self.is_short() {
            format!(" for {:.0} s", self.overlap_seconds)
        } else {
            String::new()
        };
        let mut doubts = Vec::new();
        if self.correlation < min_correlation {
            doubts.push(format!(
                "the signals are not alike: their correlation is {:.2}, and at least \
                 {min_correlation} is required{suffix}",
                self.correlation
            ));
        }
        if self.peak_ratio < min_peak_ratio {
            doubts.push(format!(
                "another offset fits as well: the best is {:.2} times as good as the next, \
                 and at least {min_peak_ratio} is required{suffix}",
                self.peak_ratio
            ));
        }
        let min_agreeing =
            ((min_fraction * self.windows as f64).ceil() as usize).max(min_windows);
        if self.agreeing_windows < min_agreeing {
            doubts.push(format!(
                "{} of {} windows agree, and at least {min_agreeing} must agree{suffix}",
                self.agreeing_windows, self.windows
            ));
        }
        if drift_ppm.abs() > MAX_DRIFT_PPM
            && drift_ppm.abs() > 3.0 * self.drift_error_ppm
        {
            doubts.push(format!(
                "the drift is {drift_ppm:.0} ppm, and {MAX_DRIFT_PPM} ppm is the maximum"
            ));
        }
        doubts
    }

    /// Returns whether the overlap is short, so that the requirements are higher.
    pub(crate) fn is_short(&self) -> bool {
        self.overlap_seconds < MIN_LONG_SECONDS
    }

    /// Returns whether the standard error of the drift is at most 20 ppm.
    pub fn is_drift_known(&self) -> bool {
        self.drift_error_ppm <= 20.0
    }
}
