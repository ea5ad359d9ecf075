//! Encoding of records, with fields in alphabetical order as in ROS.

use crate::{
    wire::{self, op},
    write::ros_time::RosTime,
};

/// The total length of the fields and the padding of a bag header, as in ROS.
const BAG_HEADER: usize = 4096;

/// Appends a record with these `fields` and `data`.
pub(crate) fn record(out: &mut Vec<u8>, fields: &[(&str, &[u8])], data: &[u8]) {
    record_header(out, fields, data.len() as u32);
    out.extend_from_slice(data);
}

/// Appends a record without its data, whose length is `data_len`.
pub(crate) fn record_header(
    out: &mut Vec<u8>,
    fields: &[(&str, &[u8])],
    data_len: u32,
) {
    let lengths = fields.iter().map(|(name, value)| 5 + name.len() + value.len());
    out.extend((lengths.sum::<usize>() as u32).to_le_bytes());
    fields.iter().for_each(|(name, value)| field(out, name.as_bytes(), value));
    out.extend(data_len.to_le_bytes());
}

/// Appends a field.
pub(crate) fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend(((name.len() + 1 + value.len()) as u32).to_le_bytes());
    out.extend_from_slice(name);
    out.push(b'=');
    out.extend_from_slice(value);
}

/// Returns the header record of an unfinished bag, padded as in ROS.
pub(crate) fn bag_header() -> Vec<u8> {
    let fields: [(&str, &[u8]); 4] = [
        ("chunk_count", &[0; 4]),
        ("conn_count", &[0; 4]),
        ("index_pos", &[0; 8]),
        ("op", &[op::BAG_HEADER]),
    ];
    let mut bytes = Vec::new();
    record_header(&mut bytes, &fields, 0);
    let padding = BAG_HEADER - (bytes.len() - 8);
    bytes.clear();
    record(&mut bytes, &fields, &b" ".repeat(padding));
    bytes
}

/// Appends a connection.
pub(crate) fn connection(out: &mut Vec<u8>, id: u32, topic: &[u8], header: &[u8]) {
    let fields: [(&str, &[u8]); 3] =
        [("conn", &id.to_le_bytes()), ("op", &[op::CONNECTION]), ("topic", topic)];
    record(out, &fields, header);
}

/// Appends a message.
pub(crate) fn message(out: &mut Vec<u8>, id: u32, stamp: RosTime, payload: &[u8]) {
    let fields: [(&str, &[u8]); 3] = [
        ("conn", &id.to_le_bytes()),
        ("op", &[op::MESSAGE]),
        ("time", &stamp.to_bytes()),
    ];
    record(out, &fields, payload);
}

/// Returns the record of a chunk without its data. The chunk has `size` bytes before and
/// `compressed_len` bytes after compression.
pub(crate) fn chunk_header(
    compression: &str,
    size: u32,
    compressed_len: u32,
) -> Vec<u8> {
    let fields: [(&str, &[u8]); 3] = [
        ("compression", compression.as_bytes()),
        ("op", &[op::CHUNK]),
        ("size", &size.to_le_bytes()),
    ];
    let mut bytes = Vec::new();
    record_header(&mut bytes, &fields, compressed_len);
    bytes
}

/// The fields of index data, in the order of a bag.
///
/// The order has no meaning, but the Python package `rosbags` determines it only once for a bag, so
/// it must be the same in the whole bag. The Python writer of ROS uses another order than the C++
/// writer.
pub(crate) type IndexOrder = [&'static str; 4];

/// The order of the C++ writer of ROS.
pub(crate) const INDEX_ORDER: IndexOrder = ["conn", "count", "op", "ver"];

/// Appends the index data of a connection in a chunk: the times of its messages, and their
/// offsets in the decompressed chunk.
pub(crate) fn index_data(
    out: &mut Vec<u8>,
    order: IndexOrder,
    id: u32,
    entries: &[(RosTime, u32)],
) {
    let (id, count) = (id.to_le_bytes(), (entries.len() as u32).to_le_bytes());
    let version = 1_u32.to_le_bytes();
    let fields = order.map(|name| -> (&str, &[u8]) {
        let value: &[u8] = match name {
            "conn" => &id,
            "count" => &count,
            "ver" => &version,
            _ => &[op::INDEX],
        };
        (name, value)
    });
    record_header(out, &fields, entries.len() as u32 * wire::INDEX_ENTRY_LEN as u32);
    for (stamp, offset) in entries {
        out.extend(stamp.to_bytes());
        out.extend(offset.to_le_bytes());
    }
}

/// Appends the chunk info of the chunk at `at`: its first and last time, and the number of
/// messages of each connection.
pub(crate) fn chunk_info(
    out: &mut Vec<u8>,
    at: u64,
    [first, last]: [RosTime; 2],
    counts: &[(u32, u32)],
) {
    let fields: [(&str, &[u8]); 6] = [
        ("chunk_pos", &at.to_le_bytes()),
        ("count", &(counts.len() as u32).to_le_bytes()),
        ("end_time", &last.to_bytes()),
        ("op", &[op::CHUNK_INFO]),
        ("start_time", &first.to_bytes()),
        ("ver", &1_u32.to_le_bytes()),
    ];
    record_header(out, &fields, counts.len() as u32 * 8);
    for (id, count) in counts {
        out.extend(id.to_le_bytes());
        out.extend(count.to_le_bytes());
    }
}
