//! Writes the records of other logs to a new log, unchanged.

mod definitions;
mod metadata;
mod names;
#[cfg(test)]
mod tests;
mod types;

use std::io::Write;

use logtool_core::{
    Damage, Error, ErrorKind, LogSlice, Output, Record, RecordSink, Result, Source,
    WriteOptions,
};

use crate::{
    format_state::{FORMAT_NAME, FormatState},
    sink::definitions::{Declarations, RecordTarget},
    write::{TopicHandle, Writer},
};

/// Writes records of the topics of one or several manifests.
pub(crate) struct UlogSink<W> {
    writer: Writer<W>,
    /// The messages before the records; empty after they are written.
    declarations: Vec<(u8, Vec<u8>)>,
    /// For each selection, how the records of each topic are written.
    targets: Vec<Vec<RecordTarget>>,
    /// The topics, indexed by message id.
    handles: Vec<TopicHandle>,
    /// Whether the new log has all contents of a single log, with the same names. A log with
    /// appended sections is written as one section, because some readers lose appended records.
    is_whole: bool,
    remarks: Vec<String>,
    /// For each selection, the records of a wrong length.
    dropped: Vec<Vec<Damage>>,
}

impl<W: Write + Send> UlogSink<W> {
    /// Starts a log in `output` that contains the selections `slices` of other logs.
    ///
    /// The metadata of the first log is kept; the others add what it does not declare.
    /// Topics with the same name and instance become one topic if their types agree. A
    /// parameter that changed before the start of the selected time has its value at
    /// that time.
    ///
    /// # Errors
    /// `Unsupported` if a log has another format; if a type that two logs need has
    /// different definitions; if two topics of one log would have the same name; if
    /// `options` are not supported by ULog.
    pub(crate) fn new(
        output: W,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let unsupported =
            |message: &'static str| Error::new(ErrorKind::Unsupported, message);
        if options.compression.as_deref().is_some_and(|name| name != "none") {
            return Err(unsupported("ULog does not support compression"));
        }
        if options.changes_times {
            let message = "cannot change the times of ULog records: they are in the payloads, \
                        which are copied unchanged";
            return Err(unsupported(message));
        }
        let declarations = Declarations::new(slices, options)?;
        let mut writer = Writer::new(output, declarations.start_micros);
        let handles =
            (0..declarations.topics).map(|id| writer.topic_by_id(id)).collect();
        let Declarations {
            messages: declarations,
            targets,
            adds_information,
            remarks,
            ..
        } = declarations;
        let is_whole = matches!(slices, [slice] if !has_appended_sections(slice)?)
            && options.rename.is_empty()
            && !adds_information;
        let dropped = vec![Vec::new(); slices.len()];
        Ok(Self { writer, declarations, targets, handles, is_whole, remarks, dropped })
    }
}

impl<W: Write + Send> UlogSink<W> {
    /// Writes the messages before the records, if they are not written yet.
    fn write_declarations(&mut self) -> Result<()> {
        let mut declarations = std::mem::take(&mut self.declarations).into_iter();
        declarations.try_for_each(|(kind, payload)| self.writer.message(kind, &payload))
    }
}

impl<W: Output> RecordSink for UlogSink<W> {
    fn write(&mut self, log_index: usize, record: Record<'_>) -> Result<()> {
        self.write_declarations()?;
        let targets = self.targets.get(log_index);
        let targets = targets.and_then(|topics| topics.get(record.topic.index()));
        match targets {
            Some(RecordTarget::Data { id, min_len, max_len }) => {
                let len = u32::try_from(record.payload.len()).unwrap_or(u32::MAX);
                if !(*min_len..=*max_len).contains(&len) {
                    if let Some(dropped) = self.dropped.get_mut(log_index) {
                        record.undecodable_damage().add_to(dropped);
                    }
                    return Ok(());
                }
                let Some(topic) = self.handles.get(usize::from(*id)) else {
                    return Err(unselected_error(log_index, &record));
                };
                let micros = u64::try_from(record.time.as_nanos()).unwrap_or(0) / 1_000;
                self.writer.data(*topic, micros, record.payload).map(drop)
            }
            Some(RecordTarget::Message) => match record.payload.split_first() {
                Some((kind, payload)) => self.writer.message(*kind, payload),
                None => Err(Error::new(ErrorKind::Malformed, "an empty message")),
            },
            Some(RecordTarget::Omitted) => Ok(()),
            Some(RecordTarget::Unselected) | None => {
                Err(unselected_error(log_index, &record))
            }
        }
    }

    fn copy_log(&mut self, _: usize, source: &dyn Source) -> Result<bool> {
        if self.is_whole {
            self.declarations.clear();
            self.writer.copy(source)?;
        }
        Ok(self.is_whole)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn dropped_records(&self, slice_index: usize) -> &[Damage] {
        self.dropped.get(slice_index).map_or(&[], Vec::as_slice)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_declarations()?;
        self.writer.finish().map(drop)
    }
}

/// Returns whether the log of `slice` has appended sections.
fn has_appended_sections(slice: &LogSlice<'_>) -> Result<bool> {
    let state: FormatState = slice.manifest.decode_state(FORMAT_NAME)?;
    Ok(!state.file_header.appended.is_empty())
}

fn unselected_error(log_index: usize, record: &Record<'_>) -> Error {
    let topic = record.topic.0;
    let message = format!("topic {topic} of log {log_index} is not selected");
    Error::new(ErrorKind::NoSuch, message)
}
