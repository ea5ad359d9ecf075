//! The colours of points.
//!
//! A column `rgb` or `rgba` with values of 32 bits has the bytes `0xAARRGGBB`, also if it is a float
//! (the convention of PCL). Other clouds have three columns, `red`, `green` and `blue`, or `r`, `g`
//! and `b`, whose full scale the values of the topic decide.

use arrow_array::{
    ArrayRef,
    cast::AsArray as _,
    types::{Float32Type, Int32Type, UInt32Type},
};

use crate::points::{
    column::{PointColumn, floats},
    file::{Points, array_at},
    survey::{CHANNEL_NAMES, TopicSurvey},
};

/// The columns of colours.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColorColumns {
    /// The indices of columns with all channels of a colour. There are two if they are floats in
    /// some clouds and integers in others.
    Packed { indices: Vec<usize>, has_alpha: bool },
    /// The indices of red, green and blue, and their common full scale.
    Channels { indices: [usize; 3], full_scale: f64 },
}

impl ColorColumns {
    /// Finds the colours in `columns` of a topic with the values of `survey`.
    pub(super) fn find(columns: &[PointColumn], survey: &TopicSurvey) -> Option<Self> {
        let position = |name: &str| columns.iter().position(|c| c.own_name == name);
        for names in CHANNEL_NAMES {
            if let [Some(red), Some(green), Some(blue)] = names.map(position) {
                let indices = [red, green, blue];
                let channels = indices.iter().filter_map(|index| columns.get(*index));
                let full_scale = survey.full_scale(channels);
                return Some(Self::Channels { indices, full_scale });
            }
        }
        ["rgb", "rgba"].into_iter().find_map(|name| {
            let is_packed = |index: &usize| {
                columns.get(*index).is_some_and(|column| {
                    column.own_name == name && column.is_packed_color()
                })
            };
            let indices: Vec<usize> = (0..columns.len()).filter(is_packed).collect();
            let has_alpha = name == "rgba";
            (!indices.is_empty()).then_some(Self::Packed { indices, has_alpha })
        })
    }

    /// Returns whether the column at `index` has colours.
    pub(super) fn contains(&self, index: usize) -> bool {
        match self {
            Self::Packed { indices, .. } => indices.contains(&index),
            Self::Channels { indices, .. } => indices.contains(&index),
        }
    }

    /// Returns red, green and blue of each of `points`, as fractions of the full scale. A missing
    /// colour is black.
    pub(super) fn fractions(&self, points: &Points) -> [Vec<f64>; 3] {
        match self {
            Self::Packed { indices, .. } => {
                let colors = packed_colors(points, indices);
                [16, 8, 0].map(|shift| {
                    let fraction =
                        |color: &u32| f64::from(color >> shift & 0xFF) / 255.0;
                    colors.iter().map(fraction).collect()
                })
            }
            Self::Channels { indices, full_scale } => indices.map(|index| {
                let array = array_at(points, Some(index));
                let values = array.map(floats).unwrap_or_default();
                let is_null = |row| array.is_some_and(|array| array.is_null(row));
                let fraction = |(row, value): (usize, f64)| {
                    if is_null(row) { 0.0 } else { value / full_scale }
                };
                values.into_iter().enumerate().map(fraction).collect()
            }),
        }
    }

    /// Returns the opacities of `points`, or an empty list if the colours do not contain them.
    pub(super) fn alphas(&self, points: &Points) -> Vec<u8> {
        match self {
            Self::Packed { indices, has_alpha: true } => {
                let colors = packed_colors(points, indices);
                colors.into_iter().map(|color| (color >> 24) as u8).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the number `0xAARRGGBB` of each of `points` from the first of the columns `indices` that
/// has one, or 0.
fn packed_colors(points: &Points, indices: &[usize]) -> Vec<u32> {
    let mut colors = vec![None; points.count];
    for array in indices.iter().filter_map(|index| array_at(points, Some(*index))) {
        for (color, bits) in colors.iter_mut().zip(bits(array)) {
            *color = color.or(bits);
        }
    }
    colors.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the bits of the values of `array`.
pub(super) fn bits(array: &ArrayRef) -> Vec<Option<u32>> {
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        return floats.iter().map(|float| float.map(f32::to_bits)).collect();
    }
    if let Some(integers) = array.as_primitive_opt::<Int32Type>() {
        return integers.iter().map(|int| int.map(i32::cast_unsigned)).collect();
    }
    let integers = array.as_primitive_opt::<UInt32Type>();
    integers.map(|integers| integers.iter().collect()).unwrap_or_default()
}

/// Returns `fraction` of `max`, rounded, and whether it had to be changed to be in the range. NaN
/// becomes 0.
pub(super) fn scaled(fraction: f64, max: u16) -> (u16, bool) {
    let value = fraction * f64::from(max) + 0.5;
    let is_changed = !(0.0..f64::from(max) + 1.0).contains(&value);
    // `as` rounds towards 0, and saturates.
    ((value as u16).min(max), is_changed)
}
