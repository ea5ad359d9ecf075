//! Writes the tables of logtool: CSV, JSON Lines, Arrow IPC, Parquet; points as PCD, PLY,
//! KITTI, LAS and LAZ; tracks as KML, GPX and GeoJSON; arrays for NumPy and MATLAB.
//!
//! A sink receives the record batches of [`logtool_core::export_tables`], and writes one file for
//! each topic; [`FileNames`] chooses the names. All files of a run belong to one [`Outputs`]:
//! they appear when all of them are complete, or not at all.
//!
//! ```no_run
//! # use logtool_core::{Log, Result, TableJob, export_tables};
//! use logtool_sinks::{CsvOptions, CsvSink, Existing, FileNames, NameStyle, Outputs};
//!
//! # fn convert(log: &dyn Log, job: &TableJob<'_>) -> Result<()> {
//! let outputs = Outputs::new("out", Existing::Refuse);
//! let style = NameStyle::Prefixed("flight".to_owned());
//! let names = FileNames::new(style, &log.manifest().topics);
//! let sink = CsvSink::new(outputs.clone(), names, CsvOptions::default());
//! export_tables(log, job, &sink)?;
//! let written = outputs.commit()?;
//! # Ok(())
//! # }
//! ```

// In reading order: each module uses only those above it.
mod background_writer;
mod error;
mod file_name;
mod partition;
mod provenance;
mod staged;

mod clock;
mod shortest_decimal;

mod infinities;
mod number_format;

mod number;
mod text_buffer;

#[cfg(test)]
mod testing;

mod json;

mod parallel_rows;

mod csv;
mod jsonl;

mod memory_size;

mod memory_budget;
mod one_dictionary;
mod row_buffer;

mod ipc;
mod parquet;

mod arrays;

mod png;
mod points;
mod px4;
mod spark;
mod tracks;

pub use crate::{
    arrays::{MatSink, NpzSink},
    background_writer::BackgroundWriter,
    csv::{CsvOptions, CsvSink},
    file_name::{FileNames, NameStyle},
    infinities::Infinities,
    ipc::IpcSink,
    json::{JsonColumn, JsonRows},
    jsonl::JsonLinesSink,
    memory_budget::MemoryBudget,
    parquet::{Floats, ParquetSink},
    partition::Partition,
    png::{PngColor, PngImage, encode_png},
    points::{
        PointColor, PointFormat, PointOptions, PointSink, PointsPerFile, has_points,
    },
    px4::{
        Px4Change, Px4Message, Px4Metadata, Px4Position, Px4Sink, Px4TaggedMessage,
        Px4Value,
    },
    spark::SparkSink,
    staged::{AbandonGuard, Existing, Outputs, StagedFile},
    tracks::{
        Fix, PositionReader, TrackFormat, TrackMode, TrackModes, TrackSink,
        position_columns,
    },
};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
