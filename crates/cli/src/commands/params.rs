//! `logtool params`: prints the parameters of a log, or how those of two logs differ.

use std::io::Write as _;

use logtool::{
    Error, Result,
    error::Context as _,
    parameters::{
        NamedChange, ParameterDiffRequest, ParameterValue, Parameters,
        ParametersRequest, ShownValue,
    },
    units::{Count, count_of, escape_unprintable},
};
use logtool_sinks::{CsvOptions, Infinities};

use crate::{
    args::{DiffFormat, GlobalArgs, ParamsArgs, ParamsCommand, ParamsFormat},
    exit_status::Outcome,
    notices,
    terminal::{self, say},
};

pub(super) fn run(args: &ParamsArgs, global: &GlobalArgs) -> Result<Outcome> {
    if let Some(diff) = &args.command {
        return print_diff(diff, global);
    }
    let file = args.file.as_ref().context("no log was named")?;
    let format = match args.format {
        Some(format) => format,
        None if args.json => ParamsFormat::Json,
        None if terminal::stdout_is_seen() => ParamsFormat::Text,
        None => ParamsFormat::Csv,
    };
    check_csv_safe(args.csv_safe, format == ParamsFormat::Csv, format)?;
    let mut request = ParametersRequest::new(file)
        .with_names(&args.names)
        .with_clock(args.clock.choice())
        .with_strictness(global.strictness());
    if args.initial {
        request = request.with_initial_values();
    }
    if args.non_default {
        request = request.with_non_default_only();
    }
    let parameters = request.run(&global.session)?;
    if args.history {
        print_changes(&parameters, args, format, global)?;
    } else {
        if args.non_default && !parameters.has_defaults && !global.quiet {
            say!("the log does not state the defaults (PX4 states them since v1.12)");
        }
        print_list(&parameters, args, format, global)?;
    }
    Ok(notices::losses(parameters.losses, global.quiet))
}

/// Fails if `--csv-safe` is used with a format other than CSV.
fn check_csv_safe(
    is_used: bool,
    is_csv: bool,
    format: impl clap::ValueEnum,
) -> Result<()> {
    if !is_used || is_csv {
        return Ok(());
    }
    let name = format.to_possible_value();
    let name = name.as_ref().map_or("this format", |name| name.get_name());
    let error =
        Error::invalid_request(format!("{name} has no cells that could be formulas"));
    Err(error.with_hint("--csv-safe goes with --format csv"))
}

/// Notes how many of `values`, which are printed as JSON, are infinities and so `null`.
fn note_infinities(
    parameters: &Parameters,
    values: impl Iterator<Item = ParameterValue>,
    global: &GlobalArgs,
) {
    let is_infinite = |value: &ParameterValue| matches!(value, ParameterValue::Float(float) if float.is_infinite());
    let count = values.filter(is_infinite).count() as u64;
    if let Some(remark) = Infinities::remark(count).filter(|_| !global.quiet) {
        say!("note: {}: {remark}", parameters.log);
    }
}

fn print_list(
    parameters: &Parameters,
    args: &ParamsArgs,
    format: ParamsFormat,
    global: &GlobalArgs,
) -> Result<()> {
    let mut out = terminal::stdout();
    let list = &parameters.list;
    match format {
        ParamsFormat::Text => {
            let width = width(list.iter().map(|listed| listed.name.as_str()));
            for listed in list {
                let (name, value) =
                    (escape_unprintable(&listed.name), ShownValue(listed.value));
                write!(out, "{name:width$}  {value:>12}")?;
                match listed.default_value() {
                    Some(default) if default != listed.value => {
                        write!(out, "   default {}", ShownValue(default))?;
                    }
                    _ => {}
                }
                match listed.parameter.changes.len() {
                    0 => writeln!(out)?,
                    1 => writeln!(out, "   changed once")?,
                    times => writeln!(out, "   changed {times} times")?,
                }
            }
        }
        ParamsFormat::Csv => {
            writeln!(out, "name,type,value,system_default,setup_default")?;
            let cells = cells(args.csv_safe);
            for listed in list {
                let (name, value) =
                    (cells.cell(&listed.name), ShownValue(listed.value));
                let kind = value.type_name();
                let system = or_empty(listed.parameter.system_default);
                let setup = or_empty(listed.parameter.setup_default);
                writeln!(out, "{name},{kind},{value},{system},{setup}")?;
            }
        }
        ParamsFormat::Json => {
            writeln!(out, "{}", serde_json::to_string_pretty(parameters)?)?;
            let values = list.iter().flat_map(|listed| {
                let parameter = &listed.parameter;
                let defaults = [parameter.system_default, parameter.setup_default];
                let changes = parameter.changes.iter().map(|change| change.value);
                let others = [parameter.initial].into_iter().chain(defaults).flatten();
                [listed.value].into_iter().chain(others).chain(changes)
            });
            note_infinities(parameters, values, global);
        }
        ParamsFormat::Qgc => {
            writeln!(out, "# Vehicle-Id\tComponent-Id\tName\tValue\tType")?;
            for listed in list {
                // MAVLink's MAV_PARAM_TYPE_INT32 and MAV_PARAM_TYPE_REAL32.
                let kind = match listed.value {
                    ParameterValue::Int(_) => 6,
                    ParameterValue::Float(_) => 9,
                };
                // Line ends are escaped, so that each parameter is one line.
                let (name, value) =
                    (escape_unprintable(&listed.name), ShownValue(listed.value));
                writeln!(out, "1\t1\t{name}\t{value}\t{kind}")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn print_changes(
    parameters: &Parameters,
    args: &ParamsArgs,
    format: ParamsFormat,
    global: &GlobalArgs,
) -> Result<()> {
    let (changes, clock) = (parameters.changes(), &parameters.clock);
    let mut out = terminal::stdout();
    match format {
        ParamsFormat::Qgc => {
            let what = "a parameter file has no place for changes";
            let hint = "--history goes with --format text, csv or json";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        ParamsFormat::Text => {
            let width = width(changes.iter().map(|change| change.name));
            for NamedChange { time, name, old, new, .. } in changes {
                let (time, name) = (clock.text(time), escape_unprintable(name));
                let (old, new) = (or_empty(old), ShownValue(new));
                writeln!(out, "[{time}] {name:width$}  {old:>12} → {new}")?;
            }
        }
        ParamsFormat::Csv => {
            writeln!(out, "time,name,old,new")?;
            let cells = cells(args.csv_safe);
            for NamedChange { time, name, old, new, .. } in changes {
                let time = clock.json(time).to_string();
                let (time, name) = (time.trim_matches('"'), cells.cell(name));
                writeln!(out, "{time},{name},{},{}", or_empty(old), ShownValue(new))?;
            }
        }
        ParamsFormat::Json => {
            let values = changes
                .iter()
                .flat_map(|change| change.old.into_iter().chain([change.new]));
            note_infinities(parameters, values, global);
            for NamedChange { time, name, old, new, .. } in changes {
                let time = clock.json(time);
                let name = serde_json::to_string(name)?;
                let old = serde_json::to_string(&old.map(ShownValue))?;
                let new = serde_json::to_string(&ShownValue(new))?;
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

fn print_diff(command: &ParamsCommand, global: &GlobalArgs) -> Result<Outcome> {
    let ParamsCommand::Diff { a, b, names, initial, format, csv_safe, json } = command;
    let format =
        format.unwrap_or(if *json { DiffFormat::Json } else { DiffFormat::Text });
    check_csv_safe(*csv_safe, format == DiffFormat::Csv, format)?;
    let mut request = ParameterDiffRequest::new(a, b)
        .with_names(names)
        .with_strictness(global.strictness());
    if *initial {
        request = request.with_initial_values();
    }
    let diff = request.run(&global.session)?;
    let mut out = terminal::stdout();
    match format {
        DiffFormat::Csv => {
            writeln!(out, "name,a,b")?;
            let cells = cells(*csv_safe);
            for difference in &diff.differences {
                let (a, b) = (or_empty(difference.first), or_empty(difference.second));
                writeln!(out, "{},{a},{b}", cells.cell(&difference.name))?;
            }
        }
        DiffFormat::Json => {
            writeln!(out, "{}", serde_json::to_string_pretty(&diff)?)?;
        }
        DiffFormat::Text => {
            let width = width(diff.differences.iter().map(|one| one.name.as_str()));
            let shown = |value: Option<ParameterValue>| match value {
                Some(value) => ShownValue(value).to_string(),
                None => "-".to_owned(),
            };
            for difference in &diff.differences {
                let name = escape_unprintable(&difference.name);
                let (a, b) = (shown(difference.first), shown(difference.second));
                writeln!(out, "{name:width$}  {a:>12}  {b:>12}")?;
            }
        }
    }
    out.flush()?;
    if !global.quiet {
        let all = count_of(diff.compared as u64, "parameter");
        say!("{} of {all} differ", Count(diff.differences.len() as u64));
    }
    Ok(notices::losses(diff.first_losses, global.quiet)
        .max(notices::losses(diff.second_losses, global.quiet)))
}

/// Returns the value as text, or an empty string.
fn or_empty(value: Option<ParameterValue>) -> String {
    value.map_or_else(String::new, |value| ShownValue(value).to_string())
}

/// Returns the width of a column of these names.
fn width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| escape_unprintable(name).chars().count()).max().unwrap_or(0)
}

/// Returns how the cells of CSV are written: without formulas if the output `is_safe`.
fn cells(is_safe: bool) -> CsvOptions {
    let options = CsvOptions::default();
    if is_safe { options.with_marked_formulas() } else { options }
}
