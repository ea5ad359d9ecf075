//! `logtool formats`: prints which formats can be read and written, and what conversions keep.

use std::io::Write as _;

use logtool::{
    Result,
    formats::{CONVERSIONS, LogFormat},
};
use serde_json::{Value, json};

use crate::{
    args::{FormatsArgs, GlobalArgs},
    exit_status::Outcome,
    terminal::{self, wrap},
};

/// The maximum number of output formats in a line of the table.
const MAX_FORMATS_OF_LINE: usize = 3;

pub(super) fn run(args: &FormatsArgs, _: &GlobalArgs) -> Result<Outcome> {
    let mut out = terminal::stdout();
    if args.json {
        let reads: Vec<Value> = LogFormat::ALL
            .iter()
            .map(|input| {
                json!({ "name": input.display_name(), "what": input.description() })
            })
            .collect();
        writeln!(out, "{}", json!({ "reads": reads, "writes": CONVERSIONS }))?;
        out.flush()?;
        return Ok(Outcome::Done);
    }
    out.write_all(wrap::for_stdout(&text()).as_bytes())?;
    out.flush()?;
    Ok(Outcome::Done)
}

/// Returns the formats and the conversions as text for people.
fn text() -> String {
    let inputs = LogFormat::ALL.iter();
    let mut lines = vec![
        "Reads, recognised by their bytes (also in gzip, bzip2, xz, zstd and LZ4):"
            .to_owned(),
    ];
    for input in inputs.clone() {
        lines.push(format!("  {:8}  {}", input.display_name(), input.description()));
    }
    let names: String =
        inputs.clone().map(|input| format!("{:>8}", input.display_name())).collect();
    lines.push(format!("\n{:<24}{names}", "Writes:"));
    for conversion in CONVERSIONS {
        let cell = |input: &LogFormat| match conversion.preserved_data(*input) {
            Some(_) => "     yes",
            None => "       -",
        };
        let cells: String = inputs.clone().map(cell).collect();
        // The table has 80 columns, so long lists of formats have several lines.
        let mut cells = Some(cells);
        for formats in conversion.formats.chunks(MAX_FORMATS_OF_LINE) {
            let cells = cells.take().unwrap_or_default();
            let line = format!("  {:22}{cells}", formats.join(" "));
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.push("\nWhat is kept, and what is lost:".to_owned());
    for conversion in CONVERSIONS {
        for (inputs, kept) in conversion.kept {
            let from: Vec<&str> =
                inputs.iter().map(|input| input.display_name()).collect();
            let (from, to) = (from.join(", "), conversion.description);
            lines.push(format!("  {from} → {to}: {kept}"));
        }
    }
    lines.join("\n") + "\n"
}
