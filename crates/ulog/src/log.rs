//! A ULog that is open.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Findings, Inspection, Layout, LayoutDecoder, Log,
    Manifest, OpenOptions, Part, RawDecoder, Result, Selection, Source, TopicId,
};

use crate::{
    built_in::{self, Words},
    check::inspect,
    header::Header,
    notes::{FORMAT_NAME, Notes},
    open_log::Opened,
    survey::survey,
};

/// A ULog that is open: a [`Log`], and what only ULogs say of themselves.
pub struct UlogLog {
    opened: Arc<Opened>,
}

impl UlogLog {
    /// Opens a log, walking over all of it once.
    ///
    /// # Errors
    /// `Unrecognized` if it is no ULog, `Unsupported` if it is an encrypted one or says
    /// that it needs newer readers, `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        let (manifest, notes) = survey(&source, options)?;
        Ok(Self::new(source, Arc::new(manifest), notes, options))
    }

    /// Opens a log of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of a ULog.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let notes: Notes = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        Self { opened: Arc::new(Opened::new(source, manifest, notes, options)) }
    }

    /// What the log says of itself.
    pub fn header(&self) -> &Header {
        &self.opened.header
    }

    /// The subscriptions of the log, in the order of the file: a message id, what it
    /// stands for from there on, and how the records look, if their type is known.
    pub fn subscriptions(
        &self,
    ) -> impl Iterator<Item = (u16, TopicId, Option<&Arc<Layout>>)> {
        self.opened.subscriptions()
    }
}

impl Log for UlogLog {
    fn manifest(&self) -> &Manifest {
        &self.opened.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(self.opened.cursor(part, selection)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(declared) = self.opened.registry.topics.get(topic.index()) {
            return Ok(match &declared.layout {
                Ok(layout) => Box::new(LayoutDecoder::new(layout, columns)?),
                Err(_) => Box::new(RawDecoder::new("us", columns)?),
            });
        }
        let built_in = &self.opened.notes.built_in;
        let words = match topic == built_in.messages || Some(topic) == built_in.events {
            true => self.opened.words().clone(),
            false => Words::default(),
        };
        match built_in::decoder(topic, built_in, columns, words) {
            Some(decoder) => decoder,
            None => Err(self.opened.manifest.get(topic).err().unwrap_or_else(|| {
                logtool_core::Error::new(logtool_core::ErrorKind::NoSuch, "a decoder")
            })),
        }
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        self.opened.registry.topics.get(topic.index())?.layout.as_ref().ok().cloned()
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.opened.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        Ok(Some(Box::new(inspect(&self.opened, findings))))
    }
}

impl fmt::Debug for UlogLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UlogLog").finish_non_exhaustive()
    }
}
