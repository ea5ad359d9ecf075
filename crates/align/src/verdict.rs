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

/// What has to be so of a fit that is believed.
struct Least {
    /// Peaks that stand out less may be the wrong ones.
    peak: f64,
    /// Signals that are less alike are not of the same motion.
    alike: f64,
    /// As many windows have to agree, at least…
    windows: usize,
    /// …and this part of them.
    part: f64,
}

const USUAL: Least = Least { peak: 1.15, alike: 0.3, windows: 5, part: 0.6 };
/// What both saw for so few seconds fits by chance more easily: all has to be better.
const SHORT: Least = Least { peak: 1.4, alike: 0.6, windows: 4, part: 0.75 };
/// Less than so many seconds are short.
const SHORT_SECONDS: f64 = 100.0;
/// No clocks run apart by more, in millionths.
const MOST_DRIFT: f64 = 250.0;

impl Confidence {
    /// Why an estimate with this drift is not to be believed.
    pub(crate) fn doubts(&self, drift_ppm: f64) -> Vec<String> {
        let Least { peak, alike, windows, part } = match self.is_short() {
            true => SHORT,
            false => USUAL,
        };
        let of = match self.is_short() {
            true => format!(" for {:.0} s", self.overlap_seconds),
            false => String::new(),
        };
        let mut doubts = Vec::new();
        if self.correlation < alike {
            doubts.push(format!(
                "the signals are not alike: their correlation is {:.2}, and {alike} is \
                 the least{of}",
                self.correlation
            ));
        }
        if self.peak_ratio < peak {
            doubts.push(format!(
                "another offset fits as well: the best is {:.2} times as good as the next, \
                 and {peak} is the least{of}",
                self.peak_ratio
            ));
        }
        let enough = ((part * self.windows as f64).ceil() as usize).max(windows);
        if self.agreeing < enough {
            doubts.push(format!(
                "{} of {} windows agree, and {enough} is the least{of}",
                self.agreeing, self.windows
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

    /// Whether both saw so little that more is asked of the fit.
    pub(crate) fn is_short(&self) -> bool {
        self.overlap_seconds < SHORT_SECONDS
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
