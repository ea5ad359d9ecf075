//! All codes that a finding may have.

use std::io::Write as _;

use logtool::{Result, formats::FORMATS};
use logtool_core::{Code, check::CODES};
use serde_json::json;

use crate::{outcome::Outcome, terminal};

/// Every code, each once, by its name.
fn all() -> Vec<&'static Code> {
    let formats = FORMATS.iter().flat_map(|format| format.codes());
    let mut codes: Vec<&Code> = CODES
        .iter()
        .chain(formats)
        .copied()
        .chain([&super::report::UNPACKING])
        .collect();
    codes.sort_by_key(|code| code.name);
    // Lidars are in logs of several formats.
    codes.dedup_by_key(|code| code.name);
    codes
}

/// Prints them: a row each of a table in Markdown, or a JSON object each.
pub(super) fn print(as_json: bool) -> Result<Outcome> {
    let mut out = terminal::stdout();
    if !as_json {
        writeln!(out, "| code | level | meaning |\n|---|---|---|")?;
    }
    for Code { name, severity, meaning } in all() {
        let severity = severity.name();
        match as_json {
            true => {
                let code = json!({"code": name, "level": severity, "meaning": meaning});
                writeln!(out, "{code}")?;
            }
            false => writeln!(out, "| `{name}` | {severity} | {meaning} |")?,
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}
