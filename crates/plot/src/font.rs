//! The built-in font for measuring and rendering text, so that images look the same on
//! every machine. Fonts of the system are only used for characters that it does not have.

use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use fontdb::{Database, FaceInfo, Stretch, Style, Weight};
use plotters::style::{FontStyle, register_font};
use resvg::usvg::FontResolver;

/// DejaVu Sans. Its licence is in the same folder.
const BYTES: &[u8] = include_bytes!("../vendor/dejavu/DejaVuSans.ttf");

/// The name of its family.
const FAMILY: &str = "DejaVu Sans";

/// The font name in SVG files, so that browsers use their own font.
pub(crate) const NAME: &str = "sans-serif";

/// Registers the font for measuring text.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    // Without it, text cannot be measured, and drawing fails.
    ONCE.call_once(|| drop(register_font(NAME, FontStyle::Normal, BYTES)));
}

/// Returns the font database for rendering text.
pub(crate) fn database() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(BYTES.to_vec());
        fonts.set_sans_serif_family(FAMILY);
        Arc::new(fonts)
    });
    fonts.clone()
}

/// Returns sets of fonts with the built-in font and fonts of the system: those of the same family,
/// those that are not bold, slanted or narrow, and all. A font has the same id in each set.
fn with_system_fonts() -> &'static [Arc<Database>; 3] {
    static FONTS: OnceLock<[Arc<Database>; 3]> = OnceLock::new();
    FONTS.get_or_init(|| {
        let mut all = Database::clone(&database());
        all.load_system_fonts();
        let subset = |is_included: fn(&FaceInfo) -> bool| {
            let mut fonts = all.clone();
            let others = all.faces().filter(|face| !is_included(face));
            others.for_each(|face| fonts.remove_face(face.id));
            Arc::new(fonts)
        };
        let is_same_family = |face: &FaceInfo| {
            is_plain(face) && face.families.iter().any(|(name, _)| name == FAMILY)
        };
        [subset(is_same_family), subset(is_plain), Arc::new(all)]
    })
}

fn is_plain(face: &FaceInfo) -> bool {
    (face.style, face.weight, face.stretch)
        == (Style::Normal, Weight::NORMAL, Stretch::Normal)
}

/// Returns a resolver that finds a font for each character: the built-in font, or a font of the
/// system. The first character of each text that no font contains is added to `missing`.
pub(crate) fn resolver(missing: &Mutex<String>) -> FontResolver<'_> {
    let find = FontResolver::default_fallback_selector();
    FontResolver {
        select_font: FontResolver::default_font_selector(),
        select_fallback: Box::new(move |character, tried, fonts| {
            // The library could choose a bold font from all fonts.
            let found = with_system_fonts().iter().find_map(|set| {
                *fonts = set.clone();
                find(character, tried, fonts)
            });
            // Fonts that were found for earlier characters may be from another set.
            let [.., all] = with_system_fonts();
            *fonts = all.clone();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ours_has_not_is_of_a_font_that_is_not_bold_if_there_is_one() {
        let missing = Mutex::default();
        let (resolver, mut fonts) = (resolver(&missing), database());
        let own = fonts.faces().next().map(|face| face.id).unwrap();
        // An Arabic letter, an emoji, a Chinese character.
        for character in ['\u{0628}', '\u{1f600}', '\u{4e2d}'] {
            let found = (resolver.select_fallback)(character, &[own], &mut fonts);
            let Some(found) = found.and_then(|id| fonts.face(id)) else { continue };
            let [_, plain, _] = with_system_fonts();
            let mut plain = plain.clone();
            let find = FontResolver::default_fallback_selector();
            let has_plain = find(character, &[own], &mut plain).is_some();
            assert_eq!(is_plain(found), has_plain, "{character}: {found:?}");
        }
    }
}
