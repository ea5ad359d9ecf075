//! The messages of a chunk as the index data behind it tell of them.

use std::collections::BTreeMap;

use logtool_core::{TimeRange, Timestamp};

use crate::{
    toplevel::{Top, TopKind, Tops},
    wire,
};

/// No longer index is read to know what was lost.
pub(crate) const MAX_INDEX: u64 = 16 << 20;

/// Messages of one connection that are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
}

/// Adds a message to what is `lost`.
pub(crate) fn add(lost: &mut BTreeMap<u32, Lost>, connection: u32, time: Timestamp) {
    let time = TimeRange::from_timestamp(time);
    let lost = lost.entry(connection).or_insert(Lost { records: 0, time });
    *lost = Lost { records: lost.records + 1, time: lost.time.cover(&time) };
}

/// Tells `take` each message that the index data at `at` tell of: its connection, its time,
/// and where it begins in the chunk. Says whether that were all: no more than `room` bytes are
/// read, which is then less, and nothing more can be told where these cannot be read.
pub(crate) fn each_entry(
    tops: &mut Tops,
    mut at: u64,
    room: &mut u64,
    mut take: impl FnMut(u32, Timestamp, u32),
) -> bool {
    while let Ok(Some(Top {
        kind: TopKind::Index { connection, version: 1, .. },
        data,
    })) = tops.look(at)
    {
        let Some(left) = room.checked_sub(data.end - at) else { return false };
        (*room, at) = (left, data.end);
        let Ok(Some(entries)) = tops.data(&data) else { return false };
        for (time, offset) in wire::index_entries(&entries) {
            take(connection, time, offset);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;

    /// Index data of connection 7: `ver` 1, and an entry for each time, at offset 0.
    fn index(times: &[u32]) -> Vec<u8> {
        let fields: [&[u8]; 4] = [
            b"op=\x04",
            b"ver=\x01\0\0\0",
            b"conn=\x07\0\0\0",
            &[b"count=", &(times.len() as u32).to_le_bytes()[..]].concat(),
        ];
        let header = fields.map(|f| [&(f.len() as u32).to_le_bytes()[..], f].concat());
        let (header, mut data) = (header.concat(), Vec::new());
        for seconds in times {
            data.extend([seconds.to_le_bytes(), [0; 4], [0; 4]].concat());
        }
        let len = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
        [&len(&header)[..], &header, &len(&data), &data].concat()
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let (first, second) = (index(&[1, 2]), index(&[3]));
        let all = (first.len() + second.len()) as u64;
        let bytes = Bytes::from([first.clone(), second].concat());
        let told = |room: u64| {
            let mut tops = Tops::new(Arc::new(bytes.clone()));
            let (mut room, mut seconds) = (room, Vec::new());
            let is_all = each_entry(&mut tops, 0, &mut room, |connection, time, _| {
                assert_eq!(connection, 7);
                seconds.push(time.as_nanos() / 1_000_000_000);
            });
            (is_all, room, seconds)
        };
        assert_eq!(told(all + 5), (true, 5, vec![1, 2, 3]));
        let rest = all - first.len() as u64 - 1;
        assert_eq!(told(all - 1), (false, rest, vec![1, 2]));
        let little = first.len() as u64 - 1;
        assert_eq!(told(little), (false, little, vec![]));
    }
}
