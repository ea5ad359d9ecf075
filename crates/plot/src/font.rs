//! The one font that pictures are measured and painted with, so that they look the same
//! on every machine. The system is asked only for characters that it has not.

use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use fontdb::Database;
use plotters::style::{FontStyle, register_font};
use resvg::usvg::FontResolver;

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

/// The font, and those of the system behind it.
fn with_system() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = Database::clone(&database());
        fonts.load_system_fonts();
        Arc::new(fonts)
    });
    fonts.clone()
}

/// Finds the font for each character: ours, or else one of the system. What none has is
/// added to `missing`, of each text the first.
pub(crate) fn resolver(missing: &Mutex<String>) -> FontResolver<'_> {
    let find = FontResolver::default_fallback_selector();
    FontResolver {
        select_font: FontResolver::default_font_selector(),
        select_fallback: Box::new(move |character, tried, fonts| {
            // The faces that both have are called the same in both.
            *fonts = with_system();
            let found = find(character, tried, fonts);
            if found.is_none() {
                let mut missing =
                    missing.lock().unwrap_or_else(PoisonError::into_inner);
                if !missing.contains(character) {
                    missing.push(character);
                }
            }
            found
        }),
    }
}

/// `text` without what no XML can hold, and no line of text should.
pub(crate) fn printable(text: &str) -> String {
    let printable = |c: char| match c {
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        c => c,
    };
    text.chars().map(printable).collect()
}
