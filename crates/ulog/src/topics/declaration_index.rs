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
    of_topics: HashMap<TopicId, Vec<(u64, usize)>>,
    /// The subscriptions of each message id, with their offsets, in file order.
    of_ids: HashMap<u16, Vec<(u64, usize)>>,
    /// The offset of the first subscription of each message id, in file order.
    first: Vec<(u64, u16)>,
    /// The last result of [`first_ids`](Self::first_ids), with its number of ids.
    last_ids: Mutex<(usize, IdSet)>,
}

impl DeclarationIndex {
    pub(crate) fn new(declarations: &[Declaration]) -> Self {
        let mut index = Self::default();
        for (at, declaration) in declarations.iter().enumerate() {
            match declaration {
                Declaration::Format(name, _) => {
                    index.types.entry(name.clone()).or_default().push(at);
                }
                Declaration::Subscription { offset, id, topic, .. } => {
                    index.of_topics.entry(*topic).or_default().push((*offset, at));
                    let of_id = index.of_ids.entry(*id).or_default();
                    if of_id.is_empty() {
                        index.first.push((*offset, *id));
                    }
                    of_id.push((*offset, at));
                }
                Declaration::LeftOut { .. } | Declaration::Metadata { .. } => {}
            }
        }
        index
    }

    /// Returns the definitions of the type `name`.
    pub(crate) fn definitions(&self, name: &str) -> &[usize] {
        self.types.get(name).map_or(&[], |definitions| definitions)
    }

    /// Returns the subscriptions of `topic`, with their offsets.
    pub(crate) fn of_topic(&self, topic: TopicId) -> &[(u64, usize)] {
        self.of_topics.get(&topic).map_or(&[], |subscriptions| subscriptions)
    }

    /// Returns the subscriptions of the message id `id`, with their offsets.
    pub(crate) fn of_id(&self, id: u16) -> &[(u64, usize)] {
        self.of_ids.get(&id).map_or(&[], |subscriptions| subscriptions)
    }

    /// Returns how many message ids are subscribed before the offset `at`.
    pub(crate) fn ids_before(&self, at: u64) -> usize {
        self.first.partition_point(|(offset, _)| *offset < at)
    }

    /// Returns the first `count` message ids that are subscribed. Excerpts for other topics
    /// often need the same.
    pub(crate) fn first_ids(&self, count: usize) -> IdSet {
        let mut last = self.last_ids.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != count {
            *last = (count, self.ids(0, count).collect());
        }
        last.1.clone()
    }

    /// Returns the message ids from the one with the number `first` to before `end`, in the
    /// order of their first subscriptions.
    pub(crate) fn ids(&self, first: usize, end: usize) -> impl Iterator<Item = u32> {
        let ids = self.first.get(first..end).unwrap_or_default();
        ids.iter().map(|(_, id)| u32::from(*id))
    }

    /// Returns the types called `names`, with those of their fields. `declarations` are those
    /// of the index.
    pub(crate) fn types<'d>(
        &self,
        declarations: &'d [Declaration],
        names: impl Iterator<Item = &'d str>,
    ) -> HashSet<&'d str> {
        let mut next: Vec<&str> = names.collect();
        let mut types = HashSet::new();
        while let Some(name) = next.pop() {
            if !types.insert(name) {
                continue;
            }
            let texts =
                self.definitions(name).iter().filter_map(|at| {
                    match declarations.get(*at)? {
                        Declaration::Format(_, text) => Some(text),
                        _ => None,
                    }
                });
            let all = texts.flat_map(|text| text.split(';'));
            next.extend(all.filter_map(|field| {
                let (of_type, _) = field.trim().split_once(char::is_whitespace)?;
                Some(formats::array(of_type).map_or(of_type, |(base, _)| base))
            }));
        }
        types
    }
}
