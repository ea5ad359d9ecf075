//! Values that files of points cannot store.

use std::collections::BTreeSet;

/// Values that the files of points do not have, or have in another form than the tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointLosses {
    /// The number of points without a position, or with one that the format cannot store.
    pub points: u64,
    /// The number of infinities that are `nan`, because text files of PLY cannot store them.
    pub infinities: u64,
    /// The number of intensities that are NaN, negative, or above the greatest one of the format.
    pub intensities: u64,
    /// The number of colours that are not in the range of the format.
    pub colors: u64,
    /// The number of points whose own time is not a number, so that they have that of the message.
    pub times: u64,
    /// The number of values that the type in the file cannot represent exactly.
    pub rounded: u64,
    /// The names of columns for which the format has no space.
    pub left_out: BTreeSet<String>,
    /// The names of columns of times with an unknown unit or zero.
    pub unknown_times: BTreeSet<String>,
    /// For each topic with intensities that are scaled, its label and the intensity that becomes
    /// the greatest one of the format.
    pub intensity_scales: BTreeSet<(String, String)>,
}

impl PointLosses {
    /// Adds `other`.
    pub(super) fn add(&mut self, other: Self) {
        let Self {
            points,
            infinities,
            intensities,
            colors,
            times,
            rounded,
            left_out,
            unknown_times,
            intensity_scales,
        } = other;
        self.points += points;
        self.infinities += infinities;
        self.intensities += intensities;
        self.colors += colors;
        self.times += times;
        self.rounded += rounded;
        self.left_out.extend(left_out);
        self.unknown_times.extend(unknown_times);
        self.intensity_scales.extend(intensity_scales);
    }
}
