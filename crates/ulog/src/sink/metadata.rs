//! Informations and parameters of several logs in one.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use crate::wire::{self, kind};

/// So many names are told of what differs.
const TOLD: usize = 8;

/// What is known so far of informations and parameters.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    known: HashMap<Key, Known>,
    differing: BTreeSet<String>,
}

/// The kind of a message, which default it tells, and the name.
type Key = (u8, u8, String);

#[derive(Debug)]
struct Known {
    /// The log that was the first to say it.
    from: usize,
    /// The sums of all that it says.
    payloads: HashSet<u64>,
}

impl Metadata {
    /// Takes a message of the log with the index `from`; says whether it is to be
    /// written: not if another log before had one of its name.
    pub(super) fn take(&mut self, from: usize, kind: u8, payload: &[u8]) -> bool {
        let keyed = match kind {
            kind::INFO | kind::PARAMETER => {
                wire::keyed(payload).map(|keyed| (0, keyed))
            }
            kind::DEFAULT_PARAMETER => wire::flagged_keyed(payload),
            // Its first byte only says whether it goes on.
            _ => wire::flagged_keyed(payload).map(|(_, keyed)| (0, keyed)),
        };
        let Some((which, keyed)) = keyed else { return from == 0 };
        let mut hasher = DefaultHasher::new();
        payload.hash(&mut hasher);
        let sum = hasher.finish();
        let key = (kind, which, keyed.name.to_owned());
        let known = self
            .known
            .entry(key)
            .or_insert_with(|| Known { from, payloads: HashSet::new() });
        if known.from == from {
            known.payloads.insert(sum);
            return true;
        }
        if !known.payloads.contains(&sum) {
            self.differing.insert(keyed.name.to_owned());
        }
        false
    }

    /// What people should know.
    pub(super) fn remark(&self) -> Option<String> {
        let count = self.differing.len();
        let names: Vec<&str> =
            self.differing.iter().take(TOLD).map(String::as_str).collect();
        let more = if count > TOLD { ", …" } else { "" };
        (count > 0).then(|| {
            format!(
                "the logs differ in {count} of their informations and parameters, and \
                 those of the first are kept: {}{more}",
                names.join(", ")
            )
        })
    }
}
