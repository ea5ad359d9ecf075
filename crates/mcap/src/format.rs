//! MCAP as one of the formats.

use std::sync::Arc;

use logtool_core::{
    Code, Extract, Format, Likeness, Log, Manifest, OpenOptions, Output, RecordSink,
    Result, Source, WriteOptions,
};

use crate::{check, log::McapLog, notes::FORMAT_NAME, sink::McapSink, wire};

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

    fn codes(&self) -> &'static [&'static Code] {
        check::CODES
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
        Ok(Box::new(McapLog::open(source, options)?))
    }

    fn resume(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(McapLog::resume(source, manifest, options)?))
    }

    fn writer<'w>(
        &self,
        out: Box<dyn Output + 'w>,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Box<dyn RecordSink + 'w>> {
        Ok(Box::new(McapSink::new(out, extracts, options)?))
    }
}
