//! Any text as the definition of a type: a definition that is parsed can be formatted and parsed
//! again, with the same MD5 sum and the same layout.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_core::{Columns, LayoutDecoder, View};
use logtool_rosmsg::{Definition, md5sum, resolve_definition_for_table};

fuzz_target!(|input: &[u8]| {
    // Like in connections: UTF-8, or else Latin-1.
    let text = match str::from_utf8(input) {
        Ok(text) => text.to_owned(),
        Err(_) => input.iter().copied().map(char::from).collect(),
    };
    let name = "pkg/Type";
    let described = resolve_definition_for_table(name, "*", &text);
    let Ok(definition) = Definition::parse(name, &text) else { return };
    let _ = definition.labels();
    let again = Definition::parse(name, &definition.text());
    let again = again.expect("the formatted definition is parsed");
    assert_eq!(again, definition, "and is equal");
    let (sum, layout) = (definition.md5sum(), definition.layout());
    assert_eq!(sum.is_ok(), again.md5sum().is_ok());
    if let Ok(sum) = &sum {
        assert_eq!(again.md5sum().as_ref().ok(), Some(sum));
        assert_eq!(md5sum(name, &text).as_ref().ok(), Some(sum));
        assert!(sum.len() == 32 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    let Ok(layout) = layout else { return };
    assert_eq!(again.layout().ok().as_ref(), Some(&layout));
    for view in [View::Nested, View::Flat] {
        let decoder = LayoutDecoder::new(&layout, &Columns::new(view));
        if view == View::Nested && described.is_ok() {
            assert!(decoder.is_ok(), "a type with a layout has columns");
        }
    }
});
