//! The data of an open ULog, shared by all of its readers.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Layout, Manifest, Part, RecordScanner, Selection, Source, TopicId, TopicSet, Value,
};

use crate::{
    built_in_topics::{EVENT_DEFINITIONS, EventLayout, EventReader},
    declarations::metadata::Metadata,
    events::Catalog,
    format_state::FormatState,
    options::UlogOptions,
    read::cursor::UlogCursor,
    topics::{
        declaration_index::DeclarationIndex,
        registry::{Declaration, Registry},
        streams::Streams,
    },
};

/// The data of an open ULog.
pub(crate) struct OpenLog {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) format_state: Arc<FormatState>,
    pub(crate) registry: Registry,
    pub(crate) metadata: Metadata,
    pub(crate) options: UlogOptions,
    /// Everything needed to decode events; computed when first needed.
    event_reader: OnceLock<EventReader>,
    /// An index of the declarations; computed when first needed.
    declaration_index: OnceLock<DeclarationIndex>,
}

impl OpenLog {
    pub(crate) fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: FormatState,
        options: UlogOptions,
    ) -> Self {
        let (registry, metadata) = format_state.replay();
        let format_state = Arc::new(format_state);
        Self {
            source,
            manifest,
            format_state,
            registry,
            metadata,
            options,
            event_reader: OnceLock::new(),
            declaration_index: OnceLock::new(),
        }
    }

    /// Returns the subscriptions in file order.
    pub(crate) fn subscriptions(
        &self,
    ) -> impl Iterator<Item = (u16, TopicId, Option<&Arc<Layout>>)> {
        self.format_state.declarations.iter().filter_map(|declaration| {
            let Declaration::Subscription { id, topic, .. } = declaration else {
                return None;
            };
            let declared = self.registry.topics.get(topic.index())?;
            Some((*id, *topic, declared.layout.as_ref().ok()))
        })
    }

    pub(crate) fn declaration_index(&self) -> &DeclarationIndex {
        let declarations = &self.format_state.declarations;
        self.declaration_index.get_or_init(|| DeclarationIndex::new(declarations))
    }

    pub(crate) fn event_reader(&self) -> &EventReader {
        self.event_reader.get_or_init(|| {
            let (mut layouts, mut topics) = (HashMap::new(), TopicSet::EMPTY);
            for (id, topic, _) in self.subscriptions() {
                let declared = self.registry.topics.get(topic.index());
                if let Some(layout) = declared.and_then(EventLayout::for_topic) {
                    layouts.insert(id, layout);
                    topics.insert(topic);
                }
            }
            let values = self.metadata.info_multiple.get(EVENT_DEFINITIONS);
            let catalog = values.and_then(|values| match values.first()? {
                Value::Bytes(bytes) => Catalog::from_xz(bytes).ok().map(Arc::new),
                _ => None,
            });
            let has_events = self.format_state.built_in.events.is_some();
            let catalogs = catalog.into_iter().chain(self.options.events.clone());
            let catalogs = catalogs.filter(|_| has_events).collect();
            EventReader { catalogs, layouts: Arc::new(layouts), topics }
        })
    }

    /// Returns a cursor over the records of `part` that match `selection`.
    pub(crate) fn cursor(&self, part: &Part, selection: &Selection) -> UlogCursor {
        let parts = &self.manifest.parts;
        let index =
            parts.binary_search_by_key(&part.bytes.start, |p| p.bytes.start).ok();
        let scanner = RecordScanner::new(
            self.source.clone(),
            part.bytes.clone(),
            self.options.open,
        );
        let built_in = &self.format_state.built_in;
        let needs_event_reader = selection.topics.contains(built_in.messages)
            || built_in.events.is_some_and(|topic| selection.topics.contains(topic));
        let event_reader = if needs_event_reader {
            self.event_reader().clone()
        } else {
            EventReader::default()
        };
        // No message id is assigned at first: the cursor applies the subscriptions of
        // the file.
        let streams: Streams = self.registry.streams.without_ids();
        let format_state = self.format_state.clone();
        UlogCursor::new(
            scanner,
            format_state,
            streams,
            index,
            selection.clone(),
            event_reader,
        )
    }
}
