//! Logs of timestamped records, whatever the file format.
//!
//! A log is opened once and then only read: a [`Format`] recognises the bytes of a
//! [`Source`] and opens a [`Log`]; its [`Manifest`] says what the file holds and how
//! it splits into [`Part`]s; a [`Cursor`] reads one part, a [`Block`] at a time; a
//! [`Decoder`] turns the records of one topic into Arrow columns; a sink takes them.
//!
//! ```text
//! Source ─ Format::open ─▶ Log ─ Manifest::plan ─▶ [Part] ─ Log::read ─▶ Cursor
//!                           │                                              │ fill
//!                           └─ Log::decoder ─▶ Decoder ◀─── Run ◀─── Block ◀┘
//!                                                 │
//!                                                 └─ RecordBatch ─▶ TableSink
//! ```
//!
//! Three rules hold everywhere, and [`conformance`] checks them for every format:
//!
//! 1. **Bad bytes are data, not failure.** A cursor steps over what it cannot read
//!    and reports it as [`Damage`] in the block; an [`Error`] means that nothing more
//!    can come.
//! 2. **Selecting saves work and never changes answers.** Reading with a
//!    [`Selection`] yields exactly what reading all and filtering after would.
//! 3. **The parts are the whole.** Reading a plan's parts in order yields exactly
//!    what reading the file as one part would, so threads and machines may share it.
//!
//! # Example
//!
//! ```
//! use logtool_core::{Block, Log, Result, Selection};
//!
//! /// Counts the bytes of payload in a log, one block in memory at a time.
//! fn payload_bytes(log: &dyn Log) -> Result<usize> {
//!     let (everything, mut block) = (Selection::default(), Block::default());
//!     let mut total = 0;
//!     for part in log.manifest().plan(&everything, u64::MAX) {
//!         let mut cursor = log.read(&part, &everything)?;
//!         while cursor.fill(&mut block)? {
//!             total += block.iter().map(|record| record.payload.len()).sum::<usize>();
//!         }
//!     }
//!     Ok(total)
//! }
//! ```

// In reading order: each module uses only those above it.
mod byte_reader;
mod error;
pub mod hex;
mod in_order;
mod labels;
mod provenance;
mod source;
mod time;
mod topic;
mod value;

mod shift;

mod damage;
mod finding;

mod block;
mod layout;
mod manifest;
mod sink;

mod log;

mod read_ahead;
mod trial_decode;

pub mod check;
mod column_budget;
mod columns;
pub mod conformance;
mod copy;
mod merge;
mod payloads;
mod raw;
mod shifted_log;
mod text;
mod time_base;
mod translated;
mod tree;
mod unique_names;
mod usable;
mod walk;
mod window;

mod damaged_ranges;

mod place;
#[cfg(test)]
mod pools;
mod queue;

mod export_tables;

mod asof;

#[cfg(test)]
mod mock_log;
#[cfg(test)]
mod sample;

pub use crate::{
    asof::{AsofJob, AsofReport, asof_schema, merge_asof},
    block::{Block, Record, Run, TopicSort},
    byte_reader::Cut,
    check::check,
    column_budget::ColumnRoom,
    columns::{
        FIELD_NAME, LayoutDecoder, NAMES, TIME_UNIT, forget_times, time_array,
        time_field,
    },
    copy::{
        Copied, CopyJob, DoubtfulRecords, Held, MergeJob, Restamp, Retime, copy, held,
        merge,
    },
    damage::{Damage, DamageKind},
    damaged_ranges::NextGap,
    error::{Error, ErrorKind, Result},
    export_tables::{Report, Seen, TableJob, drain, to_tables},
    finding::{Code, Finding, Findings, Severity},
    in_order::InOrder,
    labels::{
        FieldLabels, IntegerField, Labels, integer_constant, integer_values, owners,
    },
    layout::{
        FieldRole, Frame, Layout, LayoutField, LayoutKind, MAX_LAYOUT_BYTES, Primitive,
        Tail,
    },
    log::{
        Columns, Cursor, Decoder, Format, Group, Inspection, Likeness, Log,
        OpenOptions, View, open, recognize,
    },
    manifest::{LogAccess, Manifest, Part, Reach, Selection},
    merge::{Merge, TimeOrder},
    payloads::PayloadLog,
    place::Place,
    provenance::{Provenance, SourceFile},
    queue::Queue,
    raw::{RawDecoder, raw_schema},
    read_ahead::ReadAhead,
    shift::Shift,
    shifted_log::MovedLog,
    sink::{
        Encoder, Extract, LeftOut, Output, RecordSink, TableSink, TableWriter,
        WriteOptions,
    },
    source::{FileSource, Source},
    text::text,
    time::{Clock, ClockFit, ClockZero, TimeRange, Timestamp},
    time_base::TimeBase,
    topic::{Stream, Topic, TopicId, TopicOrigin, TopicSet, VALID_ROWS},
    translated::{Messages, RowTranslator, Translate, TranslatedLog, Translation},
    tree::{
        Added, Branch, MAX_SHAPE, Scalar, Shape, StructShape, TreeDecoder, TreeReader,
    },
    unique_names::Names,
    usable::UsableTimes,
    value::{Json, Value},
    walk::{Step, Walk},
    window::Window,
};

/// Its example is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
