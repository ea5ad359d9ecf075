//! Summaries of outputs.

use std::path::PathBuf;

use logtool_core::{Clock, Manifest, TopicSet};

use crate::{
    source::{
        lidar,
        session::{NoticeLevel, Session},
    },
    time::clock,
};

/// A summary of a new log that a request has written: its path, its size and remarks on it.
///
/// [`Filter`](crate::jobs::filter::Filter), [`Merge`](crate::jobs::merge::Merge) and
/// [`Repair`](crate::jobs::repair::Repair) always write one log. A conversion may write many files, or
/// none, and counts tables and rows: its report is the separate type
/// [`ConvertReport`](crate::jobs::convert::ConvertReport).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSummary {
    /// The path or the URL of the output.
    pub path: PathBuf,
    /// The number of records that were written.
    pub records: u64,
    /// The size of the output in bytes.
    pub bytes: u64,
    /// The size of the inputs in bytes, after decompression.
    pub input_bytes: u64,
    /// Remarks on the output, one sentence each.
    pub remarks: Vec<String>,
    /// Warnings that were found before the output was written, each with the name of the log
    /// that it is about. The [`Progress`](crate::Progress) of the session has received them
    /// too.
    pub warnings: Vec<String>,
}

impl OutputSummary {
    /// Creates the summary of the output at `path`, to which nothing was written.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Adds warnings about the log called `name`, and passes them on.
    pub(crate) fn warn(&mut self, session: &Session, name: &str, texts: &[String]) {
        for text in texts {
            session.progress.notice(NoticeLevel::Warning, name, text);
            self.warnings.push(format!("{name}: {text}"));
        }
    }

    /// Adds the warning that no record of the log called `name` was selected, and passes it on.
    pub(crate) fn warn_of_empty_selection(
        &mut self,
        session: &Session,
        name: &str,
        clock: &Clock,
    ) {
        let text = clock::empty_selection(clock);
        session.progress.notice(NoticeLevel::Selection, name, &text);
        self.warnings.push(format!("{name}: {text}"));
    }

    /// Adds warnings about the lidars whose points are among `topics` of the log called `name`,
    /// and passes them on.
    pub(crate) fn warn_of_lidars(
        &mut self,
        session: &Session,
        name: &str,
        manifest: &Manifest,
        topics: &TopicSet,
    ) {
        let found = lidar::warnings(manifest, topics);
        self.warn(session, name, &found.warnings);
        found.remedies.iter().for_each(|remedy| session.progress.remedy(remedy));
    }
}
