//! An owned iterator over the text messages of a log.

use std::fmt;

use arrow_array::{
    Array as _, RecordBatch, cast::AsArray as _, types::TimestampNanosecondType,
};
use logtool_core::{
    Block, Columns, Damage, Log as FormatLog, Part, Selection, TimeRange, Timestamp,
};

use crate::{
    error::Result,
    inspect::log_messages::{self, rosout},
    records::{
        log::{Log, PART_BYTES, threads},
        message_text,
        parallel::{OrderedResults, PushResult},
    },
};

/// A text message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogMessage {
    /// The time on the clock of the log, or [`Timestamp::MAX`] if it is unknown.
    pub time: Timestamp,
    /// The name of the level, for example `warning`. See
    /// [`is_urgent`](crate::inspect::log_messages::is_urgent).
    pub level: String,
    /// The name of the ROS node that sent the message. Empty for other messages.
    pub node: String,
    /// The message.
    pub text: String,
}

/// The text messages of a log. Those of one block of the file are sorted by time.
pub struct LogMessages {
    results: OrderedResults<DecodedMessages>,
    messages: std::vec::IntoIter<LogMessage>,
    damage: Vec<Damage>,
}

/// Some messages, and the damage that was found while they were decoded.
struct DecodedMessages {
    messages: Vec<LogMessage>,
    damage: Vec<Damage>,
}

impl Log {
    /// Returns the text messages of the log within `time`: logged strings and events of PX4, or
    /// the messages of ROS nodes. They are decoded by several threads.
    ///
    /// # Errors
    /// If the log has no topic of text messages.
    ///
    /// # Example
    /// ```no_run
    /// use logtool_core::TimeRange;
    ///
    /// for message in logtool::open("flight.ulg")?.log_messages(TimeRange::ALL)? {
    ///     let message = message?;
    ///     println!("{} {}", message.level, message.text);
    /// }
    /// # Ok::<(), logtool::Error>(())
    /// ```
    pub fn log_messages(&self, time: TimeRange) -> Result<LogMessages> {
        let topics = log_messages::require_topics(self.manifest())?.topics;
        let selection = Selection { topics, time };
        let parts = self.manifest().plan(&selection, PART_BYTES);
        let (log, count) = (self.clone(), parts.len());
        let work = move |index: usize, push: PushResult<'_, DecodedMessages>| {
            decode(log.format_log(), &parts[index], &selection, push)
        };
        let results = OrderedResults::new(count, threads(), work);
        Ok(LogMessages {
            results,
            messages: Vec::new().into_iter(),
            damage: Vec::new(),
        })
    }
}

impl LogMessage {
    /// Returns the message with the name of the node before it, if there is one.
    pub fn to_text(&self) -> String {
        rosout::with_node(&self.node, &self.text)
    }
}

impl LogMessages {
    /// Returns the damage that was found so far, in the order of the file.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}

impl Iterator for LogMessages {
    type Item = Result<LogMessage>;

    fn next(&mut self) -> Option<Result<LogMessage>> {
        loop {
            if let Some(message) = self.messages.next() {
                return Some(Ok(message));
            }
            match self.results.next()? {
                Ok(DecodedMessages { messages, damage }) => {
                    self.messages = messages.into_iter();
                    for entry in damage {
                        entry.add_to(&mut self.damage);
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl fmt::Debug for LogMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogMessages").finish_non_exhaustive()
    }
}

/// Decodes the messages of a part of `log`.
fn decode(
    log: &dyn FormatLog,
    part: &Part,
    selection: &Selection,
    push: PushResult<'_, DecodedMessages>,
) -> Result<()> {
    let columns = Columns { time: selection.time, ..Columns::default() };
    let topics = selection.topics.ids(log.manifest().topics.len());
    let mut decoders = Vec::new();
    for id in topics {
        decoders.push((id, log.decoder(id, &columns)?));
    }
    let mut cursor = log.read(part, selection)?;
    let mut block = Block::default();
    while cursor.fill(&mut block)? {
        let (mut messages, mut damage) = (Vec::new(), block.damage().to_vec());
        for run in block.runs() {
            let decoder = decoders.iter_mut().find(|(id, _)| *id == run.topic());
            let Some((_, decoder)) = decoder else { continue };
            decoder.append(run, &mut damage);
            messages.extend(from_batch(&decoder.take()?));
        }
        messages.sort_by_key(|message: &LogMessage| message.time);
        let is_empty = messages.is_empty() && damage.is_empty();
        if !is_empty && !push(DecodedMessages { messages, damage }) {
            break;
        }
    }
    log.source().release(part.bytes.clone());
    Ok(())
}

/// Returns the messages in the rows of `batch`.
fn from_batch(batch: &RecordBatch) -> Vec<LogMessage> {
    let times = batch.columns().first();
    let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
    let time = |row| {
        let times = times.filter(|times| times.is_valid(row));
        times.map_or(Timestamp::MAX, |times| Timestamp::from_nanos(times.value(row)))
    };
    let string = |text: Option<&str>| text.unwrap_or_default().to_owned();
    if let Some((levels, nodes, texts)) = rosout::columns(batch) {
        let columns = levels.iter().zip(nodes).zip(texts).enumerate();
        let message = |(row, ((level, node), text))| LogMessage {
            time: time(row),
            level: string(level),
            node: string(node),
            text: string(text),
        };
        return columns.map(message).collect();
    }
    let Some((levels, texts)) = message_text::columns(batch) else { return Vec::new() };
    let message = |(row, (level, text))| LogMessage {
        time: time(row),
        level: string(level),
        node: String::new(),
        text: string(text),
    };
    levels.iter().zip(&texts).enumerate().map(message).collect()
}
