//! The entries of the index data that follow a chunk.

use std::collections::BTreeMap;

use logtool_core::{Result, TimeRange, Timestamp};

use crate::{
    file::toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    wire,
};

/// The maximum number of bytes of index data that are read to determine lost messages.
pub(crate) const MAX_INDEX: u64 = 16 << 20;

/// The lost messages of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostMessages {
    pub(crate) records: u64,
    pub(crate) time: TimeRange,
}

/// Adds a message to `lost`.
pub(crate) fn add_lost_message(
    lost: &mut BTreeMap<u32, LostMessages>,
    connection: u32,
    time: Timestamp,
) {
    let time = TimeRange::from_timestamp(time);
    let lost = lost.entry(connection).or_insert(LostMessages { records: 0, time });
    *lost = LostMessages { records: lost.records + 1, time: lost.time.cover(&time) };
}

/// Calls `visit` with each entry of the index data at `at`: its connection, its time, and the
/// offset of the message in the chunk. Returns whether all entries were read. Reads at most
/// `remaining_bytes` bytes, and subtracts the number of bytes read from it. Index data that are not
/// a valid record end the entries.
pub(crate) fn each_entry(
    toplevel: &mut TopLevelReader,
    mut at: u64,
    remaining_bytes: &mut u64,
    mut visit: impl FnMut(u32, Timestamp, u32),
) -> bool {
    while let Ok(Some(TopLevelRecord {
        kind: TopLevelKind::Index { connection, version: 1, .. },
        data,
    })) = toplevel.record_at(at)
    {
        let Some(left) = remaining_bytes.checked_sub(data.end - at) else {
            return false;
        };
        (*remaining_bytes, at) = (left, data.end);
        let Ok(Some(entries)) = toplevel.data(&data) else { return false };
        for (time, offset) in wire::index_entries(&entries) {
            visit(connection, time, offset);
        }
    }
    true
}

/// The messages of a chunk that its index data list.
#[derive(Debug)]
pub(crate) struct ListedMessages {
    /// The number of messages by connection.
    pub(crate) messages: BTreeMap<u32, u64>,
    pub(crate) time: TimeRange,
}

impl ListedMessages {
    /// Reads the index data of the chunk at `at`. Returns `None` if no chunk begins there, or if
    /// its index data are longer than `remaining_bytes` or cannot be read.
    pub(crate) fn after_chunk(
        toplevel: &mut TopLevelReader,
        at: u64,
        remaining_bytes: &mut u64,
    ) -> Result<Option<Self>> {
        // Compressed data without a chunk header are the rest of another chunk.
        let chunk = toplevel.chunk(at)?.filter(|(_, data)| data.start > at);
        let Some((_, data)) = chunk else { return Ok(None) };
        let mut listed = Self { messages: BTreeMap::new(), time: TimeRange::EMPTY };
        let is_complete =
            each_entry(toplevel, data.end, remaining_bytes, |connection, time, _| {
                *listed.messages.entry(connection).or_default() += 1;
                listed.time = listed.time.cover(&TimeRange::from_timestamp(time));
            });
        Ok(is_complete.then_some(listed))
    }
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
        let header = fields
            .map(|field| [&(field.len() as u32).to_le_bytes()[..], field].concat());
        let (header, mut data) = (header.concat(), Vec::new());
        for seconds in times {
            data.extend([seconds.to_le_bytes(), [0; 4], [0; 4]].concat());
        }
        let len = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
        [&len(&header)[..], &header, &len(&data), &data].concat()
    }

    #[test]
    fn index_data_are_read_up_to_the_limit() {
        let (first, second) = (index(&[1, 2]), index(&[3]));
        let len = (first.len() + second.len()) as u64;
        let bytes = Bytes::from([first.clone(), second].concat());
        let read = |remaining_bytes: u64| {
            let mut toplevel = TopLevelReader::new(Arc::new(bytes.clone()));
            let (mut remaining_bytes, mut seconds) = (remaining_bytes, Vec::new());
            let is_complete = each_entry(
                &mut toplevel,
                0,
                &mut remaining_bytes,
                |connection, time, _| {
                    assert_eq!(connection, 7);
                    seconds.push(time.as_nanos() / 1_000_000_000);
                },
            );
            (is_complete, remaining_bytes, seconds)
        };
        assert_eq!(read(len + 5), (true, 5, vec![1, 2, 3]));
        let after_first = len - first.len() as u64 - 1;
        assert_eq!(read(len - 1), (false, after_first, vec![1, 2]));
        let below_first = first.len() as u64 - 1;
        assert_eq!(read(below_first), (false, below_first, vec![]));
    }
}
