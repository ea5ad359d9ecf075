//! Writes ULog files, and appends to them.
//!
//! ```text
//! header      55 4C 6F 67 01 12 35  version 1  start u64 µs
//! B           flag bits
//! F I M P Q   definitions: buffered until they end, because B declares the Qs among them
//! A D L C …   data: each message is written when it is added, in one write
//! S           in between, twice per second of log time
//! ```
//!
//! The writer checks its input: names, types, lengths, and that a payload has the
//! length of its format. Nothing is truncated to make it fit.

mod append;
mod definitions;
mod log_messages;
mod message;
mod name_checks;
mod parameter;
mod records;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, io::Write};

use logtool_core::{Error, ErrorKind, Output, Result, Source, append_source};

use crate::{
    declarations::formats::Formats,
    wire::{MAGIC, kind},
    write::records::TopicState,
};

pub use crate::write::{
    parameter::DefaultScope,
    records::{Subscription, TopicHandle},
};

/// The number of bytes of another log that are copied at once.
const COPY_BYTES: usize = 16 << 20;

/// The format version of written logs.
const VERSION: u8 = 1;

/// The compatible flag that declares default parameters.
const COMPATIBLE_DEFAULT_PARAMETERS: u8 = 1;

/// Writes a log, message by message.
///
/// A log starts with definitions: formats, information and initial parameters. The
/// first message of another kind ends them. A message that cannot be written is an
/// error and leaves the log unchanged. Only after an error of kind `Io` may the log end
/// within a message.
///
/// There is one write to the output for each message, so the output should be buffered.
///
/// ```
/// use logtool_ulog::{Level, write::{Subscription, Writer}};
///
/// # fn main() -> logtool_core::Result<()> {
/// let mut log = Writer::new(Vec::new(), 1_000_000);
/// log.format("pot", "uint64_t timestamp;float celsius;")?;
/// log.info_text("sys_name", "kitchen")?;
///
/// let pot = log.subscribe(Subscription::new("pot"))?;
/// for (time, celsius) in [(1_000_000_u64, 20.0_f32), (2_000_000, 99.5)] {
///     let payload = [&time.to_le_bytes()[..], &celsius.to_le_bytes()].concat();
///     log.data(pot, time, &payload)?;
/// }
/// log.string(Level::WARNING, 2_100_000, "it boils")?;
/// let bytes = log.finish()?;
/// assert!(bytes.starts_with(b"ULog"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    section: Section,
    /// The definitions until they end, then a buffer for the current message.
    pending: Vec<u8>,
    formats: Formats,
    topics: Vec<TopicState>,
    /// The formats and instances that are subscribed.
    subscribed: BTreeSet<(String, u8)>,
    next_id: u32,
    /// The time of the last automatic sync message.
    last_sync_micros: Option<u64>,
    /// Whether there is a message that ends the definitions for readers: a
    /// subscription, a record or a string.
    has_data: bool,
}

/// The current section of the file.
#[derive(Clone, Copy, Debug)]
enum Section {
    /// Nothing has been written yet, not even the header.
    Definitions {
        start_micros: u64,
        compatible_flags: u8,
    },
    Data,
}

impl<W: Output> Writer<W> {
    /// Writes all bytes of `source`, which is a log, instead of the definitions.
    pub(crate) fn copy(&mut self, source: &dyn Source) -> Result<()> {
        self.check_definitions_last("another log")?;
        self.section = Section::Data;
        for start in (0..source.len()).step_by(COPY_BYTES) {
            let range = start..source.len().min(start + COPY_BYTES as u64);
            append_source(&mut self.output, source, range.clone())?;
            source.release(range);
        }
        Ok(())
    }
}

impl<W: Write> Writer<W> {
    /// Starts a log at `start_micros`, the time since boot in microseconds.
    ///
    /// Nothing is written before the definitions end.
    pub fn new(output: W, start_micros: u64) -> Self {
        Self::with_section(
            output,
            Section::Definitions { start_micros, compatible_flags: 0 },
        )
    }

    /// Writes a message without changes.
    ///
    /// Only its length is checked. While the definitions have not ended, definitions
    /// and messages of unknown types are added to them. The writer does not parse a raw
    /// message: a format that is written this way cannot be subscribed to.
    ///
    /// # Errors
    ///
    /// `Limit` if the payload is longer than 65,535 bytes, `Unsupported` if `kind` is
    /// `B`, which the writer creates itself, `Io` if writing fails.
    pub fn message(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        self.write_message(kind, &[payload])
    }

    /// Writes remaining definitions, flushes, and returns the output.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.end_definitions()?;
        self.output.flush()?;
        Ok(self.output)
    }

    fn with_section(output: W, section: Section) -> Self {
        Self {
            output,
            has_data: matches!(section, Section::Data),
            section,
            pending: Vec::new(),
            formats: Formats::default(),
            topics: Vec::new(),
            subscribed: BTreeSet::new(),
            next_id: 0,
            last_sync_micros: None,
        }
    }

    /// Writes a message with the concatenated payload `parts`.
    fn write_message(&mut self, kind: u8, parts: &[&[u8]]) -> Result<()> {
        if kind == kind::FLAG_BITS {
            return Err(misplaced_error("a flag bits message"));
        }
        let len = message::checked_len(kind, parts)?;
        if message::is_data(kind) {
            self.end_definitions()?;
            self.has_data |= message::ends_definitions(kind);
        }
        match &mut self.section {
            Section::Definitions { compatible_flags, .. } => {
                if kind == kind::DEFAULT_PARAMETER {
                    *compatible_flags |= COMPATIBLE_DEFAULT_PARAMETERS;
                }
                message::append(&mut self.pending, kind, len, parts);
            }
            Section::Data => {
                self.pending.clear();
                message::append(&mut self.pending, kind, len, parts);
                self.output.write_all(&self.pending)?;
            }
        }
        Ok(())
    }

    /// Writes the header, the flag bits and the definitions, if they are not written
    /// yet.
    fn end_definitions(&mut self) -> Result<()> {
        let Section::Definitions { start_micros, compatible_flags } = self.section
        else {
            return Ok(());
        };
        self.section = Section::Data;

        let mut header = Vec::from(MAGIC);
        header.push(VERSION);
        header.extend_from_slice(&start_micros.to_le_bytes());
        let mut flags = [0; 40];
        flags[0] = compatible_flags;
        message::append(&mut header, kind::FLAG_BITS, 40, &[&flags]);
        self.output.write_all(&header)?;
        self.output.write_all(&self.pending)?;
        Ok(())
    }

    fn check_definitions_last(&self, item: &str) -> Result<()> {
        match self.section {
            Section::Definitions { .. } => Ok(()),
            Section::Data => Err(misplaced_error(item)),
        }
    }
}

fn misplaced_error(item: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{item} cannot be written here"))
}
