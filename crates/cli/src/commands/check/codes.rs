//! All codes that a finding may have.

use std::io::Write as _;

use logtool::{Result, check};
use logtool_core::FindingCode;
use serde_json::json;

use crate::{
    exit_status::Outcome,
    terminal::{self, wrap},
};

/// Prints all codes: a JSON object each, a plain table on a terminal, or a table in Markdown.
pub(super) fn print(as_json: bool) -> Result<Outcome> {
    let mut out = terminal::stdout();
    let is_seen = terminal::stdout_is_seen();
    if !as_json && !is_seen {
        writeln!(out, "| code | level | meaning |\n|---|---|---|")?;
    }
    let width = check::codes().iter().map(|code| code.name.len()).max().unwrap_or(0);
    for FindingCode { name, severity, meaning } in check::codes() {
        let severity = severity.name();
        if as_json {
            let code = json!({"code": name, "level": severity, "meaning": meaning});
            writeln!(out, "{code}")?;
        } else if is_seen {
            let line = format!("{name:width$}  {severity:7}  {meaning}");
            writeln!(out, "{}", wrap::for_stdout(&line))?;
        } else {
            writeln!(out, "| `{name}` | {severity} | {meaning} |")?
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}
