//! The bag format as a [`Format`] of the toolkit.

use std::sync::Arc;

use logtool_core::{
    FindingCode, Format, Log, LogSlice, Manifest, MatchConfidence, OpenOptions, Output,
    RecordSink, Result, Source, UnsupportedContent, WriteOptions,
};

use crate::{
    check::CODES,
    format_state::FORMAT_NAME,
    log::RosbagLog,
    sink::{self, BagSink},
    wire,
};

/// The ROS 1 bag format.
pub const FORMAT: Rosbag = Rosbag;

/// The type of [`FORMAT`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rosbag;

impl Format for Rosbag {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn probe(&self, name: &str, first_bytes: &[u8]) -> MatchConfidence {
        let is_named = name.ends_with(".bag") || name.ends_with(".bag.active");
        if first_bytes.starts_with(wire::MAGIC)
            || first_bytes.starts_with(wire::RECORD_MAGIC)
        {
            MatchConfidence::Certain
        } else if is_named && !first_bytes.is_empty() {
            // The first bytes may be lost, or the file may be a Git LFS pointer to a bag.
            MatchConfidence::Perhaps
        } else {
            MatchConfidence::No
        }
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(RosbagLog::open(source, options.into())?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(RosbagLog::open_with_manifest(source, manifest, options.into())?))
    }

    fn codes(&self) -> &'static [&'static FindingCode] {
        CODES
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        Ok(Box::new(BagSink::new(out, slices, options)?))
    }

    fn unsupported_content(&self, slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        if slice.manifest.format == FORMAT_NAME {
            Vec::new()
        } else {
            sink::unsupported_content(slice.manifest).into_iter().collect()
        }
    }
}
