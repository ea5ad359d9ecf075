//! Groups lines into panels.

use std::collections::BTreeMap;

use logtool_plot::{Line, Panel, RightAxis};

use crate::error::{Error, Result};

/// A line to draw.
pub(super) struct PlottedLine {
    /// The panel that it was requested for, if there is one.
    pub(super) panel: Option<usize>,
    pub(super) unit: String,
    /// The names of the values, if they are states.
    pub(super) value_names: BTreeMap<i64, String>,
    pub(super) line: Line,
}

/// Returns the panels of `lines`: first one for each unit of those without a requested panel,
/// and then the `count` requested ones.
///
/// # Errors
/// `InvalidRequest` if lines of a requested panel have more than two units.
pub(super) fn group(lines: Vec<PlottedLine>, count: usize) -> Result<Vec<Panel>> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut requested: Vec<Option<Panel>> = vec![None; count];
    for PlottedLine { panel, unit, value_names, line } in lines {
        match panel.and_then(|index| requested.get_mut(index)) {
            Some(panel) => add_requested(panel, unit, value_names, line)?,
            None => add_by_unit(&mut panels, unit, value_names, line),
        }
    }
    panels.extend(requested.into_iter().flatten());
    Ok(panels)
}

/// Adds a line to the panel of `panels` with its unit.
fn add_by_unit(
    panels: &mut Vec<Panel>,
    unit: String,
    value_names: BTreeMap<i64, String>,
    line: Line,
) {
    // States without a unit do not share a panel with measured values.
    let panel = panels.iter_mut().find(|panel| {
        let is_held = panel.lines.first().is_some_and(|line| line.is_held);
        let is_alike = is_held == line.is_held && panel.value_names == value_names;
        panel.unit == unit && is_alike
    });
    match panel {
        Some(panel) => panel.lines.push(line),
        None => {
            panels.push(Panel {
                unit,
                value_names,
                lines: vec![line],
                ..Panel::default()
            });
        }
    }
}

/// Adds a line to a requested panel, on the right if its unit is not that of the first line.
fn add_requested(
    panel: &mut Option<Panel>,
    unit: String,
    value_names: BTreeMap<i64, String>,
    line: Line,
) -> Result<()> {
    let Some(panel) = panel else {
        let lines = vec![line];
        *panel = Some(Panel { unit, value_names, lines, ..Panel::default() });
        return Ok(());
    };
    if panel.unit == unit {
        // Numbers stand for the states of several fields.
        if panel.value_names != value_names {
            panel.value_names.clear();
        }
        panel.lines.push(line);
        return Ok(());
    }
    let new = || RightAxis { unit: unit.clone(), ..RightAxis::default() };
    let right = panel.right.get_or_insert_with(new);
    if right.unit != unit {
        let quote = |unit: &str| match unit {
            "" => "none".to_owned(),
            unit => format!("`{unit}`"),
        };
        let units =
            [&panel.unit, &right.unit, &unit].map(|unit| quote(unit)).join(", ");
        let message = format!(
            "a panel has at most two axes, but these fields have three units: {units}"
        );
        return Err(Error::invalid_request(message)
            .with_hint("divide them into several panels"));
    }
    right.lines.push(line);
    Ok(())
}
