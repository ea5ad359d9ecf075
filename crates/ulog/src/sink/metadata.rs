//! Merges the information and the parameters of several logs.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use crate::wire::{self, kind};

/// The maximum number of differing names in a note.
const MAX_NAMES_SHOWN: usize = 8;

/// The information and the parameters so far.
#[derive(Debug, Default)]
pub(super) struct MergedMetadata {
    known: HashMap<ParameterKey, KnownParameter>,
    differing: BTreeSet<String>,
}

/// The message type, the flag for the kind of default, and the name.
type ParameterKey = (u8, u8, String);

#[derive(Debug)]
struct KnownParameter {
    /// The first log that declares the name.
    slice_index: usize,
    /// The hashes of all payloads.
    payloads: HashSet<u64>,
}

impl MergedMetadata {
    /// Adds a message of the log with the index `slice_index`. Returns true if the message
    /// must be written, i.e. if no earlier log has one with the same name.
    pub(super) fn add(&mut self, slice_index: usize, kind: u8, payload: &[u8]) -> bool {
        let keyed = match kind {
            kind::INFO | kind::PARAMETER => {
                wire::keyed_value(payload).map(|keyed| (0, keyed))
            }
            kind::DEFAULT_PARAMETER => wire::flagged_keyed(payload),
            // The first byte only declares whether the value is continued.
            _ => wire::flagged_keyed(payload).map(|(_, keyed)| (0, keyed)),
        };
        let Some((which, keyed)) = keyed else { return slice_index == 0 };
        let mut hasher = DefaultHasher::new();
        payload.hash(&mut hasher);
        let sum = hasher.finish();
        let key = (kind, which, keyed.name.to_owned());
        let known = self.known.entry(key).or_insert_with(|| KnownParameter {
            slice_index,
            payloads: HashSet::new(),
        });
        if known.slice_index == slice_index {
            known.payloads.insert(sum);
            return true;
        }
        if !known.payloads.contains(&sum) {
            self.differing.insert(keyed.name.to_owned());
        }
        false
    }

    /// Returns a note about the names that differ between the logs.
    pub(super) fn remark(&self) -> Option<String> {
        let count = self.differing.len();
        let names: Vec<&str> =
            self.differing.iter().take(MAX_NAMES_SHOWN).map(String::as_str).collect();
        let more = if count > MAX_NAMES_SHOWN { ", …" } else { "" };
        (count > 0).then(|| {
            format!(
                "the logs differ in {count} values of information or parameters; those \
                 of the first log are kept: {}{more}",
                names.join(", ")
            )
        })
    }
}
