//! The codes of what is found in MCAP files.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All of them.
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
    "the checksum of an attached file is wrong: something in it is",
);
pub(super) static CHANNEL_SCHEMA: Code = code(
    "mcap.channel.schema",
    Error,
    "a channel has a schema that is declared nowhere: readers refuse its messages",
);
pub(super) static CHANNEL_SCHEMALESS: Code = code(
    "mcap.channel.schemaless",
    Note,
    "a channel has no schema: only the bytes of its messages can be read, but for JSON",
);
pub(super) static CHANNEL_SUMMARY: Code = code(
    "mcap.channel.summary",
    Error,
    "the summary does not repeat a channel: readers that go by it miss its messages",
);
pub(super) static CHANNEL_UNDECLARED: Code = code(
    "mcap.channel.undeclared",
    Error,
    "messages are of a channel that is not declared before them: readers that read from \
     the start lose them",
);
pub(super) static CHUNK_CRC: Code = code(
    "mcap.chunk.crc",
    Error,
    "the checksum of a chunk is wrong: something in it is, and readers refuse it",
);
pub(super) static CHUNK_PACKING: Code =
    code("mcap.chunk.packing", Error, "a chunk is packed in a way that is not known");
pub(super) static CHUNK_SIZE: Code = code(
    "mcap.chunk.size",
    Error,
    "a chunk is longer or shorter when unpacked than it says: readers refuse it",
);
pub(super) static CHUNK_TIME: Code = code(
    "mcap.chunk.time",
    Error,
    "a chunk has messages before or after the times that it says: who asks for a time \
     misses some",
);
pub(super) static CHUNK_INDEX_DIFFERS: Code = code(
    "mcap.chunk_index.differs",
    Error,
    "the summary says something else of a chunk than the chunk itself",
);
pub(super) static CHUNK_INDEX_MISSING: Code = code(
    "mcap.chunk_index.missing",
    Error,
    "the summary does not tell of a chunk: readers that go by it miss its messages",
);
pub(super) static CHUNK_INDEX_PLACE: Code =
    code("mcap.chunk_index.place", Error, "the summary tells of a chunk where none is");
pub(super) static DATA_CRC: Code = code(
    "mcap.data.crc",
    Error,
    "the checksum of all data is wrong: something in them is",
);
pub(super) static DATA_END: Code = code(
    "mcap.data.end",
    Error,
    "the record that ends the data is missing: some readers refuse the file",
);
pub(super) static FOOTER: Code = code(
    "mcap.footer.missing",
    Error,
    "the footer is missing: the recorder did not close the file, or its end is lost",
);
pub(super) static ID_REUSED: Code = code(
    "mcap.id.reused",
    Error,
    "two schemas or channels have one number and differ: readers refuse the file, or take \
     the one for the other",
);
pub(super) static INDEX_PLACE: Code = code(
    "mcap.index.place",
    Error,
    "the summary tells of attached files, metadata or groups of its own where none are",
);
pub(super) static MAGIC_END: Code = code(
    "mcap.magic.end",
    Error,
    "the file does not end as MCAP files do: readers that go by the summary refuse it",
);
pub(super) static MESSAGE_INDEX_COUNT: Code = code(
    "mcap.message_index.count",
    Error,
    "the index of a chunk has more messages of a channel than the chunk, or fewer",
);
pub(super) static MESSAGE_INDEX_OFFSET: Code = code(
    "mcap.message_index.offset",
    Error,
    "the index of a chunk points to where there is no message of this channel and time",
);
pub(super) static MESSAGE_INDEX_PLACE: Code = code(
    "mcap.message_index.place",
    Error,
    "the summary tells of the index of a channel in a chunk where none is",
);
pub(super) static RECORD_UNKNOWN: Code = code(
    "mcap.record.unknown",
    Note,
    "a record is of a kind that the specification does not know",
);
pub(super) static SCHEMA_BROKEN: Code = code(
    "mcap.schema.broken",
    Error,
    "a schema cannot be understood: only the bytes of its messages can be read",
);
pub(super) static STATISTICS: Code = code(
    "mcap.statistics",
    Error,
    "the statistics count other messages, channels, chunks or files than there are, or \
     tell other times",
);
pub(super) static SUMMARY_CRC: Code = code(
    "mcap.summary.crc",
    Error,
    "the checksum of the summary is wrong: readers refuse the file",
);
pub(super) static SUMMARY_MISSING: Code = code(
    "mcap.summary.missing",
    Warning,
    "there is no summary: readers have to go through all of the file",
);
pub(super) static SUMMARY_PLACE: Code =
    code("mcap.summary.place", Error, "the summary is not where the footer says");
pub(super) static TRAILING: Code =
    code("mcap.trailing", Warning, "there are bytes behind the end of the file");
