//! What there is of a ULog that is open, for all who read in it.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Layout, Manifest, OpenOptions, Part, RecordScanner, Selection, Source, TopicId,
    TopicSet, Value,
};

use crate::{
    built_in::{EVENT_DEFINITIONS, EventLayout, Words},
    cursor::UlogCursor,
    events::Catalog,
    header::Header,
    notes::Notes,
    registry::{Declaration, Registry},
    streams::Streams,
};

/// What there is of a ULog that is open.
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) registry: Registry,
    pub(crate) header: Header,
    pub(crate) options: OpenOptions,
    /// What it takes to put events into words; found out when first needed.
    words: OnceLock<Words>,
}

impl Opened {
    pub(crate) fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        let (registry, header) = notes.replay();
        let (notes, words) = (Arc::new(notes), OnceLock::new());
        Self { source, manifest, notes, registry, header, options, words }
    }

    /// The subscriptions, in the order of the file.
    pub(crate) fn subscriptions(
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

    pub(crate) fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let (mut layouts, mut topics) = (HashMap::new(), TopicSet::EMPTY);
            for (id, topic, _) in self.subscriptions() {
                let declared = self.registry.topics.get(topic.index());
                if let Some(layout) = declared.and_then(EventLayout::of) {
                    layouts.insert(id, layout);
                    topics.insert(topic);
                }
            }
            let values = self.header.info_multiple.get(EVENT_DEFINITIONS);
            let catalog = values.and_then(|values| match values.first()? {
                Value::Bytes(bytes) => Catalog::from_xz(bytes).ok().map(Arc::new),
                _ => None,
            });
            let catalog = catalog.filter(|_| self.notes.built_in.events.is_some());
            Words { catalog, layouts: Arc::new(layouts), topics }
        })
    }

    /// A reader of the records of `part` that `selection` wants.
    pub(crate) fn cursor(&self, part: &Part, selection: &Selection) -> UlogCursor {
        let starts = &self.manifest.parts;
        let index =
            starts.binary_search_by_key(&part.bytes.start, |p| p.bytes.start).ok();
        let walk =
            RecordScanner::new(self.source.clone(), part.bytes.clone(), self.options);
        let built_in = &self.notes.built_in;
        let wants_words = selection.topics.contains(built_in.messages)
            || built_in.events.is_some_and(|topic| selection.topics.contains(topic));
        let words = if wants_words { self.words().clone() } else { Words::default() };
        // No id stands for anything yet: the cursor subscribes as the file does.
        let streams: Streams = self.registry.streams.unsubscribed();
        let notes = self.notes.clone();
        UlogCursor::new(walk, notes, streams, index, selection.clone(), words)
    }
}
