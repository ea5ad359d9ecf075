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
    /// The laser, or the ring if there is no laser.
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
            let indexed = columns.iter().enumerate();
            indexed
                .filter(|(_, column)| has_name(column))
                .map(|(index, _)| index)
                .collect()
        };
        let intensity = find("intensity");
        let scale = |index: &usize| match columns.get(*index).map(|column| column.kind)
        {
            Some(NumberType::Integer { bytes: 1, .. }) => 1.0 / 255.0,
            Some(NumberType::Integer { bytes: 2, .. }) => 1.0 / 65_535.0,
            _ => 1.0,
        };
        let ring = find("ring");
        Self {
            scales: intensity.iter().map(scale).collect(),
            intensity,
            laser: [find("laser"), ring.clone()].concat(),
            ring,
            return_type: find("return_type"),
            time: columns.iter().position(|column| column.kind == NumberType::Time),
        }
    }

    /// Returns the intensities: from 0 to 1 if they are integers of 8 or 16 bits, 0 if missing.
    pub(super) fn intensities(&self, points: &Points) -> Vec<f64> {
        let columns = self.intensity.iter().zip(&self.scales);
        let mut intensities =
            first(points, columns.map(|(index, scale)| (*index, *scale)));
        intensities.iter_mut().filter(|i| i.is_nan()).for_each(|i| *i = 0.0);
        intensities
    }

    /// Returns the intensities as they are in the table, NaN if missing.
    #[cfg(feature = "plot")]
    pub(super) fn unscaled_intensities(&self, points: &Points) -> Vec<f64> {
        first(points, self.intensity.iter().map(|index| (*index, 1.0)))
    }
}

/// Returns the first number that each of `points` has in these columns, times the scale of the
/// column; NaN if it has no number.
fn first(points: &Points, columns: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
    let mut numbers = vec![f64::NAN; points.count];
    for (index, scale) in columns {
        let values = array(points, Some(index)).map(floats).unwrap_or_default();
        let pairs = numbers.iter_mut().zip(values);
        pairs.filter(|(n, _)| n.is_nan()).for_each(|(n, value)| *n = value * scale);
    }
    numbers
}

/// Returns the array of `points` at `index`.
pub(super) fn array(points: &Points, index: Option<usize>) -> Option<&ArrayRef> {
    points.arrays.get(index?)
}

/// Returns an integer for each of `points`, from the first of the columns `indices` that has one; 0
/// if no column has one.
pub(super) fn integers_of_first(points: &Points, indices: &[usize]) -> Vec<u32> {
    // `as` rounds a float towards zero and saturates.
    let numbers = first(points, indices.iter().map(|index| (*index, 1.0)));
    numbers.into_iter().map(|number| number as u32).collect()
}

/// Returns x, y and z of each point; `None` if it has no position.
pub(super) fn positions(points: &Points) -> Vec<Option<[f64; 3]>> {
    let [x, y, z] = [0, 1, 2]
        .map(|index| array(points, Some(index)).map(floats).unwrap_or_default());
    let coordinates = x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]);
    coordinates
        .map(|position| position.iter().all(|v| v.is_finite()).then_some(position))
        .collect()
}
