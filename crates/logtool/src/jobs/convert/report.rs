//! The report of a conversion.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    error::Remedy,
    jobs::convert::StaleFiles,
    source::{lidar::LidarWarnings, losses::Findings},
};

/// The report of a [`Convert`](crate::jobs::convert::Convert): the files, their rows, remarks,
/// warnings and losses.
///
/// Requests that always write one log report an [`OutputSummary`](crate::jobs::output::OutputSummary)
/// instead.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConvertReport {
    /// The name of the input.
    pub name: String,
    /// The size of the input in bytes, after decompression.
    pub input_bytes: u64,
    /// The number of tables, of files of tracks, or of tables of images; 0 for a new log.
    pub tables: u64,
    /// The number of rows in all tables.
    pub rows: u64,
    /// The number of rows for each topic, by its name and instance. Empty for images and for
    /// a merged table.
    pub topic_rows: BTreeMap<(String, u32), u64>,
    /// The number of records in a new log; 0 for other outputs.
    pub records: u64,
    /// The files that were written, without the provenance file. Empty for standard output.
    pub files: Vec<OutputFile>,
    /// The file `provenance.json`, which names the input and the command that the other files
    /// are from. Formats that state these themselves have no such file.
    pub provenance_file: Option<OutputFile>,
    /// Remarks about the output, one sentence each.
    pub remarks: Vec<String>,
    /// A setting that helps against a loss that the last remark describes.
    pub remedy: Option<Remedy>,
    /// Warnings about changed or omitted data of a new log, one sentence each. The
    /// [`Progress`](crate::Progress) of the session has received them before the log was
    /// written.
    pub warnings: Vec<String>,
    /// Remarks about changed data of a new log, one sentence each. The session's `Progress` has
    /// received them too.
    pub notes: Vec<String>,
    /// Whether a new MCAP file has messages of ROS 1. Rerun and PlotJuggler 4 read only messages of
    /// ROS 2, see [`ConvertRequest::messages`](crate::convert::ConvertRequest::messages).
    pub has_ros1_messages: bool,
    /// Why nothing was written, or no rows or records, if no record was selected.
    pub empty_reason: Option<String>,
    /// Files of an earlier conversion in the same folders.
    pub stale_files: Vec<StaleFiles>,
    /// Warnings about the lidars that points were computed for.
    pub lidar: LidarWarnings,
    /// The topics whose records cannot be decoded, so that the output has only their bytes,
    /// one sentence each.
    pub raw_topics: Vec<String>,
    /// Whether a ULog has fewer rows, or shorter strings and lists, than the input. The remarks have
    /// the numbers.
    pub is_cut: bool,
    /// The losses and the damage in the input.
    pub losses: Findings,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputFile {
    /// The path; for a destination at a URL, that of the temporary copy.
    pub path: PathBuf,
    /// The size in bytes.
    pub bytes: u64,
}

impl ConvertReport {
    /// Creates the report of a conversion of the log `name` that has written nothing.
    pub(super) fn new(name: &str, input_bytes: u64, losses: Findings) -> Self {
        Self {
            name: name.to_owned(),
            input_bytes,
            tables: 0,
            rows: 0,
            topic_rows: BTreeMap::new(),
            records: 0,
            files: Vec::new(),
            provenance_file: None,
            remarks: Vec::new(),
            has_ros1_messages: false,
            remedy: None,
            warnings: Vec::new(),
            notes: Vec::new(),
            empty_reason: None,
            stale_files: Vec::new(),
            lidar: LidarWarnings::default(),
            raw_topics: Vec::new(),
            is_cut: false,
            losses,
        }
    }

    /// Returns the number of bytes in all files but the provenance file.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
