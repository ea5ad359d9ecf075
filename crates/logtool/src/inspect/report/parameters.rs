//! The parameters of a ULog: those that do not have their default values first.

use logtool_plot::{Block, TableRow};
use logtool_ulog::UlogLog;

use crate::{
    inspect::parameters::{ListedParameter, Parameters, ShownValue, changes_of},
    text::units::count_of,
    time::clock::ShownClock,
};

/// The maximum numbers of parameters in a table and of changes that are listed. PX4 has about 1,100
/// parameters.
const MAX_PARAMETERS: usize = 5000;
const MAX_CHANGES: usize = 1000;

/// Returns a table of the parameters that do not have their default values, or of all if the
/// log states no defaults; the changes while logging; and the other parameters.
pub(super) fn blocks(ulog: &UlogLog, clock: &ShownClock) -> Vec<Block> {
    let (first, others, has_defaults) = Parameters::by_default(ulog);
    if first.is_empty() && others.is_empty() {
        return Vec::new();
    }
    let count = count_of(first.len() as u64, "parameter");
    let note = if has_defaults {
        let total = ulog.metadata().parameters.len();
        format!("{count} not at the default, of {total}")
    } else {
        format!("{count}; the log does not say what the defaults are")
    };
    let mut blocks = vec![Block::Note(note)];
    if !first.is_empty() {
        blocks.extend(table(&first));
    }
    blocks.extend(changes(ulog, clock));
    if !others.is_empty() {
        let count = count_of(others.len() as u64, "parameter");
        let title = format!("{count} at the default");
        blocks.push(Block::Details(title, table(&others)));
    }
    blocks
}

/// Returns a table of parameters, and a note if there are too many.
fn table(list: &[ListedParameter]) -> Vec<Block> {
    let row = |listed: &ListedParameter| {
        let default = listed.default_value().map(|value| ShownValue(value).to_string());
        let changes = match listed.parameter.changes.len() {
            0 => String::new(),
            times => count_of(times as u64, "change"),
        };
        let (name, value) = (listed.name.clone(), ShownValue(listed.value).to_string());
        let cells = vec![name, value, default.unwrap_or_default(), changes];
        TableRow { cells, ..TableRow::default() }
    };
    let head = ["name", "value", "default", "while logging"].map(str::to_owned);
    let rows = list.iter().take(MAX_PARAMETERS).map(row).collect();
    let mut blocks = vec![without_empty_columns(head.to_vec(), rows)];
    blocks.extend(rest_note(list.len(), MAX_PARAMETERS));
    blocks
}

/// Returns a table of the columns of which at least one cell is not empty.
fn without_empty_columns(head: Vec<String>, rows: Vec<TableRow>) -> Block {
    let is_used = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(|cell| !cell.is_empty())
    };
    let used: Vec<bool> = (0..head.len()).map(is_used).collect();
    let select = |cells: Vec<String>| -> Vec<String> {
        let cells = cells.into_iter().zip(&used);
        cells.filter(|(_, used)| **used).map(|(cell, _)| cell).collect()
    };
    let head = select(head);
    let rows = rows.into_iter();
    let rows = rows.map(|row| TableRow { cells: select(row.cells), ..row });
    Block::Table(head, rows.collect())
}

/// Returns a note about the rows of a table beyond the first `shown`.
fn rest_note(count: usize, shown: usize) -> Option<Block> {
    let more = count.saturating_sub(shown);
    (more > 0)
        .then(|| Block::Note(format!("and {more} more, which `logtool params` lists")))
}

/// Returns a table of the changes while logging, if there are any.
fn changes(ulog: &UlogLog, clock: &ShownClock) -> Option<Block> {
    let parameters = ulog.metadata().parameters.iter();
    let changes =
        changes_of(parameters.map(|(name, parameter)| (name.as_str(), parameter)));
    if changes.is_empty() {
        return None;
    }
    let count = count_of(changes.len() as u64, "change");
    let rows = changes.iter().take(MAX_CHANGES).map(|change| {
        let old = change.old.map(|value| ShownValue(value).to_string());
        let cells = vec![
            clock.text(change.time).to_string(),
            change.name.to_owned(),
            old.unwrap_or_default(),
            ShownValue(change.new).to_string(),
        ];
        TableRow { cells, ..TableRow::default() }
    });
    let head = ["time", "name", "old value", "new value"].map(str::to_owned);
    let mut blocks = vec![Block::Table(head.to_vec(), rows.collect())];
    blocks.extend(rest_note(changes.len(), MAX_CHANGES));
    Some(Block::Details(format!("{count} while logging"), blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_omitted() {
        let cells = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let row = |own| TableRow { cells: cells(own), ..TableRow::default() };
        let rows = vec![row(["A", "", "1"]), row(["B", "", ""])];
        let Block::Table(head, rows) =
            without_empty_columns(cells(["name", "default", "value"]), rows)
        else {
            panic!("not a table")
        };
        assert_eq!(head, ["name", "value"]);
        assert_eq!(rows[0].cells, ["A", "1"]);
        assert_eq!(rows[1].cells, ["B", ""]);
    }
}
