//! Writes ULog files, and appends to them.
//!
//! ```text
//! header      55 4C 6F 67 01 12 35  version 1  start u64 µs
//! B           flag bits
//! F I M P Q   definitions: kept back until they end, for B tells of the Qs among them
//! A D L C …   data: each message goes out as it is given, in one write
//! S           in between, twice a second of the log's time
//! ```
//!
//! What is written is checked: names, types, lengths, and that a payload is as long as
//! its format says. Nothing is ever cut to make it fit.

mod append;
mod definitions;
mod logged;
mod message;
mod parameter;
#[cfg(test)]
mod tests;
mod topics;
mod typed;

use std::{collections::BTreeSet, io::Write};

use logtool_core::{Error, ErrorKind, Result, Source};

pub use crate::write::{
    parameter::DefaultOf,
    topics::{Subscription, TopicHandle},
};
use crate::{
    formats::Formats,
    wire::{MAGIC, kind},
    write::topics::Topic,
};

/// The version that is written.
const VERSION: u8 = 1;

/// How much of another log is copied at once.
const COPY: u64 = 1 << 20;

/// The compatible flag that says that there are default parameters.
const COMPAT_DEFAULT_PARAMETERS: u8 = 1;

/// Writes a log, message by message.
///
/// First come the definitions: formats, informations, initial parameters. The first
/// message of another sort ends them. A message that cannot be written as it is given
/// is an error, and leaves the log as it was; only after an error of sort `Io` the log
/// may end within a message.
///
/// The output is written to once for each message, so it should be buffered.
///
/// ```
/// use logtool_ulog::{Level, write::{Subscription, Writer}};
///
/// # fn main() -> logtool_core::Result<()> {
/// let mut log = Writer::new(Vec::new(), 1_000_000);
/// log.format("pot", "uint64_t timestamp;float celsius;")?;
/// log.info_text("sys_name", "kitchen")?;
///
/// let pot = log.subscribe(Subscription::to("pot"))?;
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
    out: W,
    section: Section,
    /// The definitions until they end, then the message that is being put together.
    pending: Vec<u8>,
    formats: Formats,
    topics: Vec<Topic>,
    /// The formats and instances that are subscribed to.
    subscribed: BTreeSet<(String, u8)>,
    next_id: u32,
    /// The time at the last mark that was set because of the time.
    last_sync_micros: Option<u64>,
    /// Whether there is a message with which, to readers, the data begins: a
    /// subscription, a record, or a line.
    has_begun: bool,
}

/// What is being written.
#[derive(Clone, Copy, Debug)]
enum Section {
    /// Nothing has gone out yet, not even the header.
    Definitions {
        start_micros: u64,
        compat: u8,
    },
    Data,
}

impl<W: Write> Writer<W> {
    /// Starts a log at `start_micros`, of which the zero is when the system booted.
    ///
    /// Nothing is written before the definitions end.
    pub fn new(out: W, start_micros: u64) -> Self {
        Self::starting(out, Section::Definitions { start_micros, compat: 0 })
    }

    /// Writes a message as it is.
    ///
    /// Only its length is checked. A definition belongs to the definitions as long as
    /// these last, and so does a message of an unknown kind. What a raw message says,
    /// the writer does not learn: a format that comes this way cannot be subscribed to.
    ///
    /// # Errors
    ///
    /// `Limit` if the payload is longer than 65,535 bytes, `Unsupported` if the kind is
    /// `B`, which the writer makes itself, `Io` if writing fails.
    pub fn message(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        self.put(kind, &[payload])
    }

    /// Writes all bytes of `source`, which is a log, in place of all that was defined.
    pub(crate) fn copy(&mut self, source: &dyn Source) -> Result<()> {
        self.check_definitions_last("another log")?;
        self.section = Section::Data;
        let mut at = 0;
        while at < source.len() {
            let bytes = source.read_at(at..source.len().min(at + COPY))?;
            if bytes.is_empty() {
                return Err(Error::new(ErrorKind::Io, "the file is shorter now").at(at));
            }
            self.out.write_all(&bytes)?;
            source.release(at..at + bytes.len() as u64);
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes what is still missing, and gives the output back.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.end_definitions()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn starting(out: W, section: Section) -> Self {
        Self {
            out,
            has_begun: matches!(section, Section::Data),
            section,
            pending: Vec::new(),
            formats: Formats::default(),
            topics: Vec::new(),
            subscribed: BTreeSet::new(),
            next_id: 0,
            last_sync_micros: None,
        }
    }

    /// Writes the message whose payload is `parts`, one behind the other.
    fn put(&mut self, kind: u8, parts: &[&[u8]]) -> Result<()> {
        if kind == kind::FLAG_BITS {
            return Err(misplaced("flag bits other than the writer's own"));
        }
        let len = message::checked_len(kind, parts)?;
        if message::is_data(kind) {
            self.end_definitions()?;
            self.has_begun |= message::begins_data(kind);
        }
        match &mut self.section {
            Section::Definitions { compat, .. } => {
                if kind == kind::DEFAULT_PARAMETER {
                    *compat |= COMPAT_DEFAULT_PARAMETERS;
                }
                message::append(&mut self.pending, kind, len, parts);
            }
            Section::Data => {
                self.pending.clear();
                message::append(&mut self.pending, kind, len, parts);
                self.out.write_all(&self.pending)?;
            }
        }
        Ok(())
    }

    /// Writes the header, the flag bits and the definitions, unless that is done.
    fn end_definitions(&mut self) -> Result<()> {
        let Section::Definitions { start_micros, compat } = self.section else {
            return Ok(());
        };
        self.section = Section::Data;

        let mut head = Vec::from(MAGIC);
        head.push(VERSION);
        head.extend_from_slice(&start_micros.to_le_bytes());
        let mut flags = [0; 40];
        flags[0] = compat;
        message::append(&mut head, kind::FLAG_BITS, 40, &[&flags]);
        self.out.write_all(&head)?;
        self.out.write_all(&self.pending)?;
        Ok(())
    }

    fn check_definitions_last(&self, what: &str) -> Result<()> {
        match self.section {
            Section::Definitions { .. } => Ok(()),
            Section::Data => Err(misplaced(what)),
        }
    }
}

fn misplaced(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} cannot be written here"))
}
