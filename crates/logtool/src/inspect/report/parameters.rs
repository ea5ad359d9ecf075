//! The parameters of a ULog that do not have their default values.

use logtool_core::OpenOptions;
use logtool_plot::{Block, TableRow};
use logtool_ulog::UlogLog;

use crate::{
    error::Result,
    formats::LogFormat,
    inspect::parameters::{ListedParameter, Parameters, ShownValue},
    records::log::Log,
    text::units::count_of,
};

/// Returns a table of the parameters that do not have their default values, or of all if the
/// log states no defaults.
pub(super) fn table(log: &Log) -> Result<Vec<Block>> {
    if LogFormat::from_manifest(log.manifest()) != Some(LogFormat::Ulog) {
        return Ok(Vec::new());
    }
    let ulog = UlogLog::open(log.input().source.clone(), OpenOptions::default())?;
    let (list, has_defaults) = Parameters::non_default(&ulog);
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let row = |listed: &ListedParameter| {
        let default = listed.default_value().map(|value| ShownValue(value).to_string());
        let changes = match listed.parameter.changes.len() {
            0 => String::new(),
            times => count_of(times as u64, "change"),
        };
        let (name, value) = (listed.name.clone(), ShownValue(listed.value).to_string());
        let cells = vec![name, value, default.unwrap_or_default(), changes];
        TableRow { cells, is_warning: false }
    };
    let rows: Vec<TableRow> = list.iter().map(row).collect();
    let count = count_of(rows.len() as u64, "parameter");
    let note = if has_defaults {
        let total = ulog.metadata().parameters.len();
        format!("{count} not at the default, of {total}")
    } else {
        format!("{count}; the log does not say what the defaults are")
    };
    let head = ["name", "value", "default", "while logging"];
    let head = head.map(str::to_owned).to_vec();
    Ok(vec![Block::Note(note), Block::Table(head, rows)])
}
