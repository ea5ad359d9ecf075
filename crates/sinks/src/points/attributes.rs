//! The attributes of points that formats with fixed fields store.

use arrow_array::ArrayRef;

use crate::points::{
    column::{NumberType, PointColumn, floats},
    file::Points,
};

/// The indices of the columns with these attributes. An attribute has several columns if it is a
/// float in some clouds of a table and an integer in others.
#[derive(Clone, Debug, Default)]
pub(super) struct PointAttributes {
    pub(super) intensity: Vec<usize>,
    /// The scale of each intensity column, so that the highest possible intensity is 1.
    scales: Vec<f64>,
    /// The columns of the laser, then those of the ring, which is used if there is no laser.
    pub(super) laser: Vec<usize>,
    pub(super) ring: Vec<usize>,
    pub(super) return_type: Vec<usize>,
    pub(super) time: Option<usize>,
}

impl PointAttributes {
    /// Finds the attributes in `columns`.
    pub(super) fn find(columns: &[PointColumn]) -> Self {
        let find = |name: &str| -> Vec<usize> {
            // The second of two columns with the same name ends in `_`.
            let has_name =
                |column: &PointColumn| column.name.trim_end_matches('_') == name;
            (0..columns.len()).filter(|index| has_name(&columns[*index])).collect()
        };
        let intensity = find("intensity");
        let scale = |index: &usize| match columns[*index].number_type {
            NumberType::Integer { bytes: 1, .. } => 1.0 / 255.0,
            NumberType::Integer { bytes: 2, .. } => 1.0 / 65_535.0,
            _ => 1.0,
        };
        let ring = find("ring");
        Self {
            scales: intensity.iter().map(scale).collect(),
            intensity,
            laser: [find("laser"), ring.clone()].concat(),
            ring,
            return_type: find("return_type"),
            time: columns
                .iter()
                .position(|column| column.number_type == NumberType::Time),
        }
    }

    /// Returns the intensities: from 0 to 1 if they are integers of 8 or 16 bits, 0 if missing.
    pub(super) fn intensities(&self, points: &Points) -> Vec<f64> {
        let columns = self.intensity.iter().copied().zip(self.scales.iter().copied());
        let mut intensities = first_numbers(points, columns);
        for intensity in &mut intensities {
            if intensity.is_nan() {
                *intensity = 0.0;
            }
        }
        intensities
    }

    /// Returns the intensities as they are in the table, NaN if missing.
    #[cfg(feature = "plot")]
    pub(super) fn unscaled_intensities(&self, points: &Points) -> Vec<f64> {
        first_numbers(points, self.intensity.iter().map(|index| (*index, 1.0)))
    }
}

/// Returns a number for each of `points`: that in the first of `columns` with a number, times the
/// scale of that column; NaN without a number. `columns` are the indices and scales of columns.
fn first_numbers(
    points: &Points,
    columns: impl Iterator<Item = (usize, f64)>,
) -> Vec<f64> {
    let mut numbers = vec![f64::NAN; points.count];
    for (index, scale) in columns {
        let values = array_at(points, Some(index)).map(floats).unwrap_or_default();
        for (number, value) in numbers.iter_mut().zip(values) {
            if number.is_nan() {
                *number = value * scale;
            }
        }
    }
    numbers
}

/// Returns the array of the column of `points` at `index`.
pub(super) fn array_at(points: &Points, index: Option<usize>) -> Option<&ArrayRef> {
    points.arrays.get(index?)
}

/// Returns the integer of each of `points` in the first of the columns `indices` where it has one;
/// 0 if it has no integer.
pub(super) fn first_integers(points: &Points, indices: &[usize]) -> Vec<u32> {
    // `as` rounds a float towards zero and saturates.
    let numbers = first_numbers(points, indices.iter().map(|index| (*index, 1.0)));
    numbers.into_iter().map(|number| number as u32).collect()
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
