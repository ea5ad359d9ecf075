//! An index of the declarations of a log by type, topic and message id.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use logtool_core::{IdSet, TopicId};

use crate::{declarations::formats, topics::registry::Declaration};

/// The indices of the declarations of a log by type, topic and message id.
#[derive(Debug, Default)]
pub(crate) struct DeclarationIndex {
    /// The definitions of each type.
    types: HashMap<String, Vec<usize>>,
    /// The subscriptions of each topic, with their offsets, in file order.
    topic_subscriptions: HashMap<TopicId, Vec<(u64, usize)>>,
    /// The subscriptions of each message id, with their offsets, in file order.
    id_subscriptions: HashMap<u16, Vec<(u64, usize)>>,
    /// The offset of the first subscription of each message id, in file order.
    first_offsets: Vec<(u64, u16)>,
    /// The last result of [`first_ids`](Self::first_ids), with its number of ids.
    last_ids: Mutex<(usize, IdSet)>,
}

impl DeclarationIndex {
    pub(crate) fn new(declarations: &[Declaration]) -> Self {
        let mut index = Self::default();
        for (position, declaration) in declarations.iter().enumerate() {
            match declaration {
                Declaration::Format(name, _) => {
                    index.types.entry(name.clone()).or_default().push(position);
                }
                Declaration::Subscription { offset, id, topic, .. } => {
                    index
                        .topic_subscriptions
                        .entry(*topic)
                        .or_default()
                        .push((*offset, position));
                    let subscriptions = index.id_subscriptions.entry(*id).or_default();
                    if subscriptions.is_empty() {
                        index.first_offsets.push((*offset, *id));
                    }
                    subscriptions.push((*offset, position));
                }
                Declaration::OmittedTopics { .. } | Declaration::Metadata { .. } => {}
            }
        }
        index
    }

    /// Returns the definitions of the type `name`.
    pub(crate) fn definitions(&self, name: &str) -> &[usize] {
        self.types.get(name).map_or(&[], |definitions| definitions)
    }

    /// Returns the subscriptions of `topic`, with their offsets.
    pub(crate) fn subscriptions_of_topic(&self, topic: TopicId) -> &[(u64, usize)] {
        self.topic_subscriptions.get(&topic).map_or(&[], |subscriptions| subscriptions)
    }

    /// Returns the subscriptions of the message id `id`, with their offsets.
    pub(crate) fn subscriptions_of_id(&self, id: u16) -> &[(u64, usize)] {
        self.id_subscriptions.get(&id).map_or(&[], |subscriptions| subscriptions)
    }

    /// Returns the number of message ids that are subscribed before the offset `end`.
    pub(crate) fn count_ids_before(&self, end: u64) -> usize {
        self.first_offsets.partition_point(|(offset, _)| *offset < end)
    }

    /// Returns the first `count` message ids that are subscribed. The last result is cached,
    /// because excerpts for other topics often need the same ids.
    pub(crate) fn first_ids(&self, count: usize) -> IdSet {
        let mut last_result =
            self.last_ids.lock().unwrap_or_else(PoisonError::into_inner);
        if last_result.0 != count {
            *last_result = (count, self.ids(0, count).collect());
        }
        last_result.1.clone()
    }

    /// Returns the message ids with the indices `first..end` in the order of their first
    /// subscriptions.
    pub(crate) fn ids(&self, first: usize, end: usize) -> impl Iterator<Item = u32> {
        let ids = self.first_offsets.get(first..end).unwrap_or_default();
        ids.iter().map(|(_, id)| u32::from(*id))
    }

    /// Returns the types called `names`, and the types of their fields. `declarations` must be the
    /// declarations that were indexed.
    pub(crate) fn types<'d>(
        &self,
        declarations: &'d [Declaration],
        names: impl Iterator<Item = &'d str>,
    ) -> HashSet<&'d str> {
        let mut queue: Vec<&str> = names.collect();
        let mut types = HashSet::new();
        while let Some(name) = queue.pop() {
            if !types.insert(name) {
                continue;
            }
            let texts = self.definitions(name).iter().filter_map(|index| {
                match declarations.get(*index)? {
                    Declaration::Format(_, text) => Some(text),
                    _ => None,
                }
            });
            let fields = texts.flat_map(|text| text.split(';'));
            queue.extend(fields.filter_map(|field| {
                let (type_name, _) = field.trim().split_once(char::is_whitespace)?;
                Some(
                    formats::split_array(type_name).map_or(type_name, |(base, _)| base),
                )
            }));
        }
        types
    }
}
