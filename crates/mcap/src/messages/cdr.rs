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

/// The encoding of messages of ROS 2.
pub(crate) const MESSAGE_ENCODING: &str = "cdr";

/// The encoding of their schemas.
pub(crate) const SCHEMA_ENCODING: &str = "ros2msg";

/// The number of bytes of converted messages after which a batch ends.
const BATCH_BYTES: usize = 16 << 20;

/// Converts messages to the encoding of ROS 1, and decodes the result to columns.
#[derive(Debug)]
pub(crate) struct CdrDecoder {
    transcoder: Transcoder,
    columns: LayoutDecoder,
    /// The number of bytes in each payload before the message.
    header_len: usize,
    /// The converted messages.
    block: Block,
    /// The number of bytes of converted messages in the current batch. They must be
    /// limited here, because compressed messages have many more bytes than their records.
    batch_bytes: usize,
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
            batch_bytes: 0,
        })
    }
}

impl Decoder for CdrDecoder {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        // A converted message is not longer than the message in CDR, and the total size of
        // decompressed messages is limited.
        let mut bytes = Vec::new();
        let mut converted_records = Vec::with_capacity(run.len());
        let mut first_offset = None;
        for record in run.records() {
            first_offset.get_or_insert(record.offset);
            let message = record.payload.get(self.header_len..).unwrap_or_default();
            let start = bytes.len();
            let limit = MAX_DECOMPRESSED_BYTES.saturating_sub(start);
            let message = match Encoding::Cdr.message(message, limit) {
                Ok(message) => message,
                Err(unreadable) => {
                    unreadable.damage(&record).add_to(damage);
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
            converted_records.push((record, start..bytes.len()));
        }
        let Some(first_offset) = first_offset else { return };
        if converted_records.is_empty() {
            return;
        }
        self.batch_bytes = self.batch_bytes.saturating_add(bytes.len());
        self.block.reset_decompressed(Bytes::from(bytes), first_offset);
        for (record, range) in converted_records {
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
        self.batch_bytes >= BATCH_BYTES
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.batch_bytes = 0;
        self.columns.take()
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.batch_bytes = 0;
        self.columns.discard_rows()
    }
}
