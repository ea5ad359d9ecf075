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
    terminal,
};

pub(super) fn run(args: &FormatsArgs, _: &GlobalArgs) -> Result<Outcome> {
    let mut out = terminal::stdout();
    let inputs = LogFormat::ALL.iter();
    if args.json {
        let reads: Vec<Value> = inputs
            .map(|input| {
                json!({ "name": input.display_name(), "what": input.description() })
            })
            .collect();
        writeln!(out, "{}", json!({ "reads": reads, "writes": CONVERSIONS }))?;
        out.flush()?;
        return Ok(Outcome::Done);
    }
    writeln!(out, "Reads, recognised by their bytes (also in gzip, xz and zstd):")?;
    for input in inputs.clone() {
        writeln!(out, "  {:8} {}", input.display_name(), input.description())?;
    }
    let names: String =
        inputs.clone().map(|input| format!("{:>8}", input.display_name())).collect();
    writeln!(out, "\nWrites:{:33}{names}", "")?;
    for conversion in CONVERSIONS {
        let cell = |input: &LogFormat| match conversion.preserved_data(*input) {
            Some(_) => "     yes",
            None => "       -",
        };
        let cells: String = inputs.clone().map(cell).collect();
        writeln!(out, "  {:38}{cells}", conversion.formats.join(" "))?;
    }
    writeln!(out, "\nWhat is kept, and what is lost:")?;
    for conversion in CONVERSIONS {
        for (inputs, kept) in conversion.kept {
            let from: Vec<&str> =
                inputs.iter().map(|input| input.display_name()).collect();
            let (from, to) = (from.join(", "), conversion.description);
            writeln!(out, "  {from} → {to}: {kept}")?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}
