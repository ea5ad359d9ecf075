//! The `.vel` format.

use std::{io::BufWriter, sync::Arc};

use logtool_core::{
    Code, Extract, Format, LeftOut, Likeness, Log, Manifest, OpenOptions, Output,
    RecordSink, Result, Source, WriteOptions,
};

use crate::{
    lidar::LidarOptions,
    vel::{
        codes,
        import_packets::{self, Adopter},
        log::VelLog,
        notes::FORMAT_NAME,
        sink::VelSink,
        wire,
    },
};

/// The format of `.vel` logs, with default options for lidars.
pub const FORMAT: Vel = Vel { lidar: LidarOptions::new() };

/// The `.vel` format, see [`FORMAT`].
#[derive(Clone, Debug)]
pub struct Vel {
    lidar: LidarOptions,
}

impl Vel {
    /// Creates the format with options for the lidars of its logs.
    pub const fn of(lidar: LidarOptions) -> Self {
        Self { lidar }
    }
}

impl Format for Vel {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn likeness(&self, _name: &str, head: &[u8]) -> Likeness {
        match head.starts_with(&wire::MAGIC) {
            true => Likeness::Certain,
            false => Likeness::No,
        }
    }

    fn codes(&self) -> &'static [&'static Code] {
        codes::CODES
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(VelLog::open_with(source, options, &self.lidar)?))
    }

    fn resume(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(VelLog::resume(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        let out = BufWriter::with_capacity(64 << 10, out);
        match extracts.iter().any(import_packets::takes) {
            true => Ok(Box::new(Adopter::new(out, extracts, options)?)),
            false => Ok(Box::new(VelSink::new(out, extracts, options)?)),
        }
    }

    fn leaves_out(&self, extract: &Extract<'_>) -> Vec<LeftOut> {
        match extract.manifest.format == FORMAT_NAME {
            true => Vec::new(),
            false => import_packets::leaves_out(extract),
        }
    }
}
