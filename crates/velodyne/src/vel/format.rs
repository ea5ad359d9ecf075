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
        format_state::FORMAT_NAME,
        log::VelLog,
        wire,
        write::{
            import_packets::{self, PacketImporter},
            record_sink::VelSink,
        },
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
    pub const fn with_lidar(lidar: LidarOptions) -> Self {
        Self { lidar }
    }
}

impl Format for Vel {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn likeness(&self, _name: &str, head: &[u8]) -> Likeness {
        if head.starts_with(&wire::MAGIC) { Likeness::Certain } else { Likeness::No }
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
        if extracts.iter().any(import_packets::can_import) {
            Ok(Box::new(PacketImporter::new(out, extracts, options)?))
        } else {
            Ok(Box::new(VelSink::new(out, extracts, options)?))
        }
    }

    fn leaves_out(&self, extract: &Extract<'_>) -> Vec<LeftOut> {
        if extract.manifest.format == FORMAT_NAME {
            Vec::new()
        } else {
            import_packets::leaves_out(extract)
        }
    }
}
