//! `logtool formats`: what can be read and written, and what is kept on the way.

mod table;

use std::io::Write as _;

use logtool::Result;
use serde_json::json;

use crate::{
    args::{FormatsArgs, GlobalArgs},
    commands::formats::table::{INPUTS, OUTPUTS, Output},
    outcome::Outcome,
    terminal,
};

pub(super) fn run(args: &FormatsArgs, _: &GlobalArgs) -> Result<Outcome> {
    let mut out = terminal::stdout();
    if args.json {
        let outputs: Vec<_> = OUTPUTS.iter().map(as_json).collect();
        let inputs: Vec<_> = INPUTS
            .iter()
            .map(|(name, what)| json!({ "name": name, "what": what }))
            .collect();
        writeln!(out, "{}", json!({ "reads": inputs, "writes": outputs }))?;
    } else {
        writeln!(
            out,
            "Reads, as it sees from their bytes (also in gzip, xz and zstd):"
        )?;
        for (name, what) in INPUTS {
            writeln!(out, "  {name:8} {what}")?;
        }
        let names: Vec<_> =
            INPUTS.iter().map(|(name, _)| format!("{name:>8}")).collect();
        writeln!(out, "\nWrites:{:33}{}", "", names.join(""))?;
        for output in OUTPUTS {
            let cell = |(name, _): &(&str, &str)| match output.of(name) {
                Some(_) => format!("{:>8}", "yes"),
                None => format!("{:>8}", "-"),
            };
            let cells: Vec<_> = INPUTS.iter().map(cell).collect();
            writeln!(out, "  {:38}{}", output.formats.join(" "), cells.join(""))?;
        }
        writeln!(out, "\nWhat is kept, and what is lost:")?;
        for output in OUTPUTS {
            for (inputs, what) in output.kept {
                let (from, to) = (inputs.join(", "), output.what);
                writeln!(out, "  {from} → {to}: {what}")?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn as_json(output: &Output) -> serde_json::Value {
    let kept = output.kept.iter().flat_map(|(inputs, what)| {
        inputs.iter().map(move |input| (input.to_string(), json!(what)))
    });
    let from: serde_json::Map<_, _> = kept.collect();
    json!({ "formats": output.formats, "what": output.what, "from": from })
}
