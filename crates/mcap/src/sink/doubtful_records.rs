//! Metadata records that list the messages and attachments with a wrong checksum in the
//! source file: one record for each checksum.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{DoubtfulRecords, LogSlice, Output, Result};

use crate::{metadata_name, write::Writer};

/// The name of the metadata records, without the checksum of their contents.
const RECORD_NAME: &str = "logtool.doubtful";

/// The keys of the metadata records that are not topics.
const SOURCE_BYTES: &str = "source_bytes";
const REASON: &str = "reason";
const ATTACHMENT: &str = "attachment";

/// The notes for the metadata records of a file that is being written.
#[derive(Debug, Default)]
pub(super) struct DoubtfulNotes {
    /// The labels of the topics of each selection.
    topics: Vec<Vec<String>>,
    /// The notes on chunks, by selection and byte range.
    messages: BTreeMap<(usize, u64, u64), BTreeMap<String, String>>,
    attachments: Vec<BTreeMap<String, String>>,
    /// The number of affected messages.
    count: u64,
}

impl DoubtfulNotes {
    pub(super) fn new(slices: &[LogSlice<'_>]) -> Self {
        let labels = |slice: &LogSlice<'_>| {
            let topics = slice.manifest.topics.iter();
            topics.map(|topic| topic.label().into_owned()).collect()
        };
        Self { topics: slices.iter().map(labels).collect(), ..Self::default() }
    }

    /// Adds messages of the selection with the index `slice_index`.
    pub(super) fn add_records(
        &mut self,
        slice_index: usize,
        records: &DoubtfulRecords,
    ) {
        let DoubtfulRecords { bytes, topic, records, time } = records;
        let topics = self.topics.get(slice_index);
        let Some(label) = topics.and_then(|labels| labels.get(topic.index())) else {
            return;
        };
        let key = (slice_index, bytes.start, bytes.end);
        let note = self.messages.entry(key).or_insert_with(|| {
            note(bytes, "the checksum of the chunk does not match its messages")
        });
        let (first, last) = (time.start.as_nanos(), time.end.as_nanos() - 1);
        let noun = if *records == 1 { "message" } else { "messages" };
        note.insert(
            label.clone(),
            format!("{records} {noun}, log_time {first} to {last}"),
        );
        self.count += records;
    }

    /// Adds the attachment `name`, whose record is at `position` of the source file.
    pub(super) fn add_attachment(&mut self, name: String, position: &Range<u64>) {
        let mut note =
            note(position, "the checksum of the attachment does not match its data");
        note.insert(ATTACHMENT.to_owned(), name);
        self.attachments.push(note);
    }

    /// Returns remarks for the user.
    pub(super) fn remarks(&self) -> Vec<String> {
        let messages = (self.count > 0).then(|| {
            let noun = if self.count == 1 { "message" } else { "messages" };
            format!(
                "{} {noun} with a wrong checksum, listed in metadata records called {RECORD_NAME}",
                self.count
            )
        });
        let attachments = self.attachments.iter().filter_map(|note| {
            let name = note.get(ATTACHMENT)?;
            Some(format!(
                "the attachment {name:?} had a wrong checksum and is written without one"
            ))
        });
        messages.into_iter().chain(attachments).collect()
    }

    /// Writes the metadata records.
    pub(super) fn write<W: Output>(&self, writer: &mut Writer<W>) -> Result<()> {
        let notes = self.messages.values().chain(&self.attachments);
        notes.into_iter().try_for_each(|note| {
            writer.metadata(&metadata_name::with_checksum(RECORD_NAME, note), note)
        })
    }
}

/// Creates the metadata record for `bytes` of the source file.
fn note(bytes: &Range<u64>, reason: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (SOURCE_BYTES.to_owned(), format!("{}..{}", bytes.start, bytes.end)),
        (REASON.to_owned(), reason.to_owned()),
    ])
}
