//! The codes of findings in bags.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All codes.
pub(crate) const CODES: &[&Code] = &[
    &CHUNK_CHECKSUM,
    &CHUNK_INFO_COUNT,
    &CHUNK_INFO_MISSING,
    &CHUNK_INFO_PLACE,
    &CHUNK_INFO_TIME,
    &CHUNK_LENGTH,
    &CHUNK_PACKING,
    &CHUNK_SIZE,
    &CHUNK_UNFINISHED,
    &CONNECTION_BROKEN,
    &CONNECTION_DIFFERS,
    &CONNECTION_IN_CHUNKS_ONLY,
    &CONNECTION_IN_INDEX_ONLY,
    &CONNECTION_LATCHING,
    &CONNECTION_REUSED,
    &CONNECTION_TEXT,
    &CONNECTION_UNDECLARED,
    &DEFINITION_BROKEN,
    &DEFINITION_ODD,
    &ENCRYPTED,
    &HEADER_CHUNKS,
    &HEADER_CONNECTIONS,
    &HEADER_MISSING,
    &INDEX_CUT,
    &INDEX_DATA_COUNT,
    &INDEX_DATA_LENGTH,
    &INDEX_DATA_MISSING,
    &INDEX_DATA_OFFSET,
    &INDEX_DATA_VERSION,
    &INDEX_PLACE,
    &LINE_MISSING,
    &MESSAGE_NANOSECONDS,
    &MESSAGE_OUTSIDE,
    &MESSAGE_TIME_ZERO,
    &RECORD_UNKNOWN,
    &TRAILING,
    &UNFINISHED,
    &VERSION,
    &ZEROS,
];

const fn code(name: &'static str, severity: Severity, meaning: &'static str) -> Code {
    Code { name, severity, meaning }
}

pub(super) static LINE_MISSING: Code =
    code("bag.line.missing", Error, "the first line of a bag is missing");
pub(super) static VERSION: Code =
    code("bag.version", Note, "the version of the bag is not 2.0");
pub(super) static HEADER_MISSING: Code =
    code("bag.header.missing", Error, "the header of the bag cannot be read");
pub(super) static HEADER_CONNECTIONS: Code = code(
    "bag.header.connections",
    Error,
    "the bag header declares another number of connections than the index has: ROS reads \
     the declared number",
);
pub(super) static HEADER_CHUNKS: Code = code(
    "bag.header.chunks",
    Error,
    "the bag header declares another number of chunk infos than the index has: ROS reads \
     the declared number",
);
pub(super) static UNFINISHED: Code = code(
    "bag.unfinished",
    Error,
    "the recorder did not close the bag: it has no index, and ROS refuses it",
);
pub(super) static INDEX_PLACE: Code = code(
    "bag.index.place",
    Error,
    "the index is not at the position in the bag header: ROS refuses the bag",
);
pub(super) static INDEX_CUT: Code =
    code("bag.index.cut", Error, "the index is truncated or broken");
pub(super) static ENCRYPTED: Code = code(
    "bag.encrypted",
    Note,
    "the bag is encrypted: parts that cannot be decrypted were not checked",
);
pub(super) static CHUNK_PACKING: Code =
    code("bag.chunk.packing", Error, "a chunk has an unsupported compression");
pub(super) static CHUNK_SIZE: Code = code(
    "bag.chunk.size",
    Error,
    "a chunk does not decompress to its declared size: some readers lose it",
);
pub(super) static CHUNK_LENGTH: Code = code(
    "bag.chunk.length",
    Error,
    "the data of a chunk do not have their declared length",
);
pub(super) static CHUNK_CHECKSUM: Code = code(
    "bag.chunk.checksum",
    Warning,
    "a checksum of a compressed chunk is wrong: its content may be damaged",
);
pub(super) static CHUNK_UNFINISHED: Code = code(
    "bag.chunk.unfinished",
    Error,
    "the recorder was killed while it wrote a chunk, which still declares to be empty",
);
pub(super) static CHUNK_INFO_MISSING: Code = code(
    "bag.chunk_info.missing",
    Error,
    "the index does not list a chunk: readers that use the index miss its messages",
);
pub(super) static CHUNK_INFO_PLACE: Code =
    code("bag.chunk_info.place", Error, "the index lists a chunk where there is none");
pub(super) static CHUNK_INFO_COUNT: Code = code(
    "bag.chunk_info.count",
    Error,
    "a chunk has another number of messages of a connection than the index declares",
);
pub(super) static CHUNK_INFO_TIME: Code = code(
    "bag.chunk_info.time",
    Error,
    "a chunk has messages outside the time range in the index: readers that select a time \
     miss some",
);
pub(super) static INDEX_DATA_MISSING: Code = code(
    "bag.index_data.missing",
    Error,
    "a chunk has messages of a connection but no index data for them: ROS misses them",
);
pub(super) static INDEX_DATA_VERSION: Code = code(
    "bag.index_data.version",
    Error,
    "the index data of a chunk have a version other than 1, which ROS refuses",
);
pub(super) static INDEX_DATA_LENGTH: Code = code(
    "bag.index_data.length",
    Error,
    "the index data of a chunk do not have the length of their count (as written by ROS \
     before 1.1.15)",
);
pub(super) static INDEX_DATA_OFFSET: Code = code(
    "bag.index_data.offset",
    Error,
    "an entry of index data points to a position without a message of this connection \
     and time",
);
pub(super) static INDEX_DATA_COUNT: Code = code(
    "bag.index_data.count",
    Error,
    "the index data of a chunk have another number of messages of a connection than the chunk",
);
pub(super) static CONNECTION_REUSED: Code = code(
    "bag.connection.reused",
    Error,
    "two connections have the same id: readers mix up their messages",
);
pub(super) static CONNECTION_DIFFERS: Code = code(
    "bag.connection.differs",
    Error,
    "the index and a chunk declare a connection differently: the result depends on which \
     of the two a reader uses",
);
pub(super) static CONNECTION_LATCHING: Code = code(
    "bag.connection.latching",
    Warning,
    "a connection declares latching by a word instead of a number: the Python package rosbags \
     refuses the bag",
);
pub(super) static CONNECTION_TEXT: Code = code(
    "bag.connection.text",
    Warning,
    "a connection has a string that is not UTF-8: the Python package rosbags refuses the bag",
);
pub(super) static CONNECTION_UNDECLARED: Code = code(
    "bag.connection.undeclared",
    Error,
    "messages belong to a connection that is not declared",
);
pub(super) static CONNECTION_IN_INDEX_ONLY: Code = code(
    "bag.connection.index_only",
    Warning,
    "a chunk has messages of a connection that neither it nor an earlier chunk declares: \
     they cannot be read without the index",
);
pub(super) static CONNECTION_IN_CHUNKS_ONLY: Code = code(
    "bag.connection.chunks_only",
    Error,
    "a connection is declared in chunks but not in the index: ROS misses its messages",
);
pub(super) static DEFINITION_ODD: Code = code(
    "bag.definition.odd",
    Warning,
    "the definition of a type is empty, or does not have the declared MD5 sum",
);
pub(super) static DEFINITION_BROKEN: Code = code(
    "bag.definition.broken",
    Error,
    "the definition of a type cannot be parsed: its messages can be read as raw bytes only",
);
pub(super) static MESSAGE_OUTSIDE: Code = code(
    "bag.message.outside",
    Warning,
    "messages lie outside chunks: readers that use the index miss them",
);
pub(super) static MESSAGE_NANOSECONDS: Code = code(
    "bag.message.nanoseconds",
    Warning,
    "the nanoseconds of message times are a second or more: some readers add them to the \
     seconds, others refuse them",
);
pub(super) static MESSAGE_TIME_ZERO: Code = code(
    "bag.message.time_zero",
    Warning,
    "messages have the time 0: the C++ library of ROS drops them",
);
pub(super) static CONNECTION_BROKEN: Code = code(
    "bag.connection.broken",
    Error,
    "a connection cannot be read, or lacks a required field: ROS refuses the bag",
);
pub(super) static RECORD_UNKNOWN: Code =
    code("bag.record.unknown", Note, "a record has an unknown kind");
pub(super) static ZEROS: Code = code(
    "bag.zeros",
    Warning,
    "there are zero bytes between records: some readers stop there",
);
pub(super) static TRAILING: Code =
    code("bag.trailing", Warning, "there are bytes after the index");
