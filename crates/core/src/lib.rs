//! The data model and the traits of all log formats, and the operations on any log.
//!
//! A [`Format`] recognises the bytes of a [`Source`] and opens them as a [`Log`]. The
//! log describes itself in a [`Manifest`] and splits into [`Part`]s that can be read
//! independently. A [`Cursor`] reads one part, [`Block`] by block. A [`Decoder`] turns
//! the records of one topic into Arrow columns, and a sink writes records or tables.
//!
//! ```text
//! Source ─ Format::open ─▶ Log ─ Manifest::plan ─▶ [Part] ─ Log::read ─▶ Cursor
//!                           │                                              │ fill
//!                           └─ Log::decoder ─▶ Decoder ◀─── Run ◀─── Block ◀┘
//!                                                 │
//!                                                 └─ RecordBatch ─▶ TableSink
//! ```
//!
//! Three rules apply to every format, and [`conformance`] checks them:
//!
//! 1. **Corrupt bytes are data, not errors.** A cursor skips what it cannot read and
//!    reports it as [`Damage`] in the block. An [`Error`] means that nothing more can
//!    be read.
//! 2. **A selection saves work and never changes results.** Reading with a
//!    [`Selection`] gives exactly the records that filtering a full read would give.
//! 3. **The parts together are the whole log.** Reading the parts of a plan in order
//!    gives exactly the records of the file in one part, so that threads and machines
//!    can share the work.
//!
//! # Example
//!
//! ```
//! use logtool_core::{Block, Log, Result, Selection};
//!
//! /// Counts the bytes of all payloads in a log, with one block in memory at a time.
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

// In order of dependency: each module uses only those above it.
mod error;

mod model;

mod parallel;

mod io;

mod record;

mod sink;

mod log;

mod decode;

mod operations;

mod log_wrappers;

mod testing;

pub use crate::{
    decode::{
        column_budget::ColumnBudget,
        columns::{
            COUNT_KEY, FIELD_NAME_KEY, LayoutDecoder, TIME_UNIT_KEY, VALUE_NAMES_KEY,
            count_columns, discard_times, time_array, time_field,
        },
        raw_decoder::{RawDecoder, raw_schema},
        tree::{
            Branch, MAX_STRUCT_FIELDS, RowSummary, Scalar, StructType, TreeDecoder,
            TreeReader, ValueType,
        },
        unique_names::UniqueNames,
    },
    error::{Error, ErrorKind, Result, describe_io_error},
    io::{
        byte_reader::ByteReader,
        chunk_limits::{ChunkLimits, FindChunkHeaders},
        decode_text::{TextEncoding, decode_text},
        escaped_text::{TextEscaper, escape_unprintable, is_unprintable},
        output::{Output, append_source},
        output_writer::OutputWriter,
        regular_file::{open_own_file, open_regular_file, special_file_kind},
        source::{FileSource, Source},
        temporary_file::TemporaryFile,
        window_reader::WindowReader,
    },
    log::{
        Columns, Cursor, Decoder, Format, Inspection, Log, MatchConfidence, RowGroup,
        View, open, recognize,
    },
    log_wrappers::{
        payload_log::PayloadLog,
        shifted_log::ShiftedLog,
        translated_log::{
            MessageBuffer, RowTranslator, Translate, TranslatedLog, Translation,
        },
        usable_times::UsableTimesLog,
    },
    model::{
        calendar,
        clock_transform::ClockTransform,
        damage::{Damage, DamageKind},
        excerpt::{Excerpt, damage_within},
        finding::{Finding, FindingCode, Findings, Severity},
        hex,
        id_set::IdSet,
        labels::{
            FieldLabels, IntegerField, Labels, fields_for_constant, integer_constant,
            integer_values,
        },
        layout::{
            FieldRole, Layout, LayoutField, LayoutKind, MAX_LAYOUT_BYTES, Primitive,
            RecordProperties, TrailingBytes,
        },
        log_metadata::{
            ChunkStatistics, CompressionStatistics, DropoutStatistics, MetadataKey,
            SizeDistribution,
        },
        manifest::{LogAccess, Manifest, Part, Selection, TimeMargin},
        open_options::OpenOptions,
        provenance::{Provenance, SourceFile},
        time::{Clock, ClockFit, ClockZero, TimeRange, Timestamp},
        time_base::TimeBase,
        topic::{
            MetadataKeys, PositionUnit, Stream, Topic, TopicContent, TopicId,
            TopicOrigin, TopicSet,
        },
        value::{Json, Value},
    },
    operations::{
        asof::{AsofJob, AsofReport, asof_schema, merge_asof},
        check::{self, check},
        copy::{
            CopyJob, CopyReport, LatchedRecord, MergeJob, Retime, TimeFromField, copy,
            latched_records, merge,
        },
        export_tables::{
            ReadReport, TableJob, TopicStatistics, copy_records, export_tables,
        },
        merge::{Merge, TimeOrder},
        read_ahead::ReadAhead,
    },
    parallel::{reorder_buffer::ReorderBuffer, task_queue::TaskQueue},
    record::{
        block::{Block, Record, Run, TopicSort},
        damaged_range_cursor::DamagedRangeCursor,
        doubtful_records::DoubtfulRecords,
        record_scanner::{RecordScanner, ScanStep},
    },
    sink::{
        Encoder, LogSlice, RecordSink, TableSink, TableWriter, UnsupportedContent,
        WriteOptions,
    },
    testing::conformance,
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
