//! Draws points from above.

use std::{collections::BTreeMap, io::Write as _};

use logtool_core::Result;
use logtool_plot::{TopView, TopViewOptions, with_texts};

use crate::points::{
    attributes::PointAttributes,
    column::floats,
    file::{CloudFile, PointOutput, Points, finish_file},
    losses::PointLosses,
    options::PointColor,
};

/// An image of points that is being drawn.
pub(crate) struct PointImage {
    output: PointOutput,
    view: TopView,
    color: PointColor,
    attributes: PointAttributes,
    /// The metadata of the file.
    metadata: BTreeMap<String, String>,
}

/// The number of pixels for each unit of length of the drawing.
const SCALE: u8 = 2;

impl PointImage {
    /// Starts an image in `output`, with `title` above it, and with `metadata` in the file.
    pub(crate) fn new(
        output: PointOutput,
        attributes: PointAttributes,
        color: PointColor,
        reach_metres: Option<u32>,
        title: String,
        metadata: &BTreeMap<String, String>,
    ) -> Self {
        // A cloud without intensities is coloured by height.
        let color = match color {
            PointColor::Intensity if attributes.intensity.is_empty() => {
                PointColor::Height
            }
            color => color,
        };
        let options = TopViewOptions {
            title,
            color: match color {
                PointColor::Range => "range (m)".to_owned(),
                PointColor::Height => "height (m)".to_owned(),
                PointColor::Intensity => "intensity".to_owned(),
            },
            reach: reach_metres.map(f64::from),
            scale: SCALE,
            ..TopViewOptions::default()
        };
        let (view, metadata) = (TopView::new(options), metadata.clone());
        Self { output, view, color, attributes, metadata }
    }
}

impl CloudFile for PointImage {
    fn write(&mut self, points: &Points, _: &mut PointLosses) -> Result<()> {
        // The first three columns are x, y and z.
        let [x, y, z] = [0, 1, 2].map(|index| points.arrays.get(index).map(floats));
        let (x, y, z) =
            (x.unwrap_or_default(), y.unwrap_or_default(), z.unwrap_or_default());
        let intensities = match self.color {
            PointColor::Intensity => self.attributes.unscaled_intensities(points),
            PointColor::Range | PointColor::Height => Vec::new(),
        };
        for (row, ((x, y), z)) in x.iter().zip(&y).zip(&z).enumerate() {
            let color_value = match self.color {
                PointColor::Range => (x * x + y * y + z * z).sqrt(),
                PointColor::Height => *z,
                PointColor::Intensity => {
                    intensities.get(row).copied().unwrap_or(f64::NAN)
                }
            };
            self.view.add(*x, *y, *z, color_value);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { mut output, view, metadata, .. } = *self;
        output.write_all(&with_texts(view.png()?.png, &metadata))?;
        finish_file(output)
    }
}
