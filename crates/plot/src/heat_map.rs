//! Heat maps: values by time and by another quantity, e.g. power by time and frequency.

use crate::chart::{Band, Mark, TimeAxis};

/// The number of decibels below the strongest value that a heat map shows.
const SHOWN_DECIBELS: f64 = 60.0;

/// A heat map over time.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The label of the vertical axis, e.g. `Hz`.
    pub unit: String,
    /// The difference between the quantities of neighbouring values; that of the first is 0.
    pub step: f64,
    /// The times of the columns in nanoseconds on the log's clock, in ascending order.
    pub times: Vec<i64>,
    /// The values of each column, which are not negative. All columns have the same length.
    pub columns: Vec<Vec<f32>>,
    /// The time axis.
    pub time: TimeAxis,
    /// Coloured time ranges for the legend, e.g. flight modes.
    pub bands: Vec<Band>,
    /// Events at the time axis.
    pub marks: Vec<Mark>,
}

impl HeatMap {
    /// Returns the values in decibels of the highest one as bytes, column by column: 255 is the
    /// highest value, 0 is 60 dB less or below.
    pub(crate) fn levels(&self) -> Vec<u8> {
        let values = || self.columns.iter().flatten().map(|value| f64::from(*value));
        let highest = values().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let level = |value: f64| {
            let decibels = 10.0 * (value / highest).log10();
            let share = 1.0 + decibels / SHOWN_DECIBELS;
            // Zero and values that are not numbers are at the lower end.
            (share.clamp(0.0, 1.0) * 255.0).round() as u8
        };
        values().map(level).collect()
    }

    /// Returns the quantity of the highest value of each column, other than that of the first
    /// value: the mean is rarely of interest.
    pub(crate) fn strongest(&self) -> Vec<f64> {
        let of_column = |column: &Vec<f32>| {
            let values = column.iter().enumerate().skip(1);
            let highest = values.max_by(|a, b| a.1.total_cmp(b.1));
            highest.map_or(f64::NAN, |(place, _)| place as f64 * self.step)
        };
        self.columns.iter().map(of_column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_decibels_of_the_highest_value() {
        let columns = vec![vec![1.0, 1e-3], vec![1e-7, 0.0]];
        let map =
            HeatMap { step: 2.0, times: vec![0, 1], columns, ..HeatMap::default() };
        // -30 dB is half of 60 dB.
        assert_eq!(map.levels(), [255, 128, 0, 0]);
        assert_eq!(map.strongest(), [2.0, 2.0]);
        assert!(HeatMap::default().levels().is_empty());
    }
}
