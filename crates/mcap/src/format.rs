//! MCAP as one of the formats.

use std::sync::Arc;

use logtool_core::{
    Code, Extract, Format, LeftOut, Likeness, Log, Manifest, OpenOptions, Output,
    RecordSink, Result, Source, Stream, Value, WriteOptions,
};

use crate::{check, log::McapLog, notes::FORMAT_NAME, sink::McapSink, wire};

/// Of how many things that a stream says of itself words tell nothing: as bags tell.
const UNKEPT: &str = "fields_unkept";

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

    fn leaves_out(&self, extract: &Extract<'_>) -> Vec<LeftOut> {
        let wanted = |stream: &&Stream| extract.selection.topics.contains(stream.topic);
        let streams = extract.manifest.streams.iter().filter(wanted);
        let unkept = |stream: &Stream| match stream.metadata.get(UNKEPT) {
            Some(Value::UInt(count)) => *count,
            _ => 0,
        };
        let count: u64 = streams.map(unkept).sum();
        let fields = if count == 1 { "field" } else { "fields" };
        let what = format!(
            "{count} {fields} of connection headers: no texts, twice there, or called as \
             others are"
        );
        (count > 0).then_some(LeftOut { topic: None, what }).into_iter().collect()
    }
}
