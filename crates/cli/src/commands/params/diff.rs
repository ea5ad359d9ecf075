//! `logtool params diff`: the parameters that two logs do not have in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::PathBuf,
};

use logtool::{
    Result,
    units::{counted, plain},
};
use logtool_sinks::CsvOptions;
use logtool_ulog::{ParameterValue, UlogLog};
use serde::Serialize;

use crate::{
    args::{GlobalArgs, ParamsFormat},
    commands::params::{Names, Shown, open, or_nothing, value, width},
    exit_status::Outcome,
    notices,
    terminal::{self, say},
};

/// A parameter in two logs.
#[derive(Serialize)]
struct Difference {
    a: Option<Shown>,
    b: Option<Shown>,
}

/// Writes the parameters of which the values differ, or which only one log has.
pub(super) fn run(
    files: [&PathBuf; 2],
    globs: &[String],
    initial: bool,
    format: ParamsFormat,
    cells: CsvOptions,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let (a, a_findings) = open(files[0], global)?;
    let (b, b_findings) = open(files[1], global)?;
    let (a, b) = (values(&a, initial), values(&b, initial));
    let all: BTreeSet<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    let wanted = Names::new(globs, all.iter().copied())?;
    let names: BTreeSet<&str> =
        all.into_iter().filter(|name| wanted.is_wanted(name)).collect();
    let mut differences = BTreeMap::new();
    for name in &names {
        let (a, b) = (a.get(*name).copied(), b.get(*name).copied());
        if !is_same(a, b) {
            differences.insert(*name, Difference { a: a.map(Shown), b: b.map(Shown) });
        }
    }

    let mut out = terminal::stdout();
    let shown = |value: Option<Shown>| or_nothing(value.map(|value| value.0));
    match format {
        ParamsFormat::Json => {
            writeln!(out, "{}", serde_json::to_string_pretty(&differences)?)?;
        }
        ParamsFormat::Csv => {
            writeln!(out, "name,a,b")?;
            for (name, Difference { a, b }) in &differences {
                writeln!(out, "{},{},{}", cells.cell(name), shown(*a), shown(*b))?;
            }
        }
        _ => {
            let names: Vec<String> =
                differences.keys().map(|name| plain(name)).collect();
            let width = width(&names);
            for (Difference { a, b }, name) in differences.values().zip(names) {
                let [a, b] = [a, b].map(|value| match value {
                    Some(_) => shown(*value),
                    None => "-".to_owned(),
                });
                writeln!(out, "{name:width$}  {a:>12}  {b:>12}")?;
            }
        }
    }
    out.flush()?;
    if !global.quiet {
        let all = counted(names.len() as u64, "parameter");
        say!("{} of {all} differ", differences.len());
    }
    Ok(notices::losses(a_findings, global.quiet)
        .max(notices::losses(b_findings, global.quiet)))
}

fn values(log: &UlogLog, initial: bool) -> BTreeMap<String, ParameterValue> {
    let parameters = log.metadata().parameters.iter();
    parameters
        .filter_map(|(name, parameter)| {
            Some((name.clone(), value(parameter, initial)?))
        })
        .collect()
}

/// Whether two values are the same, bit by bit: NaN is itself.
fn is_same(a: Option<ParameterValue>, b: Option<ParameterValue>) -> bool {
    match (a, b) {
        (Some(ParameterValue::Float(a)), Some(ParameterValue::Float(b))) => {
            a.to_bits() == b.to_bits()
        }
        (a, b) => a == b,
    }
}
