//! What was found, and whether it is to be believed.

use std::{error, fmt};

/// How two clocks are related, as far as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds to add to a time of the second clock at [`reference`](Self::reference)
    /// to be on the first.
    pub offset_nanos: i64,
    /// The time on the second clock, in nanoseconds, in the middle of what both saw.
    pub reference: i64,
    /// By how many millionths the first clock is faster than the second: so much of the
    /// time since the reference is to be added too.
    pub drift_ppm: f64,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why it is not to be believed: a sentence each. Empty, it is.
    pub doubts: Vec<String>,
}

/// How sure an [`Estimate`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// How many seconds both saw.
    pub overlap_seconds: f64,
    /// How many values in a second were compared.
    pub rate_hz: f64,
    /// How alike the two signals are when they are aligned: 1 is the same.
    pub correlation: f64,
    /// How much higher the peak of the correlation is than any other.
    pub peak_ratio: f64,
    /// How many windows of the signals were aligned each by itself.
    pub windows: usize,
    /// How many of those agree.
    pub agreeing: usize,
    /// How far those that agree are off the whole, as their effective value in seconds.
    pub residual_seconds: f64,
    /// The standard error of the offset, in seconds.
    pub offset_error_seconds: f64,
    /// The standard error of the drift, in millionths.
    pub drift_error_ppm: f64,
}

/// Peaks that stand out less may be the wrong ones.
const LEAST_PEAK: f64 = 1.15;
/// Signals that are less alike are not of the same motion.
const LEAST_ALIKE: f64 = 0.3;
/// As many windows have to agree, at least…
const FEWEST: usize = 5;
/// …and this part of them.
const MOST_AGREE: f64 = 0.6;
/// No clocks run apart by more, in millionths.
const MOST_DRIFT: f64 = 250.0;

impl Confidence {
    /// Why an estimate with this drift is not to be believed.
    pub(crate) fn doubts(&self, drift_ppm: f64) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.correlation < LEAST_ALIKE {
            doubts.push(format!(
                "the signals are not alike: their correlation is {:.2}, and {LEAST_ALIKE} \
                 is the least",
                self.correlation
            ));
        }
        if self.peak_ratio < LEAST_PEAK {
            doubts.push(format!(
                "another offset fits as well: the best is {:.2} times as good as the next, \
                 and {LEAST_PEAK} is the least",
                self.peak_ratio
            ));
        }
        let enough = (MOST_AGREE * self.windows as f64).ceil() as usize;
        if self.agreeing < enough.max(FEWEST) {
            doubts.push(format!(
                "{} of {} windows agree, and {} is the least",
                self.agreeing,
                self.windows,
                enough.max(FEWEST)
            ));
        }
        if drift_ppm.abs() > MOST_DRIFT && drift_ppm.abs() > 3.0 * self.drift_error_ppm
        {
            doubts.push(format!(
                "no clocks run apart by {drift_ppm:.0} millionths: {MOST_DRIFT} is the most"
            ));
        }
        doubts
    }

    /// Whether the drift is known to a useful degree: to 20 millionths.
    pub fn knows_drift(&self) -> bool {
        self.drift_error_ppm <= 20.0
    }
}

/// Why a signal cannot be aligned with any other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unusable {
    /// It has only so many numbers.
    Few(usize),
    /// It is always this number.
    Constant(f64),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few(count) => write!(f, "it has only {count} numbers"),
            Self::Constant(value) => write!(f, "it is always {value}"),
        }
    }
}

impl error::Error for Unusable {}
