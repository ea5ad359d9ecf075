//! docs/EXPRESSIONS.md has the functions of the language.

#![allow(clippy::unwrap_used)]

use std::{env, fs, path::Path};

const START: &str = "<!-- functions: a test compares them with the code -->\n";

/// `UPDATE=1 cargo test -p logtool-series` writes the tables.
#[test]
fn documented_functions_are_those_of_the_language() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/EXPRESSIONS.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, tables) = text.split_once(START).unwrap();
    let wanted = format!("\n{}", logtool_series::markdown_reference());
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{before}{START}{wanted}")).unwrap();
    } else {
        assert!(tables == wanted, "UPDATE=1 writes the tables of {}", path.display());
    }
}
