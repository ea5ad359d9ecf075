//! Metadata in image files.

use std::collections::BTreeMap;

use crate::{chunk, escape::json};

/// The maximum length of a keyword in a PNG file.
const MAX_KEYWORD: usize = 79;

/// Adds `texts`, given by keyword, to the file `png`. Each text becomes an uncompressed `iTXt`
/// chunk in UTF-8 (PNG, third edition, 11.3.3.4). Texts whose keyword is empty, not ASCII or longer
/// than 79 characters are dropped.
pub fn with_texts(mut png: Vec<u8>, texts: &BTreeMap<String, String>) -> Vec<u8> {
    let is_keyword = |key: &str| {
        (1..=MAX_KEYWORD).contains(&key.len())
            && key.bytes().all(|b| b.is_ascii_graphic())
    };
    for (key, text) in texts.iter().filter(|(key, _)| is_keyword(key)) {
        // Zeros for the end of the keyword, no compression, no language and no translated keyword.
        let mut content = [key.as_bytes(), &[0; 5]].concat();
        content.extend(text.bytes().filter(|byte| *byte != 0));
        chunk::insert(&mut png, b"iTXt", &content);
    }
    png
}

/// Adds the JSON `text` to the file `svg` as `<metadata>`.
pub fn with_metadata(svg: &str, text: &str) -> String {
    let escaped = json(text);
    let start = svg.find("<svg").unwrap_or(0);
    match svg.get(start..).and_then(|remaining| remaining.find('>')) {
        Some(end) => {
            let (prefix, remaining) = svg.split_at(start + end + 1);
            format!("{prefix}\n<metadata>{escaped}</metadata>{remaining}")
        }
        None => svg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::png;

    const SVG: &str = r#"<svg width="100" height="100" xmlns="http://www.w3.org/2000/svg"><rect/></svg>"#;

    #[test]
    fn a_text_of_a_png_is_a_chunk() {
        let plain = png(SVG, 1.0).unwrap().png;
        let texts = [("a", "é"), ("no keyword", "x")];
        let texts = texts.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
        let with_text = with_texts(plain.clone(), &texts);
        let chunk = b"iTXta\0\0\0\0\0\xc3\xa9";
        assert!(with_text.windows(chunk.len()).any(|bytes| bytes == chunk));
        assert_eq!(with_text.len(), plain.len() + chunk.len() + 8);
    }

    #[test]
    fn metadata_of_an_svg_cannot_end_early_and_changes_no_pixel() {
        let with_text = with_metadata(SVG, "{\"a\":\"</metadata><&\"}");
        let want = "\n<metadata>{\"a\":\"\\u003c/metadata\\u003e\\u003c\\u0026\"}\
                    </metadata><rect/>";
        assert!(with_text.contains(want), "{with_text}");
        assert_eq!(png(&with_text, 1.0).unwrap(), png(SVG, 1.0).unwrap());
    }
}
