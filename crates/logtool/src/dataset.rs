//! Datasets of many logs, whatever their formats.
//!
//! [`BatchRequest`] converts logs to one dataset; [`IndexRequest`] writes only a catalog of
//! logs, without converting them.
//!
//! A dataset is a folder of this machine or of an object store. Each topic becomes a table
//! `<topic>/log=<name>/part-0.parquet`, with a partition for each log. The folder `_logtool`
//! in it holds the journal, so that another run continues where the last one ended, and the
//! locks of the runs that write. The catalog has a row for each log and topic.
//!
//! The result does not depend on the number of threads, nor on interruptions: names and tables
//! are decided in the order of the paths of the logs.

mod batch;
mod catalog;
mod entry;
#[cfg(feature = "flight")]
mod flight_columns;
mod index;
pub(crate) mod inputs;
mod log_job;
mod log_names;
mod markers;
mod options;
mod patterns;
mod progress;
mod report;
mod schedule;
mod shard;
mod storage;
mod table_survey;
mod tables;

pub use self::{
    batch::BatchRequest,
    catalog::CatalogFormat,
    index::IndexRequest,
    inputs::logs_in_folder,
    progress::{DatasetPlan, DatasetProgress},
    report::{DatasetReport, LogOutcome, LogReport, RemarkSummary},
    shard::Shard,
    table_survey::TableSurvey,
};
