//! The messages and events of a log as a table.

use logtool_core::{Damage, TimeRange, Timestamp};
use logtool_plot::{Block, TableRow};

use crate::{
    error::Result,
    inspect::log_messages::{self, LevelChoice, LogMessage},
    records::{log::Log, message_text},
    text::units::count_of,
    time::clock::ShownClock,
};

/// The maximum number of messages that are shown.
const MAX_MESSAGES: usize = 5000;

/// Returns a table of the messages within `time`, with times on `clock`, and adds the damage
/// that is found to `damage`.
pub(super) fn table(
    log: &Log,
    time: TimeRange,
    clock: &ShownClock,
    damage: &mut Vec<Damage>,
) -> Result<Vec<Block>> {
    if log_messages::topics(log.manifest()).is_none() {
        return Ok(Vec::new());
    }
    let mut messages = log.log_messages(time)?;
    let mut shown: Vec<(Timestamp, TableRow)> = Vec::new();
    let mut more = 0_u64;
    for message in &mut messages {
        let message = message?;
        if shown.len() < MAX_MESSAGES {
            shown.push((message.time, row(&message, clock)));
        } else {
            more += 1;
        }
    }
    damage.extend_from_slice(messages.damage());
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    shown.sort_by_key(|(time, _)| *time);
    let rows = shown.into_iter().map(|(_, row)| row).collect();
    let head = ["time", "level", "message"].map(str::to_owned).to_vec();
    let mut blocks = vec![Block::Table(head, rows)];
    if more > 0 {
        blocks.push(Block::Note(format!("and {} more", count_of(more, "message"))));
    }
    Ok(blocks)
}

fn row(message: &LogMessage, clock: &ShownClock) -> TableRow {
    let time = message_text::shown_time(clock, message.time).to_string();
    let level = message_text::short_level(&message.level);
    let text = message_text::shown_text(&message.to_text());
    let is_warning = message_text::is_urgent(&message.level, LevelChoice::Warning);
    TableRow { cells: vec![time, level, text], is_warning, ..TableRow::default() }
}
