//! How the parameters of a log were changed, in the order of the file.

use std::io::Write as _;

use logtool::{Error, Result, time::clock::ShownClock, units::plain};
use logtool_ulog::{ParameterValue, UlogLog};

use crate::{
    args::{ParamsArgs, ParamsFormat},
    commands::params::{Names, Shown, cells, is_non_default, or_nothing, width},
    terminal,
};

/// Writes the changes: when, which parameter, from what to what.
pub(super) fn write(
    log: &UlogLog,
    args: &ParamsArgs,
    clock: &ShownClock,
    format: ParamsFormat,
) -> Result<()> {
    let all = &log.metadata().parameters;
    let names = Names::new(&args.names, all.keys().map(String::as_str))?;
    let wanted = all.iter().filter(|(name, parameter)| {
        names.is_wanted(name) && (!args.non_default || is_non_default(parameter, false))
    });
    let mut changes = Vec::new();
    for (name, parameter) in wanted {
        let mut before: Option<ParameterValue> = parameter.initial;
        for change in &parameter.changes {
            let old = before.replace(change.value);
            changes.push((change.offset, change.time, name, old, change.value));
        }
    }
    changes.sort_by_key(|(offset, ..)| *offset);

    let mut out = terminal::stdout();
    match format {
        ParamsFormat::Qgc => {
            let what = "a parameter file has no place for changes";
            let hint = "--history goes with --format text, csv or json";
            return Err(Error::invalid(what).with_hint(hint));
        }
        ParamsFormat::Text => {
            let names: Vec<String> =
                changes.iter().map(|change| plain(change.2)).collect();
            let width = width(&names);
            for ((_, time, _, old, new), name) in changes.into_iter().zip(names) {
                let (time, old, new) = (clock.text(time), or_nothing(old), Shown(new));
                writeln!(out, "[{time}] {name:width$}  {old:>12} → {new}")?;
            }
        }
        ParamsFormat::Csv => {
            writeln!(out, "time,name,old,new")?;
            let cells = cells(args.csv_safe);
            for (_, time, name, old, new) in changes {
                let time = clock.json(time).to_string();
                let (time, name) = (time.trim_matches('"'), cells.cell(name));
                writeln!(out, "{time},{name},{},{}", or_nothing(old), Shown(new))?;
            }
        }
        ParamsFormat::Json => {
            for (_, time, name, old, new) in changes {
                let time = clock.json(time);
                let name = serde_json::to_string(name)?;
                let old = serde_json::to_string(&old.map(Shown))?;
                let new = serde_json::to_string(&Shown(new))?;
                writeln!(
                    out,
                    "{{\"time\":{time},\"name\":{name},\"old\":{old},\"new\":{new}}}"
                )?;
            }
        }
    }
    out.flush()?;
    Ok(())
}
