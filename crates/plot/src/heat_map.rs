//! Heat maps: values by time and by another quantity, e.g. power by time and frequency.

use crate::chart::{Band, Mark, TimeAxis};

/// The range of a heat map in decibels, below its strongest value.
const MAX_ATTENUATION_DB: f64 = 60.0;

/// A heat map over time.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The label of the vertical axis, e.g. `Hz`.
    pub unit: String,
    /// The difference between the quantities of neighbouring values in a column. The first quantity
    /// is 0.
    pub step: f64,
    /// The times of the columns in nanoseconds on the log's clock, in ascending order.
    pub times: Vec<i64>,
    /// The values of each column, which are not negative. All columns have the same length.
    pub columns: Vec<Vec<f32>>,
    /// The time axis.
    pub time: TimeAxis,
    /// Coloured time ranges for the legend, e.g. flight modes.
    pub bands: Vec<Band>,
    /// Events on the time axis.
    pub marks: Vec<Mark>,
}

impl HeatMap {
    /// Returns the values on a logarithmic scale as bytes, column by column: 255 is the highest
    /// value, and 0 is a value that is at least 60 dB lower.
    pub(crate) fn levels(&self) -> Vec<u8> {
        let values = || self.columns.iter().flatten().map(|value| f64::from(*value));
        let highest = values().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let level = |value: f64| {
            let decibels = 10.0 * (value / highest).log10();
            let share = 1.0 + decibels / MAX_ATTENUATION_DB;
            // Zero and NaN become 0.
            (share.clamp(0.0, 1.0) * 255.0).round() as u8
        };
        values().map(level).collect()
    }

    /// Returns the quantity of the highest value of each column. The first value of a column is
    /// ignored, because it is the mean of the signal.
    pub(crate) fn strongest_quantities(&self) -> Vec<f64> {
        let strongest_quantity = |column: &Vec<f32>| {
            let values = column.iter().enumerate().skip(1);
            let highest = values.max_by(|a, b| a.1.total_cmp(b.1));
            highest.map_or(f64::NAN, |(index, _)| index as f64 * self.step)
        };
        self.columns.iter().map(strongest_quantity).collect()
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
        assert_eq!(map.strongest_quantities(), [2.0, 2.0]);
        assert!(HeatMap::default().levels().is_empty());
    }
}
