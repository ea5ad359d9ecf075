//! The one font that pictures are measured and painted with, so that they look the same
//! on every machine: nothing is asked of the system.

use std::sync::{Arc, Once, OnceLock};

use plotters::style::{FontStyle, register_font};
use resvg::usvg::fontdb::Database;

/// DejaVu Sans, of which the licence is beside it.
const BYTES: &[u8] = include_bytes!("../vendor/dejavu/DejaVuSans.ttf");

/// What it is called in pictures, so that browsers take theirs.
pub(crate) const NAME: &str = "sans-serif";

/// Makes the font known to what measures text.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    // Without it nothing can be measured, and drawing is an error.
    ONCE.call_once(|| drop(register_font(NAME, FontStyle::Normal, BYTES)));
}

/// The font, for what paints text.
pub(crate) fn database() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(BYTES.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    fonts.clone()
}

/// `text` without what no XML can hold, and no line of text should.
pub(crate) fn printable(text: &str) -> String {
    let printable = |c: char| match c {
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        c => c,
    };
    text.chars().map(printable).collect()
}
