//! Writing records of other logs into a new one: as they are, none lost.

mod definitions;
mod metadata;
mod names;
#[cfg(test)]
mod tests;
mod types;

use std::io::Write;

use logtool_core::{
    Error, ErrorKind, LogSlice, Record, RecordSink, Result, Source, WriteOptions,
};

use crate::{
    sink::definitions::{Becomes, Opening},
    write::{TopicHandle, Writer},
};

/// Writes records of the topics of some manifests.
pub(crate) struct UlogSink<W> {
    writer: Writer<W>,
    /// The messages before the records, until they are written.
    opening: Vec<(u8, Vec<u8>)>,
    /// Of each extract, what a record of each topic becomes.
    becomes: Vec<Vec<Becomes>>,
    /// The topics by their message ids.
    handles: Vec<TopicHandle>,
    /// Whether it holds all that one log has, by the same names.
    is_whole: bool,
    remarks: Vec<String>,
}

impl<W: Write + Send> UlogSink<W> {
    /// Starts a log in `out` that holds `extracts` of others.
    ///
    /// What the first log says of itself stands; the others add to it what it does not
    /// say. Topics of one name and instance are one topic, if their records are alike.
    /// Parameters that were changed before a cut begins are told as they were then.
    ///
    /// # Errors
    /// `Unsupported` if a log is of another format; if two of them define a type
    /// differently that both need; if two topics of one log would have one name; for
    /// `options` that a ULog cannot follow.
    pub(crate) fn new(
        out: W,
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let unsupported = |what: &'static str| Error::new(ErrorKind::Unsupported, what);
        if options.compression.as_deref().is_some_and(|name| name != "none") {
            return Err(unsupported("a ULog is never compressed"));
        }
        if options.retimed {
            let what = "a ULog has the times of its records in their payloads, which are \
                        copied as they are";
            return Err(unsupported(what));
        }
        let opening = Opening::new(extracts, options)?;
        let mut writer = Writer::new(out, opening.start_micros);
        let handles = (0..opening.topics).map(|id| writer.topic_by_id(id)).collect();
        let Opening { messages: opening, becomes, has_more, remarks, .. } = opening;
        let is_whole = extracts.len() == 1 && options.rename.is_empty() && !has_more;
        Ok(Self { writer, opening, becomes, handles, is_whole, remarks })
    }
}

impl<W: Write + Send> UlogSink<W> {
    /// Writes the messages before the records, unless that is done.
    fn begin(&mut self) -> Result<()> {
        let mut opening = std::mem::take(&mut self.opening).into_iter();
        opening.try_for_each(|(kind, payload)| self.writer.message(kind, &payload))
    }
}

impl<W: Write + Send> RecordSink for UlogSink<W> {
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()> {
        self.begin()?;
        let becomes = self.becomes.get(from);
        let becomes = becomes.and_then(|topics| topics.get(record.topic.index()));
        match becomes {
            Some(Becomes::Data(id)) => {
                let Some(topic) = self.handles.get(usize::from(*id)) else {
                    return Err(unwanted(from, &record));
                };
                let micros = u64::try_from(record.time.as_nanos()).unwrap_or(0) / 1_000;
                self.writer.data(*topic, micros, record.payload).map(drop)
            }
            Some(Becomes::Itself) => match record.payload.split_first() {
                Some((kind, payload)) => self.writer.message(*kind, payload),
                None => {
                    Err(Error::new(ErrorKind::Malformed, "a message without a type"))
                }
            },
            Some(Becomes::Nothing) => Ok(()),
            Some(Becomes::Unwanted) | None => Err(unwanted(from, &record)),
        }
    }

    fn copy_log(&mut self, _: usize, source: &dyn Source) -> Result<bool> {
        if self.is_whole {
            self.opening.clear();
            self.writer.copy(source)?;
        }
        Ok(self.is_whole)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.begin()?;
        self.writer.finish().map(drop)
    }
}

fn unwanted(from: usize, record: &Record<'_>) -> Error {
    let topic = record.topic.0;
    let what = format!("of log {from} no topic number {topic} was asked for");
    Error::new(ErrorKind::NoSuch, what)
}
