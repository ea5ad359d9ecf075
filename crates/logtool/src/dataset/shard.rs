//! Shards: the parts of a batch that several runs share.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use crate::{
    dataset::inputs::InputLog,
    error::{Error, Result},
};

/// One of several parts of a batch, each of which another run converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.index, self.count)
    }
}

impl Shard {
    /// Creates the shard `index`, counted from 0, of `count` shards. Returns `None` if there is
    /// only one, which is the whole batch.
    ///
    /// # Errors
    /// `InvalidRequest` if `index` is not less than `count`.
    pub fn new(index: u32, count: u32) -> Result<Option<Self>> {
        if index >= count {
            let message =
                format!("shard {index}: there are {count} parts, counted from 0");
            return Err(Error::invalid_request(message));
        }
        Ok((count > 1).then_some(Self { index, count }))
    }

    /// Returns the index of the shard, counted from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of shards.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns the index of the shard of each of `logs`. It depends on nothing else: the
    /// largest log is assigned first, always to the shard with the fewest bytes.
    fn assign(self, logs: &[InputLog]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..logs.len()).collect();
        order.sort_by_key(|index| {
            logs.get(*index).map(|log| (Reverse(log.bytes), &log.source))
        });
        let mut loads: Vec<(u64, u32)> =
            (0..self.count).map(|shard| (0, shard)).collect();
        let mut assigned = vec![0; logs.len()];
        for index in order {
            let smallest_load = loads.iter_mut().min();
            if let (Some((load, shard)), Some(log), Some(slot)) =
                (smallest_load, logs.get(index), assigned.get_mut(index))
            {
                // Each log costs some time, however short it is.
                *load = load.saturating_add(log.bytes.max(4096));
                *slot = *shard;
            }
        }
        assigned
    }

    /// Returns whether each of `logs` is in the shard.
    pub(super) fn has_logs(self, logs: &[InputLog]) -> Vec<bool> {
        self.assign(logs).into_iter().map(|shard| shard == self.index).collect()
    }

    /// Returns the index of the shard of the log `name`, which is not an input any more.
    fn index_for_name(self, name: &str) -> u32 {
        let hash = blake3::hash(name.as_bytes());
        let word =
            hash.as_bytes().first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        word % self.count
    }
}

/// The shards of the logs of a dataset.
pub(super) struct Division {
    /// The shard of this run; `None` if it converts all logs.
    pub(super) own_shard: Option<Shard>,
    /// The index of the shard of each input, by the name of the log.
    shards: BTreeMap<String, u32>,
}

impl Division {
    /// Divides the inputs `logs`, which have these `names`, for a run with the shard `own_shard`.
    pub(super) fn new(
        own_shard: Option<Shard>,
        logs: &[InputLog],
        names: &[String],
    ) -> Self {
        let shards = own_shard.map(|own_shard| {
            names.iter().cloned().zip(own_shard.assign(logs)).collect()
        });
        Self { own_shard, shards: shards.unwrap_or_default() }
    }

    /// Returns whether the log `name` is in `shard`. All logs are in the shard `None`.
    pub(super) fn is_in(&self, name: &str, shard: Option<Shard>) -> bool {
        shard.is_none_or(|shard| {
            let assigned = self.shards.get(name).copied();
            assigned.unwrap_or_else(|| shard.index_for_name(name)) == shard.index
        })
    }

    /// Returns whether this run converts the log `name`.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.is_in(name, self.own_shard)
    }

    /// Returns the shards of other runs.
    pub(super) fn other_shards(&self) -> impl Iterator<Item = Shard> {
        let own_shard = self.own_shard;
        let count = own_shard.map_or(0, |own_shard| own_shard.count);
        let shards = (0..count).map(move |index| Shard { index, count });
        shards.filter(move |shard| own_shard != Some(*shard))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn shards_are_disjoint_and_similar_in_size() {
        let sizes = [900_u64, 10, 10, 300, 300, 280, 5, 5].map(|size| size << 20);
        let logs: Vec<InputLog> = sizes
            .iter()
            .enumerate()
            .map(|(index, bytes)| InputLog {
                path: PathBuf::new(),
                source: index.to_string(),
                named_path: String::new(),
                bytes: *bytes,
                modified_ns: None,
            })
            .collect();
        let assigned = |index| Shard { index, count: 2 }.assign(&logs);
        assert_eq!(assigned(0), assigned(1));
        let load = |shard| {
            let logs = assigned(0).into_iter().zip(sizes);
            let own_shard = logs.filter(|(assigned, _)| *assigned == shard);
            own_shard.map(|(_, size)| size >> 20).sum::<u64>()
        };
        assert_eq!((load(0), load(1)), (905, 905));
    }

    #[test]
    fn new_refuses_an_index_without_a_shard() {
        assert_eq!(Shard::new(1, 3).unwrap(), Some(Shard { index: 1, count: 3 }));
        assert_eq!(Shard::new(0, 1).unwrap(), None);
        assert!(Shard::new(3, 3).is_err() && Shard::new(0, 0).is_err());
    }
}
