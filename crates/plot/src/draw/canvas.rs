//! A canvas with a higher resolution than pixels.

use std::io;

use logtool_core::{Error, ErrorKind, Result};
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
    palette::{DASHED, Rgb},
};

/// The units per pixel, because `plotters` only supports integers.
const PER_PIXEL: f64 = 20.0;

/// The ratio of the height of a text in `plotters` to its height in the SVG.
const OVERSIZE: f64 = 1.24;

/// The height of the font relative to its size, from the lowest descender to the highest
/// ascender, which `plotters` measures. (`hhea` of DejaVu Sans: 0.928 and 0.236.)
const FONT_HEIGHT: f64 = 1.164;

/// The widths of lines: of the frame and grid, of signals, and of signals in the legend.
/// The dash style is added to the width, because `plotters` does not support dashes.
pub(crate) const FINE: u32 = 14;
pub(crate) const LINE: u32 = 24;
pub(crate) const STRONG: u32 = 48;

/// The dash styles from 1 on: lengths and gaps.
const DASHES: [&str; DASHED as usize - 1] = ["130 60", "30 50", "200 60 30 60"];

pub(crate) const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
pub(crate) const GRID: RGBAColor = RGBAColor(0, 0, 0, 0.14);

/// The anchors of a text: centred, or starting at its position.
pub(crate) const CENTER: Pos = Pos { h_pos: HPos::Center, v_pos: VPos::Center };
pub(crate) const FROM_LEFT: Pos = Pos { h_pos: HPos::Left, v_pos: VPos::Center };
/// Rotates a text so that it reads upwards.
pub(crate) const UPWARDS: FontTransform = FontTransform::Rotate270;
/// Rotates a text so that it reads downwards.
pub(crate) const DOWNWARDS: FontTransform = FontTransform::Rotate90;

/// The result of drawing.
pub(crate) type DrawResult<T = ()> =
    std::result::Result<T, DrawingAreaErrorKind<io::Error>>;

/// A part of the canvas.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The error if the drawing would be too small to be visible.
pub(crate) const NO_ROOM: DrawingAreaErrorKind<io::Error> =
    DrawingAreaErrorKind::LayoutError;

/// Splits `area` into its upper part of this `height` and the rest. Fails if the rest is
/// empty.
pub(crate) fn split_down<'a>(
    area: &Area<'a>,
    height: i32,
) -> DrawResult<(Area<'a>, Area<'a>)> {
    let fits = height >= 0 && height < area.dim_in_pixel().1 as i32;
    fits.then(|| area.split_vertically(height)).ok_or(NO_ROOM)
}

/// Returns the part of `area` to the right of its first `width` units.
pub(crate) fn right_of<'a>(area: &Area<'a>, width: i32) -> DrawResult<Area<'a>> {
    let fits = width >= 0 && width < area.dim_in_pixel().0 as i32;
    fits.then(|| area.split_horizontally(width).1).ok_or(NO_ROOM)
}

/// An empty canvas.
pub(crate) struct Canvas {
    width: u32,
    height: u32,
}

impl Canvas {
    /// Creates a canvas of this size in pixels.
    pub(crate) fn new(width: u32, height: u32) -> Result<Self> {
        let (sizes, what) =
            (100..=20_000, format!("no picture of {width} × {height} pixels"));
        let fits = sizes.contains(&width) && sizes.contains(&height);
        fits.then_some(Self { width, height })
            .ok_or_else(|| Error::new(ErrorKind::Limit, what))
    }

    /// Returns the SVG that `draw` draws.
    pub(crate) fn draw(
        self,
        draw: impl FnOnce(&Area<'_>) -> DrawResult,
    ) -> Result<String> {
        font::register();
        let (width, height) = (self.width, self.height);
        let fine = |pixels: u32| px(f64::from(pixels)) as u32;
        let mut svg = String::new();
        {
            let backend =
                SVGBackend::with_string(&mut svg, (fine(width), fine(height)));
            let area = backend.into_drawing_area();
            let drawn = draw(&area).and_then(|()| area.present());
            let odd = |err| {
                let what = match err {
                    DrawingAreaErrorKind::LayoutError => {
                        "a larger picture is wanted for so many plots"
                    }
                    _ => "the picture cannot be drawn",
                };
                Error::new(ErrorKind::Limit, what).with_source(err)
            };
            drawn.map_err(odd)?;
        }
        let fine = format!("width=\"{}\" height=\"{}\"", fine(width), fine(height));
        let size = format!("width=\"{width}\" height=\"{height}\"");
        Ok(set_dash_styles(svg.replacen(&fine, &size, 1)))
    }
}

/// Converts the widths of lines in `svg` to dash styles.
fn set_dash_styles(mut svg: String) -> String {
    for width in [LINE, STRONG] {
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
    (font::NAME, f64::from(px(size)) * OVERSIZE, &INK).into_text_style(area)
}

/// Returns the width of `text` if it is `size` pixels high.
pub(crate) fn width(text: &str, size: f64) -> i32 {
    font::register();
    let font = (font::NAME, f64::from(px(size)) * OVERSIZE).into_font();
    font.box_size(text)
        .map_or(0, |(width, _)| (f64::from(width) * FONT_HEIGHT / OVERSIZE) as i32)
}

pub(crate) fn color([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}
