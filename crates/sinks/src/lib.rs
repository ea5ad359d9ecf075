//! Writes the tables of logtool: CSV, JSON Lines, Arrow IPC, Parquet; points as PCD, PLY,
//! KITTI, LAS and LAZ; tracks as KML, GPX and GeoJSON; arrays for NumPy and MATLAB.
//!
//! A sink receives the record batches of [`logtool_core::export_tables`], and writes one file for
//! each topic; [`FileNames`] chooses the names. All files of a run belong to one [`Outputs`]:
//! they appear when all of them are complete, or not at all.
//!
//! ```no_run
//! # use logtool_core::{Log, Result, TableJob, export_tables};
//! use logtool_sinks::{CsvOptions, CsvSink, ExistingFiles, FileNames, NameStyle, Outputs};
//!
//! # fn convert(log: &dyn Log, job: &TableJob<'_>) -> Result<()> {
//! let outputs = Outputs::new("out", ExistingFiles::Refuse);
//! let style = NameStyle::Prefixed("flight".to_owned());
//! let names = FileNames::new(style, &log.manifest().topics);
//! let sink = CsvSink::new(outputs.clone(), names, CsvOptions::default());
//! export_tables(log, job, &sink)?;
//! let written = outputs.commit()?;
//! # Ok(())
//! # }
//! ```

// In reading order: each module uses only those above it.
mod error;
mod provenance;

mod files;

mod text;

#[cfg(test)]
mod testing;

mod row_formats;

mod row_buffers;

mod column_formats;

mod arrays;

mod png;
mod points;
mod tracks;

pub use crate::{
    arrays::{MatSink, NpzSink},
    column_formats::{
        flight_review::{
            Px4Change, Px4Message, Px4Metadata, Px4Position, Px4Sink, Px4TaggedMessage,
            Px4Value,
        },
        ipc::IpcSink,
        parquet::{Floats, ParquetSink},
        spark::{SparkSink, SparkTypes},
    },
    files::{
        background_writer::BackgroundWriter,
        file_name::{FileNames, NameStyle},
        partition::Partition,
        staged_outputs::{AbandonGuard, ExistingFiles, Outputs, StagedFile},
    },
    png::{PngColor, PngImage, WideGray, decode_wide_gray, encode_png},
    points::{
        PointColor, PointFormat, PointLosses, PointOptions, PointSink, PointSurvey,
        PointsPerFile, has_points,
    },
    row_buffers::memory_budget::MemoryBudget,
    row_formats::{
        csv::{CsvOptions, CsvSink},
        json::{JsonColumn, JsonRows},
        json_lines::JsonLinesSink,
    },
    text::infinities::Infinities,
    tracks::{
        Fix, PositionReader, TrackFormat, TrackMode, TrackModes, TrackSink, XmlText,
        position_columns,
    },
};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
