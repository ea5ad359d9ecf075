//! The codes of findings in MCAP files.

use logtool_core::FindingCode;

/// All codes.
pub(crate) const CODES: &[&FindingCode] = &[
    &ATTACHMENT_CRC,
    &CHANNEL_SCHEMA,
    &CHANNEL_SCHEMALESS,
    &CHANNEL_SUMMARY,
    &CHANNEL_UNDECLARED,
    &CHUNK_COMPRESSION,
    &CHUNK_CRC,
    &CHUNK_SIZE,
    &CHUNK_TIME,
    &CHUNK_INDEX_DIFFERS,
    &CHUNK_INDEX_MISSING,
    &CHUNK_INDEX_POSITION,
    &DATA_CRC,
    &DATA_END,
    &FOOTER,
    &ID_REUSED,
    &INDEX_POSITION,
    &MAGIC_END,
    &MESSAGE_UNCHUNKED,
    &MESSAGE_INDEX_COUNT,
    &MESSAGE_INDEX_OFFSET,
    &MESSAGE_INDEX_POSITION,
    &RECORD_UNKNOWN,
    &SCHEMA_BROKEN,
    &STATISTICS,
    &SUMMARY_CRC,
    &SUMMARY_MISSING,
    &SUMMARY_POSITION,
    &TRAILING,
];

pub(super) static ATTACHMENT_CRC: FindingCode = FindingCode::error(
    "mcap.attachment.crc",
    "the checksum of an attachment is wrong, so its data is damaged",
);
pub(super) static CHANNEL_SCHEMA: FindingCode = FindingCode::error(
    "mcap.channel.schema",
    "a channel has an undeclared schema; readers reject its messages",
);
pub(super) static CHANNEL_SCHEMALESS: FindingCode = FindingCode::note(
    "mcap.channel.schemaless",
    "a channel has no schema; unless its messages are JSON, only their raw bytes can be read",
);
pub(super) static CHANNEL_SUMMARY: FindingCode = FindingCode::error(
    "mcap.channel.summary",
    "the summary lacks a channel; readers that use the summary miss its messages",
);
pub(super) static CHANNEL_UNDECLARED: FindingCode = FindingCode::error(
    "mcap.channel.undeclared",
    "messages have a channel that is not declared before them; readers that start at the \
     beginning lose them",
);
pub(super) static CHUNK_COMPRESSION: FindingCode =
    FindingCode::error("mcap.chunk.compression", "a chunk has an unknown compression");
pub(super) static CHUNK_CRC: FindingCode = FindingCode::error(
    "mcap.chunk.crc",
    "the checksum of a chunk is wrong, so its data is damaged; readers reject it",
);
pub(super) static CHUNK_SIZE: FindingCode = FindingCode::error(
    "mcap.chunk.size",
    "the decompressed size of a chunk differs from the declared size; readers reject it",
);
pub(super) static CHUNK_TIME: FindingCode = FindingCode::error(
    "mcap.chunk.time",
    "a chunk has messages outside its declared time range; readers that select a time range \
     miss some",
);
pub(super) static CHUNK_INDEX_DIFFERS: FindingCode = FindingCode::error(
    "mcap.chunk_index.differs",
    "the summary and the header of a chunk contradict each other",
);
pub(super) static CHUNK_INDEX_MISSING: FindingCode = FindingCode::error(
    "mcap.chunk_index.missing",
    "the summary lacks a chunk; readers that use the summary miss its messages",
);
pub(super) static CHUNK_INDEX_POSITION: FindingCode = FindingCode::error(
    "mcap.chunk_index.position",
    "the summary lists a chunk at an offset without a chunk",
);
pub(super) static DATA_CRC: FindingCode = FindingCode::error(
    "mcap.data.crc",
    "the checksum of the data section is wrong, so its data is damaged",
);
pub(super) static DATA_END: FindingCode = FindingCode::error(
    "mcap.data.end",
    "the data end record is missing; some readers reject the file",
);
pub(super) static FOOTER: FindingCode = FindingCode::error(
    "mcap.footer.missing",
    "the footer is missing; the recorder did not close the file, or its end is lost",
);
pub(super) static ID_REUSED: FindingCode = FindingCode::error(
    "mcap.id.reused",
    "two different schemas or channels have the same id; readers reject the file, or confuse \
     the two",
);
pub(super) static INDEX_POSITION: FindingCode = FindingCode::error(
    "mcap.index.position",
    "the summary lists attachments, metadata or summary groups at wrong offsets",
);
pub(super) static MAGIC_END: FindingCode = FindingCode::error(
    "mcap.magic.end",
    "the file does not end with the MCAP magic bytes; readers that use the summary reject it",
);
pub(super) static MESSAGE_UNCHUNKED: FindingCode = FindingCode::note(
    "mcap.message.unchunked",
    "messages are beside the chunks; readers that use the index of the chunks skip them",
);
pub(super) static MESSAGE_INDEX_COUNT: FindingCode = FindingCode::error(
    "mcap.message_index.count",
    "the message index of a chunk has a different number of messages than the chunk",
);
pub(super) static MESSAGE_INDEX_OFFSET: FindingCode = FindingCode::error(
    "mcap.message_index.offset",
    "the message index of a chunk refers to an offset without a message of this channel and time",
);
pub(super) static MESSAGE_INDEX_POSITION: FindingCode = FindingCode::error(
    "mcap.message_index.position",
    "the summary lists the message index of a channel at a wrong offset",
);
pub(super) static RECORD_UNKNOWN: FindingCode = FindingCode::note(
    "mcap.record.unknown",
    "a record has an opcode that the specification does not define",
);
pub(super) static SCHEMA_BROKEN: FindingCode = FindingCode::error(
    "mcap.schema.broken",
    "a schema cannot be parsed; only the raw bytes of its messages can be read",
);
pub(super) static STATISTICS: FindingCode = FindingCode::error(
    "mcap.statistics",
    "the statistics contradict the number or the times of the messages, channels, chunks, \
     attachments or metadata records",
);
pub(super) static SUMMARY_CRC: FindingCode = FindingCode::error(
    "mcap.summary.crc",
    "the checksum of the summary is wrong; readers reject the file",
);
pub(super) static SUMMARY_MISSING: FindingCode = FindingCode::warning(
    "mcap.summary.missing",
    "the file has no summary; readers must scan the whole file",
);
pub(super) static SUMMARY_POSITION: FindingCode = FindingCode::error(
    "mcap.summary.position",
    "the summary is not at the offset in the footer",
);
pub(super) static TRAILING: FindingCode =
    FindingCode::warning("mcap.trailing", "there are bytes after the end of the file");
