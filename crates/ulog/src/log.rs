//! An open ULog.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Excerpt, Findings, Inspection, Layout, LayoutDecoder,
    Log, Manifest, Part, RawDecoder, Result, Selection, Source, TopicId,
};

use crate::{
    built_in_topics::{self, EventReader},
    check::inspect,
    declarations::metadata::Metadata,
    excerpt::excerpt,
    format_state::{FORMAT_NAME, FormatState},
    index::build_manifest,
    options::UlogOptions,
    read::{continuation::continuation, open_log::OpenLog},
};

/// An open ULog: an implementation of [`Log`] with access to metadata specific to ULog.
pub struct UlogLog {
    inner: Arc<OpenLog>,
}

impl UlogLog {
    /// Opens a log. This reads the whole file once.
    ///
    /// # Errors
    /// `Unrecognized` if the file is not a ULog, `NeedsKey` if it is encrypted (`Unsupported`
    /// without the feature `decrypt`), `IncompatibleFlag` if it requires a newer reader, `Io` if
    /// reading fails.
    pub fn open(
        source: Arc<dyn Source>,
        options: impl Into<UlogOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let (manifest, format_state) = build_manifest(&source, options.open)?;
        Ok(Self::new(source, Arc::new(manifest), format_state, options))
    }

    /// Opens a log whose manifest is known, without reading the file.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a ULog.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: impl Into<UlogOptions>,
    ) -> Result<Self> {
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, format_state, options.into()))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: FormatState,
        options: UlogOptions,
    ) -> Self {
        Self { inner: Arc::new(OpenLog::new(source, manifest, format_state, options)) }
    }

    /// Returns the information, the parameters and the file header of the log.
    pub fn metadata(&self) -> &Metadata {
        &self.inner.metadata
    }

    /// Returns the start of a ULog that contains the declarations of this log. Messages that are
    /// appended to the file later can be read after these bytes, without the preceding messages of
    /// the file.
    pub fn continuation(&self) -> Vec<u8> {
        continuation(&self.inner.manifest, &self.inner.format_state)
    }

    /// Returns the subscriptions of the log in file order: a message id, the topic that
    /// it refers to from there on, and the layout of the records if their type is
    /// known.
    pub fn subscriptions(
        &self,
    ) -> impl Iterator<Item = (u16, TopicId, Option<&Arc<Layout>>)> {
        self.inner.subscriptions()
    }
}

impl Log for UlogLog {
    fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(self.inner.cursor(part, selection)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(declared) = self.inner.registry.topics.get(topic.index()) {
            return Ok(match &declared.layout {
                Ok(layout) => Box::new(LayoutDecoder::new(layout, columns)?),
                Err(_) => Box::new(RawDecoder::new("us", columns)?),
            });
        }
        let built_in = &self.inner.format_state.built_in;
        let has_events = topic == built_in.messages || Some(topic) == built_in.events;
        let event_reader = if has_events {
            self.inner.event_reader().clone()
        } else {
            EventReader::default()
        };
        match built_in_topics::decoder(topic, built_in, columns, event_reader) {
            Some(decoder) => decoder,
            None => Err(self.inner.manifest.topic(topic).err().unwrap_or_else(|| {
                let message = "the topic has no decoder";
                logtool_core::Error::new(logtool_core::ErrorKind::NoSuch, message)
            })),
        }
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        self.inner.registry.topics.get(topic.index())?.layout.as_ref().ok().cloned()
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        excerpt(&self.inner, selection, parts)
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.inner.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        Ok(Some(Box::new(inspect(&self.inner, findings))))
    }
}

impl fmt::Debug for UlogLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UlogLog").finish_non_exhaustive()
    }
}
