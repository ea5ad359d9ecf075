//! Decodes CDR messages to columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use logtool_core::{
    Block, Columns, Damage, Decoder, Error, ErrorKind, Layout, LayoutDecoder, Result,
    Run, Topic,
};
use logtool_rosmsg::{Definition, Encoding, MAX_DECOMPRESSED_BYTES, Transcoder};

/// The message encoding and the schema encoding of ROS 2.
pub(crate) const CDR: (&str, &str) = ("cdr", "ros2msg");

/// A batch ends after this number of bytes of messages.
const MAX_WAITING: usize = 16 << 20;

/// Converts messages to the layout of ROS 1, and decodes that to columns.
#[derive(Debug)]
pub(crate) struct CdrDecoder {
    transcoder: Transcoder,
    columns: LayoutDecoder,
    /// The number of bytes in each payload before the message.
    header_len: usize,
    block: Block,
    /// The number of bytes of messages in the current batch. Compressed messages have
    /// many more bytes than their records.
    waiting: usize,
}

/// Returns the layout of the messages of `topic` after their conversion.
pub(crate) fn layout(topic: &Topic) -> Result<Arc<Layout>> {
    let definition = Definition::parse_ros2(&topic.type_name, &topic.definition)?;
    if definition.is_empty() && Definition::common_ros2_text(&topic.type_name).is_none()
    {
        return Err(Error::new(ErrorKind::Malformed, "its definition is empty"));
    }
    let layout = definition.layout()?;
    // The layout may have more columns than a table can have.
    LayoutDecoder::new(&layout, &Columns::default())?;
    Transcoder::for_ros2_layout(&layout)?;
    Ok(layout)
}

impl CdrDecoder {
    /// Creates a decoder of the selected `columns` of messages with `layout`, which
    /// follow `header_len` header bytes.
    pub(crate) fn new(
        layout: &Layout,
        header_len: u32,
        columns: &Columns,
    ) -> Result<Self> {
        Ok(Self {
            transcoder: Transcoder::for_ros2_layout(layout)?,
            columns: LayoutDecoder::new(layout, columns)?,
            header_len: header_len as usize,
            block: Block::default(),
            waiting: 0,
        })
    }
}

impl Decoder for CdrDecoder {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        // A converted message is not longer than in CDR. The size of decompressed
        // messages is limited.
        let (mut bytes, mut entries) = (Vec::new(), Vec::with_capacity(run.len()));
        let mut offset = None;
        for record in run.records() {
            offset.get_or_insert(record.offset);
            let message = record.payload.get(self.header_len..).unwrap_or_default();
            let start = bytes.len();
            let limit = MAX_DECOMPRESSED_BYTES.saturating_sub(start);
            let message = Encoding::Cdr.decompress(message, limit);
            let message = match message {
                Ok(message) => message,
                Err(kind) => {
                    record.undecodable_damage().with_kind(kind).add_to(damage);
                    continue;
                }
            };
            let Some(remainder) = self.transcoder.from_cdr(&message, &mut bytes) else {
                record.undecodable_damage().add_to(damage);
                continue;
            };
            if remainder.extra_bytes > 0 {
                record.extra_bytes_damage(remainder.extra_bytes).add_to(damage);
            }
            entries.push((record, start..bytes.len()));
        }
        let Some(offset) = offset.filter(|_| !entries.is_empty()) else { return };
        self.waiting = self.waiting.saturating_add(bytes.len());
        self.block.reset_decompressed(Bytes::from(bytes), offset);
        for (record, range) in entries {
            self.block.push(record.topic, record.time, range);
        }
        for run in self.block.runs() {
            self.columns.append(run, damage);
        }
    }

    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn is_full(&self) -> bool {
        self.waiting >= MAX_WAITING
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.waiting = 0;
        self.columns.take()
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.waiting = 0;
        self.columns.discard_rows()
    }
}
