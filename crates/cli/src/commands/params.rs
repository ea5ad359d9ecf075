//! `logtool params`: the parameters of a log, or how those of two differ.

mod diff;
mod history;
mod list;

use std::{fmt, path::Path};

use logtool::{
    Error, Result, error::Context as _, input::open, losses::Findings,
    selection::Pattern, suggest, time::clock::ShownClock,
};
use logtool_core::Log as _;
use logtool_sinks::CsvOptions;
use logtool_ulog::{Parameter, ParameterValue, UlogLog};
use serde::{Serialize, Serializer};

use crate::{
    args::{GlobalArgs, ParamsArgs, ParamsCommand, ParamsFormat},
    exit_status::Outcome,
    notices, terminal,
};

pub(super) fn run(args: &ParamsArgs, global: &GlobalArgs) -> Result<Outcome> {
    if let Some(diff) = &args.command {
        let ParamsCommand::Diff { a, b, names, initial, csv, csv_safe, json } = diff;
        let format = match (csv, json) {
            (true, _) => ParamsFormat::Csv,
            (_, true) => ParamsFormat::Json,
            _ => ParamsFormat::Text,
        };
        let cells = cells(*csv_safe);
        return diff::run([a, b], names, *initial, format, cells, global);
    }
    let file = args.file.as_ref().context("no log was named")?;
    let (log, findings) = open(file, global)?;
    let clock = ShownClock::new(log.manifest(), args.clock.choice());
    let clock = clock.with_context(|| file.display().to_string())?;
    let format = match args.format {
        Some(format) => format,
        None if args.json => ParamsFormat::Json,
        None if terminal::stdout_is_seen() => ParamsFormat::Text,
        None => ParamsFormat::Csv,
    };
    if args.history {
        history::write(&log, args, &clock, format)?;
    } else {
        list::write(&log, args, &clock, format, global)?;
    }
    Ok(notices::losses(findings, global.quiet))
}

/// The log at `path`, and what of it is lost.
fn open(path: &Path, global: &GlobalArgs) -> Result<(UlogLog, Findings)> {
    let (input, log) = open::open_ulog(path, &global.session, "parameters")?;
    let mut findings = Findings::of(&input, log.manifest());
    findings.check(global.strict)?;
    Ok((log, findings))
}

/// The patterns of names that were typed; without any, all parameters are wanted.
struct Names(Vec<Pattern>);

impl Names {
    /// Parses `globs`. Returns an error if one of them matches none of `names`.
    fn new<'n>(
        globs: &[String],
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<Self> {
        let mut patterns = Vec::new();
        for glob in globs {
            let pattern = Pattern::new(&glob.to_uppercase())?;
            if !names.clone().any(|name| pattern.is_match(&name.to_uppercase())) {
                let what = format!("the log has no parameter `{glob}`");
                let hint = "`logtool params` without names lists all";
                let hint = suggest::hint(glob, names, hint);
                return Err(Error::not_found(what).with_hint(hint));
            }
            patterns.push(pattern);
        }
        Ok(Self(patterns))
    }

    fn is_wanted(&self, name: &str) -> bool {
        let name = name.to_uppercase();
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.is_match(&name))
    }
}

/// The value of `parameter`: the first, or the last.
fn value(parameter: &Parameter, initial: bool) -> Option<ParameterValue> {
    if initial { parameter.initial } else { Some(parameter.value) }
}

/// Whether that value is not the default, as far as the log says.
pub(super) fn is_non_default(parameter: &Parameter, initial: bool) -> bool {
    let default = parameter.setup_default.or(parameter.system_default);
    default.is_some() && default != value(parameter, initial)
}

/// A value as text or JSON: an integer, or a float in as few digits as tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shown(pub(super) ParameterValue);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ParameterValue::Int(value) => f.pad(&value.to_string()),
            // Without an exponent, and with a point: so it is seen to be a float.
            ParameterValue::Float(value) if value.fract() == 0.0 => {
                f.pad(&format!("{value:.1}"))
            }
            ParameterValue::Float(value) => f.pad(&value.to_string()),
        }
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ParameterValue::Int(value) => out.serialize_i32(value),
            ParameterValue::Float(value) => out.serialize_f32(value),
        }
    }
}

/// A value that may be missing, as text.
pub(super) fn or_nothing(value: Option<ParameterValue>) -> String {
    value.map_or_else(String::new, |value| Shown(value).to_string())
}

/// The width of the column of `names`.
fn width(names: &[String]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

/// Returns how cells of CSV are written, where `is_safe` asks for no formulas.
fn cells(is_safe: bool) -> CsvOptions {
    let options = CsvOptions::default();
    if is_safe { options.without_formulas() } else { options }
}

fn type_name(value: ParameterValue) -> &'static str {
    match value {
        ParameterValue::Int(_) => "int32",
        ParameterValue::Float(_) => "float",
    }
}
