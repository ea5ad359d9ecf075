//! Rendering SVG to pixels.

use std::sync::{Mutex, PoisonError};

use logtool_core::{Error, ErrorKind, Result};
use resvg::{
    tiny_skia::{Color, Pixmap, Transform},
    usvg::{Options, Tree},
};

use crate::{chunk, font};

/// The maximum number of pixels of an image: 100 million.
const MAX_PIXELS: f32 = 1e8;

/// The number of SVG pixels per inch, as in CSS, and the metres per inch.
const PIXELS_PER_INCH: f32 = 96.0;
const METRES_PER_INCH: f32 = 0.0254;

/// A rendered image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPng {
    /// The PNG file.
    pub png: Vec<u8>,
    /// Characters of the texts that neither the built-in font nor a font of the system contains.
    /// They are rendered as boxes.
    pub missing: String,
}

/// Renders `svg` to PNG, enlarged by `scale`.
///
/// # Errors
/// `Malformed` if `svg` is invalid, and `Limit` if there would be too many pixels.
pub fn png(svg: &str, scale: f32) -> Result<RenderedPng> {
    render_over(svg, scale, |_| {})
}

/// Renders `svg` on top of the background that `paint_background` paints.
pub(crate) fn render_over(
    svg: &str,
    scale: f32,
    paint_background: impl FnOnce(&mut Pixmap),
) -> Result<RenderedPng> {
    let (tree, missing) = parse(svg)?;
    let size = tree.size();
    let (width, height) = (size.width() * scale, size.height() * scale);
    let is_allowed = (width * height <= MAX_PIXELS).then_some(());
    let create_pixmap = || {
        is_allowed
            .and_then(|()| Pixmap::new(width.round() as u32, height.round() as u32))
    };
    let message = format!("an image cannot have {width:.0} × {height:.0} pixels");
    let mut pixmap =
        create_pixmap().ok_or_else(|| Error::new(ErrorKind::Limit, message))?;
    pixmap.fill(Color::WHITE);
    paint_background(&mut pixmap);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    let encode_error = |err| {
        Error::new(ErrorKind::Malformed, "the image cannot be encoded as PNG")
            .with_source(err)
    };
    let mut png = pixmap.encode_png().map_err(encode_error)?;
    // The resolution in dots per metre, horizontally and vertically.
    let density =
        ((PIXELS_PER_INCH * scale / METRES_PER_INCH).round() as u32).to_be_bytes();
    chunk::insert(&mut png, b"pHYs", &[&density[..], &density, &[1]].concat());
    Ok(RenderedPng { png, missing })
}

/// Parses `svg` and lays out its texts. Returns its shapes, and the characters that no font
/// contains.
pub(crate) fn parse(svg: &str) -> Result<(Tree, String)> {
    let missing = Mutex::default();
    let (fontdb, font_resolver) = (font::database(), font::resolver(&missing));
    let options = Options { fontdb, font_resolver, ..Options::default() };
    let parse_error =
        |err| Error::new(ErrorKind::Malformed, "the SVG is invalid").with_source(err);
    let tree = Tree::from_str(svg, &options).map_err(parse_error)?;
    drop(options);
    Ok((tree, missing.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_font_has_is_told_and_what_ours_has_is_not() {
        let svg = |text: &str| {
            format!(
                "<svg width=\"200\" height=\"50\" xmlns=\"http://www.w3.org/2000/svg\">\
                 <text x=\"5\" y=\"30\" font-family=\"sans-serif\">{text}</text></svg>"
            )
        };
        assert_eq!(png(&svg("/größe Ωж"), 1.0).unwrap().missing, "");
        // For private use: no font that people have has it.
        assert_eq!(png(&svg("a\u{10fffd}"), 1.0).unwrap().missing, "\u{10fffd}");
    }
}
