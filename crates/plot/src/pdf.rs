//! Converts SVG to PDF.
//!
//! The PDF contains the same vector shapes as the SVG, so it is sharp at every size. Texts are drawn
//! as outlines, so that they look the same without the fonts, and are written once more as invisible
//! text in the same places, so that they can be searched and copied.

mod hidden_text;

use std::{collections::BTreeMap, io::Write as _};

use flate2::{Compression, write::ZlibEncoder};
use logtool_core::{Error, ErrorKind, Result};
use pdf_writer::{
    Content, Filter, Finish as _, Name, Pdf, Rect, Ref, TextStr,
    types::{LineCapStyle, LineJoinStyle},
};
use resvg::{
    tiny_skia::{PathSegment, Point, Transform},
    usvg::{Fill, FillRule, Group, LineCap, LineJoin, Node, Paint, Path, Stroke},
};

use crate::{paint, pdf::hidden_text::HiddenText};

/// The number of PDF points (1/72 inch) per CSS pixel (1/96 inch).
const POINTS_PER_PIXEL: f32 = 0.75;
/// The maximum width and height of a page in points (ISO 32000-1, annex C).
const MAX_POINTS: f32 = 14_400.0;

/// The objects of the file.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const INFORMATION: Ref = Ref::new(5);
/// The first of the objects of fonts.
const FIRST_FONT: i32 = 6;

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPdf {
    /// The PDF file.
    pub pdf: Vec<u8>,
    /// Characters of the texts that no font contains, like
    /// [`RenderedPng::missing`](crate::RenderedPng::missing).
    pub missing: String,
}

/// Converts `svg` to a PDF of one page. The SVG may contain texts and shapes in plain colours; one
/// inch has 96 pixels. The entries of `metadata` are written to the information dictionary.
///
/// # Errors
/// `Malformed` if `svg` is invalid, `Limit` if it is wider or higher than a page can be, and
/// `Unsupported` if it has images, gradients or patterns.
pub fn pdf(svg: &str, metadata: &BTreeMap<String, String>) -> Result<RenderedPdf> {
    let (tree, missing) = paint::parse(svg)?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let (right, top) = (width * POINTS_PER_PIXEL, height * POINTS_PER_PIXEL);
    if right.max(top) > MAX_POINTS {
        let message = format!("a PDF of {width:.0} × {height:.0} pixels");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let mut writer = ShapeWriter::new(top);
    writer.group(tree.root(), 1.0)?;
    let content = writer.content.finish();
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(&content)?;
    let compressed = compressed.finish()?;

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut page = pdf.page(PAGE);
    page.parent(PAGES).media_box(Rect::new(0.0, 0.0, right, top)).contents(CONTENT);
    let mut resources = page.resources();
    let mut states = resources.ext_g_states();
    for (alpha, id) in &writer.alphas {
        let alpha = f32::from(*alpha) / 255.0;
        let name = alpha_name(*id);
        let mut state = states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        state.stroking_alpha(alpha).non_stroking_alpha(alpha);
    }
    states.finish();
    writer.texts.add_fonts(&mut resources.fonts());
    resources.finish();
    page.finish();
    pdf.stream(CONTENT, &compressed).filter(Filter::FlateDecode);
    writer.texts.write_fonts(&mut pdf);
    let mut information = pdf.document_info(INFORMATION);
    for (key, text) in metadata {
        information.pair(Name(key.as_bytes()), TextStr(text));
    }
    information.finish();
    Ok(RenderedPdf { pdf: pdf.finish(), missing })
}

/// Writes shapes into the content of a page.
struct ShapeWriter {
    content: Content,
    /// The height of the page in points.
    top: f32,
    /// The opacities of shapes, in parts of 255, and the numbers of their graphics states.
    alphas: BTreeMap<u8, usize>,
    texts: HiddenText,
}

impl ShapeWriter {
    fn new(top: f32) -> Self {
        let (alphas, texts) = (BTreeMap::new(), HiddenText::new(FIRST_FONT));
        Self { content: Content::new(), top, alphas, texts }
    }

    /// Writes the shapes of `group`, whose opacity is multiplied by `opacity`.
    fn group(&mut self, group: &Group, opacity: f32) -> Result<()> {
        // Shapes of our groups do not overlap, so each can have the opacity of its group.
        let opacity = opacity * group.opacity().get();
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group, opacity)?,
                Node::Path(path) => self.path(path, opacity)?,
                Node::Text(text) => {
                    self.group(text.flattened(), opacity)?;
                    self.start_object(text.abs_transform());
                    self.texts.write(text, &mut self.content);
                    self.content.restore_state();
                }
                Node::Image(_) => return Err(unsupported("images")),
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &Path, opacity: f32) -> Result<()> {
        if !path.is_visible() {
            return Ok(());
        }
        self.start_object(path.abs_transform());
        if let Some(fill) = path.fill() {
            self.fill(path, fill, opacity)?;
        }
        if let Some(stroke) = path.stroke() {
            self.stroke(path, stroke, opacity)?;
        }
        self.content.restore_state();
        Ok(())
    }

    /// Saves the graphics state, and sets the coordinates of an object with `transform`.
    fn start_object(&mut self, transform: Transform) {
        self.content.save_state();
        // The origin of a page is at its lower left corner.
        self.content.transform([
            POINTS_PER_PIXEL,
            0.0,
            0.0,
            -POINTS_PER_PIXEL,
            0.0,
            self.top,
        ]);
        self.content.transform([
            transform.sx,
            transform.ky,
            transform.kx,
            transform.sy,
            transform.tx,
            transform.ty,
        ]);
    }

    fn fill(&mut self, path: &Path, fill: &Fill, opacity: f32) -> Result<()> {
        let [red, green, blue] = color(fill.paint())?;
        self.set_alpha(opacity * fill.opacity().get());
        self.content.set_fill_rgb(red, green, blue);
        self.outline(path);
        match fill.rule() {
            FillRule::NonZero => self.content.fill_nonzero(),
            FillRule::EvenOdd => self.content.fill_even_odd(),
        };
        Ok(())
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke, opacity: f32) -> Result<()> {
        let [red, green, blue] = color(stroke.paint())?;
        self.set_alpha(opacity * stroke.opacity().get());
        self.content.set_stroke_rgb(red, green, blue);
        self.content.set_line_width(stroke.width().get());
        self.content.set_miter_limit(stroke.miterlimit().get());
        self.content.set_line_cap(match stroke.linecap() {
            LineCap::Butt => LineCapStyle::ButtCap,
            LineCap::Round => LineCapStyle::RoundCap,
            LineCap::Square => LineCapStyle::ProjectingSquareCap,
        });
        self.content.set_line_join(match stroke.linejoin() {
            LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
            LineJoin::Round => LineJoinStyle::RoundJoin,
            LineJoin::Bevel => LineJoinStyle::BevelJoin,
        });
        let dashes = stroke.dasharray().unwrap_or_default();
        self.content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
        self.outline(path);
        self.content.stroke();
        Ok(())
    }

    fn set_alpha(&mut self, alpha: f32) {
        let alpha = (alpha.clamp(0.0, 1.0) * 255.0).round() as u8;
        let next_id = self.alphas.len();
        let id = *self.alphas.entry(alpha).or_insert(next_id);
        self.content.set_parameters(Name(alpha_name(id).as_bytes()));
    }

    /// Writes the outline of `path`.
    fn outline(&mut self, path: &Path) {
        let content = &mut self.content;
        let mut start = Point::default();
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(end) => {
                    content.move_to(end.x, end.y);
                    start = end;
                }
                PathSegment::LineTo(end) => {
                    content.line_to(end.x, end.y);
                    start = end;
                }
                PathSegment::QuadTo(control, end) => {
                    // A PDF has only cubic curves. This cubic curve has the same shape.
                    let cubic_control = |point: Point| {
                        let two_thirds = |point: f32, control: f32| {
                            point + (control - point) * 2.0 / 3.0
                        };
                        (two_thirds(point.x, control.x), two_thirds(point.y, control.y))
                    };
                    let (control1, control2) =
                        (cubic_control(start), cubic_control(end));
                    content.cubic_to(
                        control1.0, control1.1, control2.0, control2.1, end.x, end.y,
                    );
                    start = end;
                }
                PathSegment::CubicTo(control1, control2, end) => {
                    content.cubic_to(
                        control1.x, control1.y, control2.x, control2.y, end.x, end.y,
                    );
                    start = end;
                }
                PathSegment::Close => {
                    content.close_path();
                }
            }
        }
    }
}

/// Returns the name of a graphics state with an opacity.
fn alpha_name(id: usize) -> String {
    format!("a{id}")
}

/// Returns the colour of `paint`, each part from 0 to 1.
fn color(paint: &Paint) -> Result<[f32; 3]> {
    match paint {
        Paint::Color(color) => {
            Ok([color.red, color.green, color.blue].map(|part| f32::from(part) / 255.0))
        }
        _ => Err(unsupported("gradients and patterns")),
    }
}

fn unsupported(content: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("cannot write {content} to a PDF"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = r##"<svg width="200" height="100" xmlns="http://www.w3.org/2000/svg">
<rect x="20" y="10" width="40" height="30" fill="#ff0000" opacity="0.5"/></svg>"##;

    /// Returns the content of the page of `pdf`.
    fn content(pdf: &[u8]) -> String {
        let text = String::from_utf8_lossy(pdf);
        let position = |word: &str| text.find(word).unwrap();
        assert!(text.contains("/MediaBox [0 0 150 75]"), "{text}");
        let start = pdf.windows(7).position(|bytes| bytes == b"stream\n").unwrap() + 7;
        assert!(position("stream") < position("endstream"));
        let mut decoder = flate2::read::ZlibDecoder::new(&pdf[start..]);
        let mut content = String::new();
        std::io::Read::read_to_string(&mut decoder, &mut content).unwrap();
        content
    }

    #[test]
    fn rectangle_is_filled_with_its_color_and_opacity() {
        let metadata = BTreeMap::from([("Title".to_owned(), "red".to_owned())]);
        let rendered = pdf(SVG, &metadata).unwrap();
        let text = String::from_utf8_lossy(&rendered.pdf).into_owned();
        assert!(
            text.starts_with("%PDF-1.7") && text.contains("/Title (red)"),
            "{text}"
        );
        // 0.5 of 255 is 128.
        assert!(text.contains("/ca 0.5019608"), "{text}");
        let content = content(&rendered.pdf);
        let words: Vec<&str> = content.split_whitespace().collect();
        let contains = |words_of: &str| {
            let expected: Vec<&str> = words_of.split_whitespace().collect();
            words.windows(expected.len()).any(|found| found == expected)
        };
        assert!(contains("0.75 0 0 -0.75 0 75 cm"), "{content}");
        assert!(contains("1 0 0 rg 20 10 m 60 10 l 60 40 l 20 40 l h f"), "{content}");
    }

    #[test]
    fn texts_can_be_read_from_the_codes_and_their_characters() {
        let svg = r##"<svg width="200" height="100" xmlns="http://www.w3.org/2000/svg">
<text x="10" y="50" font-size="20" font-family="sans-serif">a °ü</text></svg>"##;
        let rendered = pdf(svg, &BTreeMap::new()).unwrap();
        let content = content(&rendered.pdf);
        // The characters have the codes 1 to 4, at the baseline of the text.
        assert!(content.contains("BT\n"), "{content}");
        assert!(content.contains("3 Tr\n"), "{content}");
        assert!(content.contains(" 50 Tm\n"), "{content}");
        let text = String::from_utf8_lossy(&rendered.pdf);
        for (code, character) in
            [("01", "0061"), ("02", "0020"), ("03", "00B0"), ("04", "00FC")]
        {
            let pair = format!("<{code}> <{character}>");
            assert!(text.to_uppercase().contains(&pair), "{pair}: {text}");
        }
        assert!(text.contains("/BaseFont /Helvetica"), "{text}");
    }

    #[test]
    fn images_and_huge_pages_are_refused() {
        let image = r#"<svg width="9" height="9" xmlns="http://www.w3.org/2000/svg"><image
width="5" height="5" href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="/></svg>"#;
        let error = pdf(image, &BTreeMap::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let huge =
            r#"<svg width="19300" height="9" xmlns="http://www.w3.org/2000/svg"/>"#;
        assert_eq!(pdf(huge, &BTreeMap::new()).unwrap_err().kind(), ErrorKind::Limit);
    }
}
