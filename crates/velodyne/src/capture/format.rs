//! The capture format.

use std::sync::Arc;

use logtool_core::{
    FindingCode, Format, Log, LogSlice, Manifest, MatchConfidence, OpenOptions, Output,
    RecordSink, Result, Source, UnsupportedContent, WriteOptions,
};

use crate::{
    capture::{
        codes,
        container::Container,
        decode::topics,
        log::CaptureLog,
        sink::{self, PcapSink},
    },
    lidar::LidarOptions,
};

/// The format of captures, with default options for lidars: pcap, pcapng, and bare
/// packets.
pub const FORMAT: Capture = Capture { lidar: LidarOptions::new() };

/// The capture format, see [`FORMAT`].
#[derive(Clone, Debug)]
pub struct Capture {
    lidar: LidarOptions,
}

impl Capture {
    /// Creates the format with options for the lidars of its captures.
    pub const fn with_lidar(lidar: LidarOptions) -> Self {
        Self { lidar }
    }
}

impl Format for Capture {
    fn name(&self) -> &'static str {
        topics::FORMAT_NAME
    }

    fn probe(&self, _name: &str, first_bytes: &[u8]) -> MatchConfidence {
        match Container::detect(first_bytes) {
            Some(_) => MatchConfidence::Certain,
            None => MatchConfidence::No,
        }
    }

    fn requires_full_scan(&self) -> bool {
        true
    }

    fn codes(&self) -> &'static [&'static FindingCode] {
        codes::CODES
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(CaptureLog::open_with(source, options, &self.lidar)?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(CaptureLog::open_with_manifest(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        Ok(Box::new(PcapSink::new(out, slices, options)?))
    }

    fn unsupported_content(&self, slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        sink::unsupported_content(slice)
    }
}
