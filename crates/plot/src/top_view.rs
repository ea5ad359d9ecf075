//! Points seen from above.

mod raster;
mod scene;

use logtool_core::Result;

use crate::{
    paint::{self, RenderedPng},
    top_view::{raster::Raster, scene::Scene},
};

/// Draws points as an image seen from above, with x to the right and y upwards.
#[derive(Clone, Debug)]
pub struct TopView {
    /// The options of the image.
    options: TopViewOptions,
    /// The points that were added before the range of the image is known.
    pending: Vec<Point>,
    raster: Option<Raster>,
}

/// Options of an image of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopViewOptions {
    /// The title.
    pub title: String,
    /// The label of the colours, e.g. `height (m)`.
    pub color: String,
    /// The distance from the centre to each side in metres, or `None` to include nearly all points.
    pub reach: Option<f64>,
    /// The values of the first and the last colour, or `None` to include nearly all values.
    pub colors: Option<(f64, f64)>,
    /// The number of image pixels per SVG pixel.
    pub scale: u8,
}

/// A point of a scan in metres, and the value of its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
    pub(crate) value: f32,
}

/// The maximum number of points from which the range of the image is determined.
const MAX_PENDING: usize = 1 << 21;

/// The width and the height in pixels of the part with the points.
pub(crate) const SIDE: u32 = 640;

impl TopView {
    /// Creates an image without points.
    pub fn new(options: TopViewOptions) -> Self {
        Self { options, pending: Vec::new(), raster: None }
    }

    /// Adds a point, with its coordinates in metres and the value of its colour. Points at the
    /// origin and points without finite coordinates are ignored.
    pub fn add(&mut self, x: f64, y: f64, z: f64, value: f64) {
        if !x.is_finite() || !y.is_finite() || (x, y, z) == (0.0, 0.0, 0.0) {
            return;
        }
        let [x, y, z, value] = [x, y, z, value].map(|number| number as f32);
        let point = Point { x, y, z, value };
        match &mut self.raster {
            Some(raster) => raster.add(&point),
            None => self.pending.push(point),
        }
        if self.pending.len() >= MAX_PENDING {
            self.fix_range();
        }
    }

    /// Returns the image as PNG.
    ///
    /// # Errors
    /// `Limit` or `Malformed` if the image cannot be rendered.
    pub fn png(mut self) -> Result<RenderedPng> {
        let raster = self.fix_range();
        let scene = Scene::new(&self.options, &raster);
        let scale = f32::from(self.options.scale.clamp(1, 8));
        paint::render_over(&scene.svg()?, scale, |pixmap| {
            let (left, top) = scene.position();
            raster.paint(pixmap, (left * scale) as u32, (top * scale) as u32);
        })
    }

    /// Returns the image as SVG without a ground, so that it can be shown on any. Its texts stay
    /// legible if it is shrunk to the width of a phone.
    ///
    /// # Errors
    /// Errors of rendering.
    pub fn svg(mut self) -> Result<String> {
        let raster = self.fix_range();
        Scene::for_page(&self.options, &raster).svg_with_points(&raster)
    }

    /// Determines the range of the image from the points so far, if it is not known yet.
    fn fix_range(&mut self) -> Raster {
        let mut raster = match self.raster.take() {
            Some(raster) => raster,
            None => Raster::new(&self.options, &self.pending),
        };
        // Points are drawn from the lowest to the highest, so that higher points cover lower ones.
        self.pending.sort_by(|a, b| a.z.total_cmp(&b.z));
        self.pending.drain(..).for_each(|point| raster.add(&point));
        self.raster = Some(raster.clone());
        raster
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    fn size(png: &[u8]) -> [u32; 2] {
        [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()))
    }

    #[test]
    fn points_are_where_they_are_and_have_their_colours() {
        let options = TopViewOptions {
            reach: Some(10.0),
            colors: Some((0.0, 1.0)),
            scale: 1,
            ..TopViewOptions::default()
        };
        let mut view = TopView::new(options.clone());
        // To the front left: the first colour of viridis; to the rear right: the last
        // one.
        view.add(-5.0, 5.0, 0.0, 0.0);
        view.add(5.0, -5.0, 1.0, 1.0);
        view.add(f64::NAN, 0.0, 0.0, 0.0);
        let raster = view.fix_range();
        let (left, top) = Scene::new(&options, &raster).position();
        let mut pixmap = resvg::tiny_skia::Pixmap::new(900, 900).unwrap();
        raster.paint(&mut pixmap, left as u32, top as u32);
        let at = |x: f64, y: f64| {
            let side = f64::from(SIDE);
            let column = f64::from(left) + (x + 10.0) / 20.0 * side;
            let row = f64::from(top) + (10.0 - y) / 20.0 * side;
            let color = pixmap.pixel(column as u32, row as u32).unwrap();
            [color.red(), color.green(), color.blue()]
        };
        assert_eq!(at(-5.0, 5.0), [68, 1, 84]);
        assert_eq!(at(5.0, -5.0), [253, 231, 37]);
        assert_eq!(at(0.0, 0.0), [0, 0, 0], "nothing was painted there");
    }

    #[test]
    fn svg_has_points_and_colour_bar_as_transparent_images() {
        let about = TopViewOptions {
            reach: Some(10.0),
            colors: Some((0.0, 1.0)),
            scale: 1,
            ..TopViewOptions::default()
        };
        let mut view = TopView::new(about);
        view.add(-5.0, 5.0, 0.0, 0.0);
        let svg = view.svg().unwrap();
        let images: Vec<_> = svg
            .split("href=\"data:image/png;base64,")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .map(|text| BASE64_STANDARD.decode(text).unwrap())
            .map(|png| resvg::tiny_skia::Pixmap::decode_png(&png).unwrap())
            .collect();
        let [points, bar] = &images[..] else { panic!("{} images", images.len()) };
        let at = |image: &resvg::tiny_skia::Pixmap, x: u32, y: u32| {
            let color = image.pixel(x, y).unwrap();
            [color.red(), color.green(), color.blue(), color.alpha()]
        };
        // The point is at a quarter of the width and of the height from the top left.
        assert_eq!(at(points, SIDE / 4, SIDE / 4), [68, 1, 84, 255]);
        assert_eq!(at(points, SIDE / 2, SIDE / 2), [0; 4]);
        // The first and the last colour of viridis.
        assert_eq!(at(bar, 0, bar.height() - 1), [68, 1, 84, 255]);
        assert_eq!(at(bar, 0, 0), [253, 231, 37, 255]);
    }

    #[test]
    fn a_picture_of_no_points_and_of_points_far_away_is_a_picture() {
        let options = TopViewOptions { scale: 1, ..TopViewOptions::default() };
        let empty = TopView::new(options.clone()).png().unwrap().png;
        let mut far = TopView::new(TopViewOptions { scale: 2, ..options });
        far.add(1e300, -1e300, 1e300, f64::INFINITY);
        far.add(1.0, 1.0, 1.0, f64::NAN);
        let (one, two) = (size(&empty), size(&far.png().unwrap().png));
        assert_eq!(two, one.map(|side| side * 2));
    }
}
