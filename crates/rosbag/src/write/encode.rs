//! Records, put into bytes: fields in the order of their names, as ROS has them.

use crate::{wire::op, write::stamp::Stamp};

/// How long the fields of a bag's header and its padding are together, in ROS.
const BAG_HEADER: usize = 4096;

/// Appends a record that has `fields` and `data`.
pub(crate) fn record(out: &mut Vec<u8>, fields: &[(&str, &[u8])], data: &[u8]) {
    head(out, fields, data.len() as u32);
    out.extend_from_slice(data);
}

/// Appends all of a record but its data, which are `data_len` bytes long.
pub(crate) fn head(out: &mut Vec<u8>, fields: &[(&str, &[u8])], data_len: u32) {
    let lens = fields.iter().map(|(name, value)| 5 + name.len() + value.len());
    out.extend((lens.sum::<usize>() as u32).to_le_bytes());
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

/// The header of a bag that is not finished, padded as ROS does.
pub(crate) fn bag_header() -> Vec<u8> {
    let fields: [(&str, &[u8]); 4] = [
        ("chunk_count", &[0; 4]),
        ("conn_count", &[0; 4]),
        ("index_pos", &[0; 8]),
        ("op", &[op::BAG_HEADER]),
    ];
    let mut bytes = Vec::new();
    head(&mut bytes, &fields, 0);
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
pub(crate) fn message(out: &mut Vec<u8>, id: u32, stamp: Stamp, payload: &[u8]) {
    let fields: [(&str, &[u8]); 3] = [
        ("conn", &id.to_le_bytes()),
        ("op", &[op::MESSAGE]),
        ("time", &stamp.to_bytes()),
    ];
    record(out, &fields, payload);
}

/// How much longer a message is than its payload.
pub(crate) const MESSAGE_HEAD: u64 = 46;

/// The head of a chunk of `size` bytes, packed to `packed_len` bytes.
pub(crate) fn chunk_head(compression: &str, size: u32, packed_len: u32) -> Vec<u8> {
    let fields: [(&str, &[u8]); 3] = [
        ("compression", compression.as_bytes()),
        ("op", &[op::CHUNK]),
        ("size", &size.to_le_bytes()),
    ];
    let mut bytes = Vec::new();
    head(&mut bytes, &fields, packed_len);
    bytes
}

/// The fields of index data, in the order in which a bag has them.
///
/// The order means nothing, but the Python package `rosbags` looks at it once a bag: so
/// it is to be one and the same in all of a bag, which ROS's Python writer orders
/// otherwise than its C++ writer.
pub(crate) type IndexOrder = [&'static str; 4];

/// The order of ROS's C++ writer.
pub(crate) const INDEX_ORDER: IndexOrder = ["conn", "count", "op", "ver"];

/// Appends the index of the messages of a connection in a chunk: their times, and where
/// in the unpacked chunk they begin.
pub(crate) fn index(
    out: &mut Vec<u8>,
    order: IndexOrder,
    id: u32,
    entries: &[(Stamp, u32)],
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
    head(out, &fields, entries.len() as u32 * 12);
    for (stamp, offset) in entries {
        out.extend(stamp.to_bytes());
        out.extend(offset.to_le_bytes());
    }
}

/// Appends what the index of the bag says of the chunk at `at`: from when to when it
/// is, and how many messages of each connection it has.
pub(crate) fn chunk_info(
    out: &mut Vec<u8>,
    at: u64,
    [first, last]: [Stamp; 2],
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
    head(out, &fields, counts.len() as u32 * 8);
    for (id, count) in counts {
        out.extend(id.to_le_bytes());
        out.extend(count.to_le_bytes());
    }
}
