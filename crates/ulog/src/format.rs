//! The implementation of [`Format`] for ULog.

use std::{io::BufWriter, sync::Arc};

use logtool_core::{
    FindingCode, Format, Log, LogSlice, Manifest, MatchConfidence, OpenOptions, Output,
    RecordSink, Result, Source, WriteOptions,
};

use crate::{
    check::CODES, format_state::FORMAT_NAME, log::UlogLog, sink::UlogSink,
    topics::resync, wire,
};

/// The format of PX4's logs.
pub const FORMAT: Ulog = Ulog;

/// See [`FORMAT`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ulog;

impl Format for Ulog {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn probe(&self, _name: &str, head: &[u8]) -> MatchConfidence {
        // Encrypted logs are recognized too: opening one returns an error with
        // instructions.
        let is_ulog = head.starts_with(&wire::MAGIC)
            || head.starts_with(wire::ENCRYPTED_MAGIC)
            || resync::without_header(head).is_some();
        if is_ulog { MatchConfidence::Certain } else { MatchConfidence::No }
    }

    fn requires_full_scan(&self) -> bool {
        true
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(UlogLog::open(source, options)?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        Ok(Box::new(UlogLog::open_with_manifest(source, manifest, options)?))
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
        Ok(Box::new(UlogSink::new(
            BufWriter::with_capacity(64 << 10, out),
            slices,
            options,
        )?))
    }
}
