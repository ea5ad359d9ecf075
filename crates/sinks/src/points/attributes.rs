//! The attributes of points that formats with fixed fields store.

use arrow_array::Array as _;

use crate::points::{
    colors::ColorColumns,
    column::{PointColumn, floats},
    file::{Points, array_at},
    survey::TopicSurvey,
    times::TimeColumns,
};

/// The indices of the columns with these attributes. An attribute has several columns if it is a
/// float in some clouds of a table and an integer in others.
#[derive(Clone, Debug, Default)]
pub(super) struct PointAttributes {
    pub(super) intensity: Vec<usize>,
    /// The full scale of each intensity column.
    pub(super) full_scales: Vec<f64>,
    /// The columns of the laser, then those of the ring, which is used if there is no laser.
    pub(super) laser: Vec<usize>,
    pub(super) ring: Vec<usize>,
    pub(super) return_type: Vec<usize>,
    pub(super) colors: Option<ColorColumns>,
    pub(super) times: TimeColumns,
}

impl PointAttributes {
    /// Finds the attributes in `columns` of a topic with the values of `survey`.
    pub(super) fn find(columns: &[PointColumn], survey: &TopicSurvey) -> Self {
        let find = |name: &str| -> Vec<usize> {
            (0..columns.len())
                .filter(|index| columns[*index].own_name == name)
                .collect()
        };
        let intensity = find("intensity");
        let ring = find("ring");
        Self {
            full_scales: intensity
                .iter()
                .map(|index| survey.intensity_full_scale(&columns[*index]))
                .collect(),
            intensity,
            laser: [find("laser"), ring.clone()].concat(),
            ring,
            return_type: find("return_type"),
            colors: ColorColumns::find(columns, survey),
            times: TimeColumns::find(columns, survey),
        }
    }

    /// Returns the intensities as fractions of their full scale. It is `None` if it is missing, and
    /// NaN if it is not a number.
    pub(super) fn intensities(&self, points: &Points) -> Vec<Option<f64>> {
        let mut intensities = vec![None; points.count];
        for (index, full_scale) in self.intensity.iter().zip(&self.full_scales) {
            let Some(array) = array_at(points, Some(*index)) else { continue };
            let nulls = array.nulls();
            let values = floats(array).into_iter().enumerate();
            for (intensity, (row, value)) in intensities.iter_mut().zip(values) {
                let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
                if is_valid && intensity.is_none_or(f64::is_nan) {
                    *intensity = Some(value / full_scale);
                }
            }
        }
        intensities
    }

    /// Returns the intensities as they are in the table, NaN if missing.
    #[cfg(feature = "plot")]
    pub(super) fn unscaled_intensities(&self, points: &Points) -> Vec<f64> {
        first_numbers(points, &self.intensity)
    }
}

/// Returns a number for each of `points`: that in the first of the columns `indices` with a number;
/// NaN without a number.
fn first_numbers(points: &Points, indices: &[usize]) -> Vec<f64> {
    let mut numbers = vec![f64::NAN; points.count];
    for index in indices {
        let values = array_at(points, Some(*index)).map(floats).unwrap_or_default();
        for (number, value) in numbers.iter_mut().zip(values) {
            if number.is_nan() {
                *number = value;
            }
        }
    }
    numbers
}

/// Returns the integer of each of `points` in the first of the columns `indices` where it has one;
/// 0 if it has no integer.
pub(super) fn first_integers(points: &Points, indices: &[usize]) -> Vec<u32> {
    // `as` rounds a float towards zero and saturates.
    first_numbers(points, indices).into_iter().map(|number| number as u32).collect()
}

/// Returns x, y and z of each point; `None` if a coordinate is missing or is not finite.
pub(super) fn positions(points: &Points) -> Vec<Option<[f64; 3]>> {
    // The first three columns are x, y and z.
    let [x, y, z] = [0, 1, 2]
        .map(|index| array_at(points, Some(index)).map(floats).unwrap_or_default());
    let mut positions = Vec::with_capacity(points.count);
    for ((x, y), z) in x.into_iter().zip(y).zip(z) {
        let is_finite = x.is_finite() && y.is_finite() && z.is_finite();
        positions.push(is_finite.then_some([x, y, z]));
    }
    positions
}
