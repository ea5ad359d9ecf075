//! The codes of findings in MCAP files.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All codes.
pub(crate) const CODES: &[&Code] = &[
    &ATTACHMENT_CRC,
    &CHANNEL_SCHEMA,
    &CHANNEL_SCHEMALESS,
    &CHANNEL_SUMMARY,
    &CHANNEL_UNDECLARED,
    &CHUNK_CRC,
    &CHUNK_PACKING,
    &CHUNK_SIZE,
    &CHUNK_TIME,
    &CHUNK_INDEX_DIFFERS,
    &CHUNK_INDEX_MISSING,
    &CHUNK_INDEX_PLACE,
    &DATA_CRC,
    &DATA_END,
    &FOOTER,
    &ID_REUSED,
    &INDEX_PLACE,
    &MAGIC_END,
    &MESSAGE_INDEX_COUNT,
    &MESSAGE_INDEX_OFFSET,
    &MESSAGE_INDEX_PLACE,
    &RECORD_UNKNOWN,
    &SCHEMA_BROKEN,
    &STATISTICS,
    &SUMMARY_CRC,
    &SUMMARY_MISSING,
    &SUMMARY_PLACE,
    &TRAILING,
];

const fn code(name: &'static str, severity: Severity, meaning: &'static str) -> Code {
    Code { name, severity, meaning }
}

pub(super) static ATTACHMENT_CRC: Code = code(
    "mcap.attachment.crc",
    Error,
    "the checksum of an attachment is wrong, so its data is damaged",
);
pub(super) static CHANNEL_SCHEMA: Code = code(
    "mcap.channel.schema",
    Error,
    "a channel has an undeclared schema; readers reject its messages",
);
pub(super) static CHANNEL_SCHEMALESS: Code = code(
    "mcap.channel.schemaless",
    Note,
    "a channel has no schema; unless its messages are JSON, only their raw bytes can be read",
);
pub(super) static CHANNEL_SUMMARY: Code = code(
    "mcap.channel.summary",
    Error,
    "the summary lacks a channel; readers that use the summary miss its messages",
);
pub(super) static CHANNEL_UNDECLARED: Code = code(
    "mcap.channel.undeclared",
    Error,
    "messages have a channel that is not declared before them; readers that start at the \
     beginning lose them",
);
pub(super) static CHUNK_CRC: Code = code(
    "mcap.chunk.crc",
    Error,
    "the checksum of a chunk is wrong, so its data is damaged; readers reject it",
);
pub(super) static CHUNK_PACKING: Code =
    code("mcap.chunk.packing", Error, "a chunk has an unknown compression");
pub(super) static CHUNK_SIZE: Code = code(
    "mcap.chunk.size",
    Error,
    "the decompressed size of a chunk differs from the declared size; readers reject it",
);
pub(super) static CHUNK_TIME: Code = code(
    "mcap.chunk.time",
    Error,
    "a chunk has messages outside its declared time range; readers that select a time range \
     miss some",
);
pub(super) static CHUNK_INDEX_DIFFERS: Code = code(
    "mcap.chunk_index.differs",
    Error,
    "the summary and the header of a chunk contradict each other",
);
pub(super) static CHUNK_INDEX_MISSING: Code = code(
    "mcap.chunk_index.missing",
    Error,
    "the summary lacks a chunk; readers that use the summary miss its messages",
);
pub(super) static CHUNK_INDEX_PLACE: Code = code(
    "mcap.chunk_index.place",
    Error,
    "the summary lists a chunk at an offset without a chunk",
);
pub(super) static DATA_CRC: Code = code(
    "mcap.data.crc",
    Error,
    "the checksum of the data section is wrong, so its data is damaged",
);
pub(super) static DATA_END: Code = code(
    "mcap.data.end",
    Error,
    "the data end record is missing; some readers reject the file",
);
pub(super) static FOOTER: Code = code(
    "mcap.footer.missing",
    Error,
    "the footer is missing; the recorder did not close the file, or its end is lost",
);
pub(super) static ID_REUSED: Code = code(
    "mcap.id.reused",
    Error,
    "two different schemas or channels have the same id; readers reject the file, or confuse \
     the two",
);
pub(super) static INDEX_PLACE: Code = code(
    "mcap.index.place",
    Error,
    "the summary lists attachments, metadata or summary groups at wrong offsets",
);
pub(super) static MAGIC_END: Code = code(
    "mcap.magic.end",
    Error,
    "the file does not end with the MCAP magic bytes; readers that use the summary reject it",
);
pub(super) static MESSAGE_INDEX_COUNT: Code = code(
    "mcap.message_index.count",
    Error,
    "the message index of a chunk has a different number of messages than the chunk",
);
pub(super) static MESSAGE_INDEX_OFFSET: Code = code(
    "mcap.message_index.offset",
    Error,
    "the message index of a chunk refers to an offset without a message of this channel and time",
);
pub(super) static MESSAGE_INDEX_PLACE: Code = code(
    "mcap.message_index.place",
    Error,
    "the summary lists the message index of a channel at a wrong offset",
);
pub(super) static RECORD_UNKNOWN: Code = code(
    "mcap.record.unknown",
    Note,
    "a record has an opcode that the specification does not define",
);
pub(super) static SCHEMA_BROKEN: Code = code(
    "mcap.schema.broken",
    Error,
    "a schema cannot be parsed; only the raw bytes of its messages can be read",
);
pub(super) static STATISTICS: Code = code(
    "mcap.statistics",
    Error,
    "the statistics contradict the number or the times of the messages, channels, chunks, \
     attachments or metadata records",
);
pub(super) static SUMMARY_CRC: Code = code(
    "mcap.summary.crc",
    Error,
    "the checksum of the summary is wrong; readers reject the file",
);
pub(super) static SUMMARY_MISSING: Code = code(
    "mcap.summary.missing",
    Warning,
    "the file has no summary; readers must scan the whole file",
);
pub(super) static SUMMARY_PLACE: Code =
    code("mcap.summary.place", Error, "the summary is not at the offset in the footer");
pub(super) static TRAILING: Code =
    code("mcap.trailing", Warning, "there are bytes after the end of the file");
