//! `.vel` as one of the formats.

use std::{io::BufWriter, sync::Arc};

use logtool_core::{
    Extract, Format, Likeness, Log, Manifest, OpenOptions, Output, RecordSink, Result,
    Source, WriteOptions,
};

use crate::vel::{log::VelLog, sink::VelSink, wire};

/// The format of `.vel` logs.
pub const FORMAT: Vel = Vel;

/// See [`FORMAT`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Vel;

impl Format for Vel {
    fn name(&self) -> &'static str {
        "vel"
    }

    fn likeness(&self, _name: &str, head: &[u8]) -> Likeness {
        match head.starts_with(&wire::MAGIC) {
            true => Likeness::Certain,
            false => Likeness::No,
        }
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(VelLog::open(source, options)?))
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
        Ok(Box::new(VelSink::new(BufWriter::new(out), extracts, options)?))
    }
}
