//! A ULog that is open.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Columns, Cursor, Decoder, Findings, Layout, LayoutDecoder, Log, Manifest,
    OpenOptions, Part, RawDecoder, Result, Selection, Source, TopicId, TopicSet, Value,
    Walk,
};

use crate::{
    built_in::{self, EVENT_DEFINITIONS, EventLayout, Words},
    check::{Checked, check},
    cursor::UlogCursor,
    events::Catalog,
    header::Header,
    notes::{FORMAT_NAME, Notes},
    registry::{Declaration, Registry},
    streams::Streams,
    survey::survey,
};

/// A ULog that is open: a [`Log`], and what only ULogs say of themselves.
pub struct UlogLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    notes: Arc<Notes>,
    registry: Registry,
    header: Header,
    options: OpenOptions,
    /// What it takes to put events into words; found out when first needed.
    words: OnceLock<Words>,
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
    pub fn resume(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let notes: Notes = manifest.noted(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        let (registry, header) = notes.replay();
        let (notes, words) = (Arc::new(notes), OnceLock::new());
        Self { source, manifest, notes, registry, header, options, words }
    }

    /// What the log says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The subscriptions of the log, in the order of the file: a message id, what it
    /// stands for from there on, and how the records look, if their type is known.
    pub fn subscriptions(
        &self,
    ) -> impl Iterator<Item = (u16, TopicId, Option<&Arc<Layout>>)> {
        self.notes.declarations.iter().filter_map(|declaration| {
            let Declaration::Subscription { id, topic, .. } = declaration else {
                return None;
            };
            let declared = self.registry.topics.get(topic.index())?;
            Some((*id, *topic, declared.layout.as_ref().ok()))
        })
    }

    fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let (mut layouts, mut topics) = (HashMap::new(), TopicSet::EMPTY);
            for (id, topic, _) in self.subscriptions() {
                let declared = self.registry.topics.get(topic.index());
                if let Some(layout) = declared.and_then(EventLayout::of) {
                    layouts.insert(id, layout);
                    topics.insert(topic);
                }
            }
            let values = self.header().info_multiple.get(EVENT_DEFINITIONS);
            let catalog = values.and_then(|values| match values.first()? {
                Value::Bytes(bytes) => Catalog::from_xz(bytes).ok().map(Arc::new),
                _ => None,
            });
            let catalog = catalog.filter(|_| self.notes.built_in.events.is_some());
            Words { catalog, layouts: Arc::new(layouts), topics }
        })
    }
}

impl Log for UlogLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let starts = &self.manifest.parts;
        let index =
            starts.binary_search_by_key(&part.bytes.start, |p| p.bytes.start).ok();
        let walk = Walk::new(self.source.clone(), part.bytes.clone(), self.options);
        let built_in = &self.notes.built_in;
        let wants_words = selection.topics.contains(built_in.messages)
            || built_in.events.is_some_and(|topic| selection.topics.contains(topic));
        let words = if wants_words { self.words().clone() } else { Words::default() };
        // No id stands for anything yet: the cursor subscribes as the file does.
        let streams: Streams = self.registry.streams.unsubscribed();
        let notes = self.notes.clone();
        let selection = selection.clone();
        Ok(Box::new(UlogCursor::new(walk, notes, streams, index, selection, words)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(declared) = self.registry.topics.get(topic.index()) {
            return Ok(match &declared.layout {
                Ok(layout) => Box::new(LayoutDecoder::new(layout, columns)?),
                Err(_) => Box::new(RawDecoder::new("us", columns)?),
            });
        }
        let built_in = &self.notes.built_in;
        let words = match topic == built_in.messages || Some(topic) == built_in.events {
            true => self.words().clone(),
            false => Words::default(),
        };
        match built_in::decoder(topic, built_in, columns, words) {
            Some(decoder) => decoder,
            None => Err(self.manifest.get(topic).err().unwrap_or_else(|| {
                logtool_core::Error::new(logtool_core::ErrorKind::NoSuch, "a decoder")
            })),
        }
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        self.registry.topics.get(topic.index())?.layout.as_ref().ok().cloned()
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let Self { source, manifest, notes, registry, options, .. } = self;
        check(
            &Checked { source, manifest, notes, registry, options: *options },
            findings,
        )
    }
}

impl fmt::Debug for UlogLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UlogLog").finish_non_exhaustive()
    }
}
