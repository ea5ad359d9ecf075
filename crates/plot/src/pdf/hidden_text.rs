//! Invisible text over the outlines of texts, so that viewers can search and copy it.

use std::collections::BTreeMap;

use pdf_writer::{
    Chunk, Content, Dict, Name, Ref, Str,
    types::{SystemInfo, TextRenderingMode, UnicodeCmap},
    writers::Type1Font,
};
use resvg::usvg::Text;

/// The number of characters of a font, whose codes are bytes. The code 0 is not used.
const CHARACTERS_PER_FONT: usize = 255;

/// The width of all characters in the fonts, in 1/1000 of the size.
const WIDTH: f32 = 500.0;

/// The codes of the characters that were written.
pub(super) struct HiddenText {
    /// The index of each character, in the order of their first use.
    characters: BTreeMap<char, usize>,
    /// The number of the first object of the fonts.
    first_object: i32,
}

impl HiddenText {
    /// Creates the codes. The objects of the fonts have numbers from `first_object`.
    pub(super) fn new(first_object: i32) -> Self {
        Self { characters: BTreeMap::new(), first_object }
    }

    /// Writes `text`, in its own coordinates, so that it covers the outlines.
    pub(super) fn write(&mut self, text: &Text, content: &mut Content) {
        let characters: Vec<char> =
            text.chunks().iter().flat_map(|chunk| chunk.text().chars()).collect();
        let bounds = text.bounding_box();
        let first = text.chunks().first();
        let span = first.and_then(|chunk| chunk.spans().first());
        let Some(size) = span.map(|span| span.font_size().get()) else { return };
        let baseline = first.and_then(|chunk| chunk.y()).unwrap_or(bounds.bottom());
        let natural_width = characters.len() as f32 * size * WIDTH / 1000.0;
        if natural_width <= 0.0 {
            return;
        }
        content.begin_text();
        content.set_text_rendering_mode(TextRenderingMode::Invisible);
        content.set_horizontal_scaling(100.0 * bounds.width() / natural_width);
        // The coordinates of SVG point downwards.
        content.set_text_matrix([1.0, 0.0, 0.0, -1.0, bounds.x(), baseline]);
        let codes: Vec<(usize, u8)> =
            characters.iter().map(|character| self.code(*character)).collect();
        for run in codes.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((font, _)) = run.first() else { continue };
            content.set_font(Name(font_name(*font).as_bytes()), size);
            let bytes: Vec<u8> = run.iter().map(|(_, code)| *code).collect();
            content.show(Str(&bytes));
        }
        content.end_text();
    }

    /// Adds the names of the fonts to the resources of a page.
    pub(super) fn add_fonts(&self, fonts: &mut Dict<'_>) {
        for font in 0..self.fonts() {
            fonts.pair(Name(font_name(font).as_bytes()), self.object(font, 0));
        }
    }

    /// Writes the objects of the fonts.
    pub(super) fn write_fonts(&self, file: &mut Chunk) {
        for font in 0..self.fonts() {
            let info = SystemInfo {
                registry: Str(b"Adobe"),
                ordering: Str(b"UCS"),
                supplement: 0,
            };
            let mut unicode = UnicodeCmap::<u8>::new(Name(b"Custom"), info);
            for (character, index) in &self.characters {
                let (of_font, code) = font_and_code(*index);
                if of_font == font {
                    unicode.pair(code, *character);
                }
            }
            let mut dictionary: Type1Font<'_> = file.type1_font(self.object(font, 0));
            dictionary.base_font(Name(b"Helvetica")).first_char(0).last_char(u8::MAX);
            dictionary.widths(std::iter::repeat_n(WIDTH, CHARACTERS_PER_FONT + 1));
            dictionary.to_unicode(self.object(font, 1));
            drop(dictionary);
            file.cmap(self.object(font, 1), &unicode.finish());
        }
    }

    /// Returns the number of fonts.
    fn fonts(&self) -> usize {
        self.characters.len().div_ceil(CHARACTERS_PER_FONT)
    }

    /// Returns the font and the code of `character`.
    fn code(&mut self, character: char) -> (usize, u8) {
        let next = self.characters.len();
        font_and_code(*self.characters.entry(character).or_insert(next))
    }

    /// Returns the reference of the object of `font` with this `offset`.
    fn object(&self, font: usize, offset: i32) -> Ref {
        let font = i32::try_from(font).unwrap_or_default();
        Ref::new(self.first_object + 2 * font + offset)
    }
}

/// Returns the font and the code of the character with this `index`.
fn font_and_code(index: usize) -> (usize, u8) {
    let code = index % CHARACTERS_PER_FONT + 1;
    (index / CHARACTERS_PER_FONT, u8::try_from(code).unwrap_or_default())
}

/// Returns the name of a font.
fn font_name(font: usize) -> String {
    format!("f{font}")
}
