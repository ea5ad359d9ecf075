//! The implementation of [`Format`] for MCAP.

use std::sync::Arc;

use logtool_core::{
    FindingCode, Format, Log, LogSlice, Manifest, MatchConfidence, OpenOptions, Output,
    RecordSink, Result, Source, Stream, UnsupportedContent, WriteOptions,
};

use crate::{check, format_state::FORMAT_NAME, log::McapLog, sink::McapSink, wire};

/// The format of MCAP files.
pub const FORMAT: Mcap = Mcap;

/// See [`FORMAT`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Mcap;

impl Format for Mcap {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn codes(&self) -> &'static [&'static FindingCode] {
        check::CODES
    }

    fn probe(&self, _name: &str, first_bytes: &[u8]) -> MatchConfidence {
        if first_bytes.starts_with(&wire::MAGIC) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(McapLog::open(source, options)?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(McapLog::open_with_manifest(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        Ok(Box::new(McapSink::new(out, slices, options)?))
    }

    fn unsupported_content(&self, slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        let is_selected =
            |stream: &&Stream| slice.selection.topics.contains(stream.topic);
        let streams = slice.manifest.streams.iter().filter(is_selected);
        let count: u64 = streams.map(Stream::format_specific_fields).sum();
        let fields = if count == 1 { "field" } else { "fields" };
        let message = format!(
            "{count} {fields} of connection headers that are not text, occur twice, or have \
             the name of another field"
        );
        (count > 0)
            .then_some(UnsupportedContent { topic: None, description: message })
            .into_iter()
            .collect()
    }
}
