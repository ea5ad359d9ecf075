//! All codes that a finding may have.

use std::io::Write as _;

use logtool::{Result, check};
use logtool_core::Code;
use serde_json::json;

use crate::{exit_status::Outcome, terminal};

/// Prints all codes: a row each of a table in Markdown, or a JSON object each.
pub(super) fn print(as_json: bool) -> Result<Outcome> {
    let mut out = terminal::stdout();
    if !as_json {
        writeln!(out, "| code | level | meaning |\n|---|---|---|")?;
    }
    for Code { name, severity, meaning } in check::codes() {
        let severity = severity.name();
        if as_json {
            let code = json!({"code": name, "level": severity, "meaning": meaning});
            writeln!(out, "{code}")?;
        } else {
            writeln!(out, "| `{name}` | {severity} | {meaning} |")?
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}
