//! Captures as one of the formats.

use std::sync::Arc;

use logtool_core::{Format, Likeness, Log, Manifest, OpenOptions, Result, Source};

use crate::{
    capture::{container::Container, log::CaptureLog, topics},
    lidar::LidarOptions,
};

/// The format of captures: pcap, pcapng, and dumps of bare packets.
pub const FORMAT: Capture = Capture { lidar: LidarOptions::new() };

/// See [`FORMAT`].
#[derive(Clone, Debug)]
pub struct Capture {
    lidar: LidarOptions,
}

impl Capture {
    /// The format, of captures of lidars of which the user knows something.
    pub const fn of(lidar: LidarOptions) -> Self {
        Self { lidar }
    }
}

impl Format for Capture {
    fn name(&self) -> &'static str {
        topics::FORMAT_NAME
    }

    fn likeness(&self, _name: &str, head: &[u8]) -> Likeness {
        match Container::of(head) {
            Some(_) => Likeness::Certain,
            None => Likeness::No,
        }
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
}
