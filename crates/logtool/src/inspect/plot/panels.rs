//! Groups lines into panels.

use logtool_plot::{Line, Panel, RightAxis};

use crate::error::{Error, Result};

/// A line to draw.
pub(super) struct PlottedLine {
    /// The panel that it was requested for, if there is one.
    pub(super) panel: Option<usize>,
    pub(super) unit: String,
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
    for PlottedLine { panel, unit, line } in lines {
        match panel.and_then(|index| requested.get_mut(index)) {
            Some(panel) => add_requested(panel, unit, line)?,
            None => add_by_unit(&mut panels, unit, line),
        }
    }
    panels.extend(requested.into_iter().flatten());
    Ok(panels)
}

/// Adds a line to the panel of `panels` with its unit.
fn add_by_unit(panels: &mut Vec<Panel>, unit: String, line: Line) {
    // States without a unit share a panel neither with measured values nor with other states.
    let panel = panels.iter_mut().find(|panel| {
        panel.unit == unit
            && panel.lines.first().is_some_and(|first| {
                first.is_held == line.is_held && first.value_names == line.value_names
            })
    });
    match panel {
        Some(panel) => panel.lines.push(line),
        None => panels.push(Panel { unit, lines: vec![line], ..Panel::default() }),
    }
}

/// Adds a line to a requested panel, on the right if its unit is not that of the first line.
fn add_requested(panel: &mut Option<Panel>, unit: String, line: Line) -> Result<()> {
    let Some(panel) = panel else {
        *panel = Some(Panel { unit, lines: vec![line], ..Panel::default() });
        return Ok(());
    };
    if panel.unit == unit {
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
