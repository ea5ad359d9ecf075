//! The capture format.

use std::sync::Arc;

use logtool_core::{
    Code, Extract, Format, LeftOut, Likeness, Log, Manifest, OpenOptions, Output,
    RecordSink, Result, Source, WriteOptions,
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

    fn likeness(&self, _name: &str, head: &[u8]) -> Likeness {
        match Container::detect(head) {
            Some(_) => Likeness::Certain,
            None => Likeness::No,
        }
    }

    fn is_walked(&self) -> bool {
        true
    }

    fn codes(&self) -> &'static [&'static Code] {
        codes::CODES
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(CaptureLog::open_with(source, options, &self.lidar)?))
    }

    fn resume(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(CaptureLog::resume(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        Ok(Box::new(PcapSink::new(out, extracts, options)?))
    }

    fn leaves_out(&self, extract: &Extract<'_>) -> Vec<LeftOut> {
        sink::leaves_out(extract)
    }
}
