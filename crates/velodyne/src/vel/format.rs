//! The `.vel` format.

use std::{io::BufWriter, sync::Arc};

use logtool_core::{
    FindingCode, Format, Log, LogSlice, Manifest, MatchConfidence, OpenOptions, Output,
    RecordSink, Result, Source, UnsupportedContent, WriteOptions,
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

    fn probe(&self, _name: &str, first_bytes: &[u8]) -> MatchConfidence {
        if first_bytes.starts_with(&wire::MAGIC) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn codes(&self) -> &'static [&'static FindingCode] {
        codes::CODES
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(VelLog::open_with(source, options, &self.lidar)?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(VelLog::open_with_manifest(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        let out = BufWriter::with_capacity(64 << 10, out);
        if slices.iter().any(import_packets::can_import) {
            Ok(Box::new(PacketImporter::new(out, slices, options)?))
        } else {
            Ok(Box::new(VelSink::new(out, slices, options)?))
        }
    }

    fn unsupported_content(&self, slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
        if slice.manifest.format == FORMAT_NAME {
            Vec::new()
        } else {
            import_packets::unsupported_content(slice)
        }
    }
}
