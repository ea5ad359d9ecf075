//! Encodes the records of a file.

use std::collections::BTreeMap;

use crate::wire::{Channel, ChunkIndex, RECORD_HEADER_LEN, Schema, op};

/// A sequence of encoded records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
}

/// The content of a record that is being encoded.
pub(crate) struct ContentEncoder<'r> {
    bytes: &'r mut Vec<u8>,
}

impl Records {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the records. The sequence is empty then.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes the records. The next ones are added to `buffer`, which must be empty.
    pub(crate) fn take_and_set_buffer(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        std::mem::replace(&mut self.bytes, buffer)
    }

    /// Adds a record with the opcode `op`. `fill` writes its content.
    pub(crate) fn add(&mut self, op: u8, fill: impl FnOnce(&mut ContentEncoder<'_>)) {
        self.bytes.push(op);
        let len_start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 8]);
        fill(&mut ContentEncoder { bytes: &mut self.bytes });
        let len = (self.bytes.len() - len_start - 8) as u64;
        if let Some(len_field) = self.bytes.get_mut(len_start..len_start + 8) {
            len_field.copy_from_slice(&len.to_le_bytes());
        }
    }

    pub(crate) fn schema(&mut self, schema: &Schema) {
        let Schema { id, name, encoding, data } = schema;
        self.add(op::SCHEMA, |content| {
            content.u16(*id).text(name).text(encoding).length_prefixed(|content| {
                content.raw(data);
            });
        });
    }

    pub(crate) fn channel(&mut self, channel: &Channel) {
        let Channel { id, schema, topic, encoding, metadata } = channel;
        self.add(op::CHANNEL, |content| {
            content.u16(*id).u16(*schema).text(topic).text(encoding).text_map(metadata);
        });
    }

    pub(crate) fn chunk_index(&mut self, chunk: &ChunkIndex) {
        self.add(op::CHUNK_INDEX, |content| {
            content.u64(chunk.start_time).u64(chunk.end_time);
            content.u64(chunk.chunk_offset).u64(chunk.chunk_len);
            content.length_prefixed(|offsets| {
                for (channel, offset) in &chunk.message_index_offsets {
                    offsets.u16(*channel).u64(*offset);
                }
            });
            content.u64(chunk.message_indexes_len).text(&chunk.compression);
            content.u64(chunk.compressed_len).u64(chunk.uncompressed_len);
        });
    }

    /// Adds the footer. The records in this sequence are the summary, which starts at the
    /// offset `summary_start` of the file; its summary offset records start at
    /// `offsets_start`.
    pub(crate) fn footer(&mut self, summary_start: u64, offsets_start: u64) {
        self.add(op::FOOTER, |content| {
            content.u64(summary_start).u64(offsets_start);
            // The checksum includes the length of the record, which is not written yet.
            let len_start = content.bytes.len() - 16 - 8;
            if let Some(len_field) = content.bytes.get_mut(len_start..len_start + 8) {
                len_field.copy_from_slice(&20_u64.to_le_bytes());
            }
            let crc = crc32fast::hash(content.bytes);
            content.u32(crc);
        });
    }
}

impl ContentEncoder<'_> {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.u32(text.len() as u32).raw(text.as_bytes())
    }

    pub(crate) fn text_map(&mut self, entries: &BTreeMap<String, String>) -> &mut Self {
        self.length_prefixed(|pairs| {
            for (key, value) in entries {
                pairs.text(key).text(value);
            }
        })
    }

    /// Adds the length and the bytes that `fill` writes.
    pub(crate) fn length_prefixed(
        &mut self,
        fill: impl FnOnce(&mut ContentEncoder<'_>),
    ) -> &mut Self {
        let len_start = self.bytes.len();
        self.u32(0);
        fill(&mut ContentEncoder { bytes: self.bytes });
        let len = (self.bytes.len() - len_start - 4) as u32;
        if let Some(len_field) = self.bytes.get_mut(len_start..len_start + 4) {
            len_field.copy_from_slice(&len.to_le_bytes());
        }
        self
    }
}

/// The properties of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkProperties {
    /// The first log time.
    pub(crate) start_time: u64,
    /// The last log time.
    pub(crate) end_time: u64,
    /// The length of the uncompressed records.
    pub(crate) uncompressed_len: u64,
    /// The CRC-32 of the uncompressed records.
    pub(crate) crc: u32,
    /// For each channel, the times and the offsets of its messages in the records, in
    /// time order.
    pub(crate) message_indexes: BTreeMap<u16, Vec<(u64, u64)>>,
}

/// Returns the start of a chunk record, which must be followed by `compressed_len` bytes of
/// records.
pub(super) fn chunk_header(
    properties: &ChunkProperties,
    compression: &str,
    compressed_len: u64,
) -> Vec<u8> {
    let mut records = Records::default();
    records.add(op::CHUNK, |content| {
        content
            .u64(properties.start_time)
            .u64(properties.end_time)
            .u64(properties.uncompressed_len)
            .u32(properties.crc);
        content.text(compression).u64(compressed_len);
    });
    let mut header = records.take();
    let content_len = (header.len() - RECORD_HEADER_LEN) as u64 + compressed_len;
    if let Some(len_field) = header.get_mut(1..RECORD_HEADER_LEN) {
        len_field.copy_from_slice(&content_len.to_le_bytes());
    }
    header
}

/// Returns the message index records of a chunk, which start at the offset `start` of the
/// file, and the offset of the message index of each channel.
pub(super) fn message_indexes(
    properties: &ChunkProperties,
    start: u64,
) -> (Vec<u8>, Vec<(u16, u64)>) {
    let (mut records, mut offsets) = (Records::default(), Vec::new());
    for (channel, entries) in &properties.message_indexes {
        offsets.push((*channel, start + records.bytes().len() as u64));
        records.add(op::MESSAGE_INDEX, |content| {
            content.u16(*channel).length_prefixed(|array| {
                for (time, offset) in entries {
                    array.u64(*time).u64(*offset);
                }
            });
        });
    }
    (records.take(), offsets)
}
