//! The messages of a chunk as the index data behind it tell of them.

use std::collections::BTreeMap;

use logtool_core::{TimeRange, Timestamp};

use crate::{
    top::{Top, TopKind, Tops},
    wire,
};

/// No longer index is read to know what was lost.
const MAX_INDEX: u64 = 16 << 20;

/// Messages of one connection that are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
}

/// Adds a message to what is `lost`.
pub(crate) fn add(lost: &mut BTreeMap<u32, Lost>, connection: u32, time: Timestamp) {
    let time = TimeRange::just(time);
    let lost = lost.entry(connection).or_insert(Lost { records: 0, time });
    *lost = Lost { records: lost.records + 1, time: lost.time.cover(&time) };
}

/// Tells `take` each message that the index data at `at` tell of: its connection, its time,
/// and where it begins in the chunk. Nothing more can be told where these cannot be read.
pub(crate) fn each_entry(
    tops: &mut Tops,
    mut at: u64,
    mut take: impl FnMut(u32, Timestamp, u32),
) {
    let start = at;
    while let Ok(Some(Top {
        kind: TopKind::Index { connection, version: 1, .. },
        data,
    })) = tops.look(at)
    {
        if data.end - start > MAX_INDEX {
            return;
        }
        at = data.end;
        let entries = tops.data(&data).ok().flatten().unwrap_or_default();
        for (time, offset) in wire::index_entries(&entries) {
            take(connection, time, offset);
        }
    }
}
