//! The limits of a value axis, as `0:20`, `:5` and `-1:`.

use std::str::FromStr;

use crate::error::{Error, Result};

/// The limits of a value axis. Without one of them, the axis starts or ends at the values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AxisLimits {
    /// The lowest value of the axis.
    pub low: Option<f64>,
    /// The highest value of the axis.
    pub high: Option<f64>,
}

impl AxisLimits {
    /// Creates the limits of an axis from `low` to `high`.
    ///
    /// # Errors
    /// `InvalidRequest` if they are not finite, or not in this order.
    pub fn new(low: Option<f64>, high: Option<f64>) -> Result<Self> {
        let is_finite = |limit: &Option<f64>| limit.is_none_or(f64::is_finite);
        let is_ascending = low.zip(high).is_none_or(|(low, high)| low < high);
        (is_finite(&low) && is_finite(&high) && is_ascending)
            .then_some(Self { low, high })
            .ok_or_else(|| {
                Error::invalid_request(
                    "the lower limit of an axis is not below the upper",
                )
            })
    }

    /// Returns the ends of an axis for values that span `values`, or `None` if they follow from
    /// the values alone.
    pub(super) fn ends(self, values: Option<(f64, f64)>) -> Option<(f64, f64)> {
        if self == Self::default() {
            return None;
        }
        let (lowest, highest) = values.unwrap_or((0.0, 1.0));
        match (self.low, self.high) {
            (Some(low), Some(high)) => Some((low, high)),
            // All values are on the other side of the limit.
            (Some(low), None) => {
                Some((low, if highest > low { highest } else { low + 1.0 }))
            }
            (None, Some(high)) => {
                Some((if lowest < high { lowest } else { high - 1.0 }, high))
            }
            (None, None) => None,
        }
    }
}

impl FromStr for AxisLimits {
    type Err = Error;

    /// Parses `LOW:HIGH`. Each of the two can be omitted.
    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some),
        };
        let limits = text
            .split_once(':')
            .and_then(|(low, high)| Some((number(low).ok()?, number(high).ok()?)));
        let Some((low, high)) = limits else {
            return Err(Error::invalid_request("limits are like 0:20, :5 or -1:"));
        };
        Self::new(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_and_must_ascend() {
        let parse = |text: &str| text.parse::<AxisLimits>().ok();
        let limits = |low, high| Some(AxisLimits { low, high });
        assert_eq!(parse("0:20"), limits(Some(0.0), Some(20.0)));
        assert_eq!(parse(" -1.5 : "), limits(Some(-1.5), None));
        assert_eq!(parse(":5e3"), limits(None, Some(5000.0)));
        assert_eq!(parse(":"), limits(None, None));
        for text in ["", "5", "2:1", "1:1", "a:2", "0:inf", "nan:", "1:2:3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn missing_limit_is_that_of_the_values() {
        let ends =
            |text: &str, values| text.parse::<AxisLimits>().unwrap().ends(values);
        assert_eq!(ends(":", Some((1.0, 2.0))), None);
        assert_eq!(ends("0:", Some((1.0, 2.0))), Some((0.0, 2.0)));
        assert_eq!(ends(":1.5", Some((1.0, 2.0))), Some((1.0, 1.5)));
        assert_eq!(ends("3:", Some((1.0, 2.0))), Some((3.0, 4.0)));
        assert_eq!(ends(":0", Some((1.0, 2.0))), Some((-1.0, 0.0)));
        assert_eq!(ends("3:9", None), Some((3.0, 9.0)));
    }
}
