//! `logtool formats`: what can be read and written, and what is kept on the way.

mod table;

use std::io::Write as _;

use logtool::{Result, formats::LogFormat};
use serde_json::json;

use crate::{
    args::{FormatsArgs, GlobalArgs},
    commands::formats::table::{OUTPUTS, Output},
    exit_status::Outcome,
    terminal,
};

pub(super) fn run(args: &FormatsArgs, _: &GlobalArgs) -> Result<Outcome> {
    let mut out = terminal::stdout();
    if args.json {
        let outputs: Vec<_> = OUTPUTS.iter().map(as_json).collect();
        let input = |format: &LogFormat| json!({ "name": name(*format), "what": format.description() });
        let inputs: Vec<_> = LogFormat::ALL.iter().map(input).collect();
        writeln!(out, "{}", json!({ "reads": inputs, "writes": outputs }))?;
    } else {
        writeln!(
            out,
            "Reads, as it sees from their bytes (also in gzip, xz and zstd):"
        )?;
        for format in LogFormat::ALL {
            writeln!(out, "  {:8} {}", name(*format), format.description())?;
        }
        let all = LogFormat::ALL.iter().copied();
        let names: Vec<_> =
            all.clone().map(|format| format!("{:>8}", name(format))).collect();
        writeln!(out, "\nWrites:{:33}{}", "", names.join(""))?;
        for output in OUTPUTS {
            let cell = |format: LogFormat| match output.of(format) {
                Some(_) => format!("{:>8}", "yes"),
                None => format!("{:>8}", "-"),
            };
            let cells: Vec<_> = all.clone().map(cell).collect();
            writeln!(out, "  {:38}{}", output.formats.join(" "), cells.join(""))?;
        }
        writeln!(out, "\nWhat is kept, and what is lost:")?;
        for output in OUTPUTS {
            for (inputs, what) in output.kept {
                let from: Vec<&str> =
                    inputs.iter().map(|format| name(*format)).collect();
                let (from, to) = (from.join(", "), output.what);
                writeln!(out, "  {from} → {to}: {what}")?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn as_json(output: &Output) -> serde_json::Value {
    let kept = output.kept.iter().flat_map(|(inputs, what)| {
        inputs.iter().map(move |input| (name(*input).to_owned(), json!(what)))
    });
    let from: serde_json::Map<_, _> = kept.collect();
    json!({ "formats": output.formats, "what": output.what, "from": from })
}

/// Returns the name of `format` in the table. A capture is not called `pcap` there, because
/// it may also be a pcapng file or bare packets.
fn name(format: LogFormat) -> &'static str {
    match format {
        LogFormat::Capture => "capture",
        format => format.name(),
    }
}
