//! The parameters of a log.

use std::{collections::BTreeMap, io::Write as _};

use logtool::{Error, Result, time::clock::ShownClock, units::plain};
use logtool_ulog::{Parameter, ParameterValue, UlogLog};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    args::{GlobalArgs, ParamsArgs, ParamsFormat},
    commands::params::{
        Names, Shown, cells, is_non_default, or_nothing, type_name, value, width,
    },
    terminal::{self, say},
};

/// A parameter as JSON.
#[derive(Serialize)]
struct Report {
    value: Shown,
    r#type: &'static str,
    initial: Option<Shown>,
    system_default: Option<Shown>,
    setup_default: Option<Shown>,
    changes: Vec<Change>,
}

#[derive(Serialize)]
struct Change {
    time: Box<RawValue>,
    value: Shown,
}

/// Writes the parameters of `log`.
pub(super) fn write(
    log: &UlogLog,
    args: &ParamsArgs,
    clock: &ShownClock,
    format: ParamsFormat,
    global: &GlobalArgs,
) -> Result<()> {
    let all = &log.metadata().parameters;
    let names = Names::new(&args.names, all.keys().map(String::as_str))?;
    let wanted = all.iter().filter(|(name, parameter)| {
        names.is_wanted(name)
            && (!args.non_default || is_non_default(parameter, args.initial))
    });
    let shown = wanted.filter_map(|(name, parameter)| {
        Some((name.as_str(), parameter, value(parameter, args.initial)?))
    });
    let shown: Vec<_> = shown.collect();
    let has_defaults =
        all.values().any(|p| p.system_default.or(p.setup_default).is_some());
    if args.non_default && !has_defaults && !global.quiet {
        say!("the log does not say what the defaults are (PX4 does since v1.12)");
    }

    let mut out = terminal::stdout();
    match format {
        ParamsFormat::Text => {
            let names: Vec<String> =
                shown.iter().map(|(name, ..)| plain(name)).collect();
            let width = width(&names);
            for ((_, parameter, value), name) in shown.into_iter().zip(names) {
                write!(out, "{name:width$}  {:>12}", Shown(value))?;
                match parameter.setup_default.or(parameter.system_default) {
                    Some(default) if default != value => {
                        write!(out, "   default {}", Shown(default))?;
                    }
                    _ => {}
                }
                match parameter.changes.len() {
                    0 => writeln!(out)?,
                    1 => writeln!(out, "   changed once")?,
                    times => writeln!(out, "   changed {times} times")?,
                }
            }
        }
        ParamsFormat::Csv => {
            writeln!(out, "name,type,value,system_default,setup_default")?;
            let cells = cells(args.csv_safe);
            for (name, parameter, value) in shown {
                let (name, kind) = (cells.cell(name), type_name(value));
                let system = or_nothing(parameter.system_default);
                let setup = or_nothing(parameter.setup_default);
                writeln!(out, "{name},{kind},{},{system},{setup}", Shown(value))?;
            }
        }
        ParamsFormat::Json => {
            let mut reports = BTreeMap::new();
            for (name, parameter, value) in shown {
                reports.insert(name, Report::new(parameter, value, clock)?);
            }
            let text = serde_json::to_string_pretty(&reports)?;
            writeln!(out, "{text}")?;
        }
        ParamsFormat::Qgc => {
            writeln!(out, "# Vehicle-Id\tComponent-Id\tName\tValue\tType")?;
            for (name, _, value) in shown {
                // The types of MAVLink's PARAM_VALUE: MAV_PARAM_TYPE_INT32, _REAL32.
                let kind = match value {
                    ParameterValue::Int(_) => 6,
                    ParameterValue::Float(_) => 9,
                };
                let name = plain(name); // a line of a file must stay one line
                writeln!(out, "1\t1\t{name}\t{}\t{kind}", Shown(value))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

impl Report {
    fn new(
        parameter: &Parameter,
        value: ParameterValue,
        clock: &ShownClock,
    ) -> Result<Self> {
        let changes = parameter.changes.iter().map(|change| {
            let time = RawValue::from_string(clock.json(change.time).to_string())?;
            Ok::<_, Error>(Change { time, value: Shown(change.value) })
        });
        Ok(Self {
            value: Shown(value),
            r#type: type_name(value),
            initial: parameter.initial.map(Shown),
            system_default: parameter.system_default.map(Shown),
            setup_default: parameter.setup_default.map(Shown),
            changes: changes.collect::<Result<_>>()?,
        })
    }
}
