//! A canvas with a higher resolution than pixels.

use std::io;

use logtool_core::{Error, ErrorKind, Result, escape_unprintable};
use plotters::{
    coord::Shift,
    drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _},
    prelude::SVGBackend,
    style::{
        FontTransform, IntoFont as _, IntoTextStyle as _, RGBAColor, RGBColor,
        TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use crate::{
    font,
    palette::{DASH_STYLES, Rgb},
};

/// The units per pixel, because `plotters` only supports integers.
const PER_PIXEL: f64 = 20.0;

/// The ratio of the height of a text in `plotters` to its height in the SVG.
const OVERSIZE: f64 = 1.24;

/// The height of the font relative to its size, from the lowest descender to the highest
/// ascender, which `plotters` measures. (`hhea` of DejaVu Sans: 0.928 and 0.236.)
const FONT_HEIGHT: f64 = 1.164;

/// The widths of the lines of the frame and the grid, of signals, and of signals in the legend. The
/// dash style is added to the width, because `plotters` does not support dashes.
pub(crate) const THIN_WIDTH: u32 = 14;
pub(crate) const LINE_WIDTH: u32 = 24;
pub(crate) const THICK_WIDTH: u32 = 48;

/// The lengths of the dashes and gaps of the dash styles from 1 on.
const DASHES: [&str; DASH_STYLES as usize - 1] = ["130 60", "30 50", "200 60 30 60"];

pub(crate) const LINE_COLOR: RGBColor = RGBColor(0x33, 0x33, 0x33);
pub(crate) const GRID_COLOR: RGBAColor = RGBAColor(0, 0, 0, 0.14);

/// The anchors of a text: centred at its position, or starting there.
pub(crate) const CENTER: Pos = Pos { h_pos: HPos::Center, v_pos: VPos::Center };
pub(crate) const FROM_LEFT: Pos = Pos { h_pos: HPos::Left, v_pos: VPos::Center };
/// Rotates a text so that it runs upwards.
pub(crate) const UPWARDS: FontTransform = FontTransform::Rotate270;
/// Rotates a text so that it runs downwards.
pub(crate) const DOWNWARDS: FontTransform = FontTransform::Rotate90;

/// The result of drawing.
pub(crate) type DrawResult<T = ()> =
    std::result::Result<T, DrawingAreaErrorKind<io::Error>>;

/// A part of the canvas.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The error if the drawing would be too small to be visible.
pub(crate) const TOO_SMALL: DrawingAreaErrorKind<io::Error> =
    DrawingAreaErrorKind::LayoutError;

/// Splits `area` into its upper part with the height `height` and the remaining part. Fails if the
/// remaining part is empty.
pub(crate) fn split_down<'a>(
    area: &Area<'a>,
    height: i32,
) -> DrawResult<(Area<'a>, Area<'a>)> {
    let fits = height >= 0 && height < area.dim_in_pixel().1 as i32;
    fits.then(|| area.split_vertically(height)).ok_or(TOO_SMALL)
}

/// Returns the part of `area` to the right of its first `width` units.
pub(crate) fn right_of<'a>(area: &Area<'a>, width: i32) -> DrawResult<Area<'a>> {
    let fits = width >= 0 && width < area.dim_in_pixel().0 as i32;
    fits.then(|| area.split_horizontally(width).1).ok_or(TOO_SMALL)
}

/// An empty canvas.
pub(crate) struct Canvas {
    width: u32,
    height: u32,
}

impl Canvas {
    /// Creates a canvas of this size in pixels.
    pub(crate) fn new(width: u32, height: u32) -> Result<Self> {
        let (allowed_sizes, message) =
            (100..=20_000, format!("an image cannot have {width} × {height} pixels"));
        let fits = allowed_sizes.contains(&width) && allowed_sizes.contains(&height);
        fits.then_some(Self { width, height })
            .ok_or_else(|| Error::new(ErrorKind::Limit, message))
    }

    /// Returns the SVG that `draw` draws.
    pub(crate) fn draw(
        self,
        draw: impl FnOnce(&Area<'_>) -> DrawResult,
    ) -> Result<String> {
        font::register();
        let (width, height) = (self.width, self.height);
        let units = |pixels: u32| px(f64::from(pixels)) as u32;
        let mut svg = String::new();
        {
            let backend =
                SVGBackend::with_string(&mut svg, (units(width), units(height)));
            let area = backend.into_drawing_area();
            let drawn = draw(&area).and_then(|()| area.present());
            let draw_error = |err| {
                if matches!(err, DrawingAreaErrorKind::LayoutError) {
                    let message = "the image is too small for its plots";
                    return Error::new(ErrorKind::Limit, message);
                }
                Error::new(ErrorKind::Malformed, "the image cannot be drawn")
                    .with_source(err)
            };
            drawn.map_err(draw_error)?;
        }
        let units = format!("width=\"{}\" height=\"{}\"", units(width), units(height));
        let size = format!("width=\"{width}\" height=\"{height}\"");
        Ok(set_dash_styles(svg.replacen(&units, &size, 1)))
    }
}

/// Converts the widths of lines in `svg` to dash styles.
fn set_dash_styles(mut svg: String) -> String {
    for width in [LINE_WIDTH, THICK_WIDTH] {
        for (dash, lengths) in (1..).zip(DASHES) {
            let solid = format!("stroke-width=\"{}\"", width + dash);
            let dashed =
                format!("stroke-width=\"{width}\" stroke-dasharray=\"{lengths}\"");
            svg = svg.replace(&solid, &dashed);
        }
    }
    svg
}

/// Converts pixels to units.
pub(crate) fn px(pixels: f64) -> i32 {
    (pixels * PER_PIXEL).round() as i32
}

/// Returns a text style that is `size` pixels high.
pub(crate) fn text<'a>(area: &Area<'_>, size: f64) -> TextStyle<'a> {
    (font::NAME, f64::from(px(size)) * OVERSIZE, &LINE_COLOR).into_text_style(area)
}

/// Draws `text` at `position` of `area`. Unprintable characters are escaped.
pub(crate) fn draw_text(
    area: &Area<'_>,
    text: &str,
    style: &TextStyle<'_>,
    position: (i32, i32),
) -> DrawResult {
    area.draw_text(&escape_unprintable(text), style, position)
}

/// Returns the width of `text` if it is drawn `size` pixels high.
pub(crate) fn width(text: &str, size: f64) -> i32 {
    font::register();
    let font = (font::NAME, f64::from(px(size)) * OVERSIZE).into_font();
    font.box_size(&escape_unprintable(text))
        .map_or(0, |(width, _)| (f64::from(width) * FONT_HEIGHT / OVERSIZE) as i32)
}

pub(crate) fn color([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}
