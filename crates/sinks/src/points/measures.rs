//! What the formats with fixed fields take from points.

use arrow_array::ArrayRef;

use crate::points::{
    column::{Column, Kind, floats, integers},
    file::Points,
};

/// Where in the columns the fields are.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    pub(super) intensity: Option<usize>,
    /// What to multiply the intensity with, so that the highest that there is, is 1.
    scale: f64,
    pub(super) laser: Option<usize>,
    pub(super) ring: Option<usize>,
    pub(super) return_type: Option<usize>,
    pub(super) time: Option<usize>,
}

impl Measures {
    /// Where they are in `columns`.
    pub(super) fn of(columns: &[Column]) -> Self {
        let find = |name| columns.iter().position(|column| column.name == name);
        let intensity = find("intensity");
        let scale = match intensity.and_then(|at| columns.get(at)).map(|c| c.kind) {
            Some(Kind::Integer { bytes: 1, .. }) => 1.0 / 255.0,
            Some(Kind::Integer { bytes: 2, .. }) => 1.0 / 65_535.0,
            _ => 1.0,
        };
        Self {
            intensity,
            scale,
            laser: find("laser"),
            ring: find("ring"),
            return_type: find("return_type"),
            time: columns.iter().position(|column| column.kind == Kind::Time),
        }
    }

    /// The intensities, from 0 to 1 if they are integers of 8 or 16 bits.
    pub(super) fn intensities(&self, points: &Points) -> Vec<f64> {
        match array(points, self.intensity) {
            Some(array) => floats(array).into_iter().map(|i| i * self.scale).collect(),
            None => vec![0.0; points.count],
        }
    }
}

/// The array of `points` at `at`, if there is one.
pub(super) fn array(points: &Points, at: Option<usize>) -> Option<&ArrayRef> {
    points.arrays.get(at?)
}

/// The integers of `points` at `at`, 0 where there are none.
pub(super) fn whole(points: &Points, at: Option<usize>) -> Vec<u32> {
    array(points, at).map_or_else(|| vec![0; points.count], integers)
}

/// Where the points are: x, y, z of each; nothing where it is nowhere.
pub(super) fn places(points: &Points) -> Vec<Option<[f64; 3]>> {
    let [x, y, z] =
        [0, 1, 2].map(|at| array(points, Some(at)).map(floats).unwrap_or_default());
    let places = x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]);
    places.map(|place| place.iter().all(|v| v.is_finite()).then_some(place)).collect()
}
