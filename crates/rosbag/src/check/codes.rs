//! The codes of what is found in bags.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All of them.
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
    code("bag.version", Note, "the bag is of another version than 2.0");
pub(super) static HEADER_MISSING: Code =
    code("bag.header.missing", Error, "the header of the bag cannot be read");
pub(super) static HEADER_CONNECTIONS: Code = code(
    "bag.header.connections",
    Error,
    "the index has more connections than the header says, or fewer: ROS reads as many \
     as it says",
);
pub(super) static HEADER_CHUNKS: Code = code(
    "bag.header.chunks",
    Error,
    "the index has more chunk infos than the header says, or fewer: ROS reads as many \
     as it says",
);
pub(super) static UNFINISHED: Code = code(
    "bag.unfinished",
    Error,
    "the recorder never closed the bag: it has no index, and ROS refuses it",
);
pub(super) static INDEX_PLACE: Code = code(
    "bag.index.place",
    Error,
    "the index is not where the header says: ROS refuses the bag",
);
pub(super) static INDEX_CUT: Code =
    code("bag.index.cut", Error, "the index breaks off, or is broken");
pub(super) static ENCRYPTED: Code = code(
    "bag.encrypted",
    Note,
    "the bag is encrypted: what its key does not open was not looked at",
);
pub(super) static CHUNK_PACKING: Code =
    code("bag.chunk.packing", Error, "a chunk is packed in a way that nobody knows");
pub(super) static CHUNK_SIZE: Code = code(
    "bag.chunk.size",
    Error,
    "a chunk is longer when unpacked than it says, or shorter: some readers lose it",
);
pub(super) static CHUNK_LENGTH: Code =
    code("bag.chunk.length", Error, "the data of a chunk are not as long as it says");
pub(super) static CHUNK_CHECKSUM: Code = code(
    "bag.chunk.checksum",
    Warning,
    "a checksum of a packed chunk is wrong: something in it may be",
);
pub(super) static CHUNK_UNFINISHED: Code = code(
    "bag.chunk.unfinished",
    Error,
    "the recorder was ended while it wrote a chunk, which says that it is empty",
);
pub(super) static CHUNK_INFO_MISSING: Code = code(
    "bag.chunk_info.missing",
    Error,
    "the index does not tell of a chunk: readers that use it miss its messages",
);
pub(super) static CHUNK_INFO_PLACE: Code =
    code("bag.chunk_info.place", Error, "the index tells of a chunk where none is");
pub(super) static CHUNK_INFO_COUNT: Code = code(
    "bag.chunk_info.count",
    Error,
    "a chunk has more messages of a connection than the index says, or fewer",
);
pub(super) static CHUNK_INFO_TIME: Code = code(
    "bag.chunk_info.time",
    Error,
    "the messages of a chunk are not of the times that the index says: who asks for a \
     time misses some",
);
pub(super) static INDEX_DATA_MISSING: Code = code(
    "bag.index_data.missing",
    Error,
    "a chunk has messages of a connection and no index of them: ROS misses them",
);
pub(super) static INDEX_DATA_VERSION: Code = code(
    "bag.index_data.version",
    Error,
    "the index of a chunk is of a version other than 1, which ROS refuses",
);
pub(super) static INDEX_DATA_LENGTH: Code = code(
    "bag.index_data.length",
    Error,
    "the index of a chunk is not as long as its count says (as ROS before 1.1.15 wrote)",
);
pub(super) static INDEX_DATA_OFFSET: Code = code(
    "bag.index_data.offset",
    Error,
    "the index of a chunk points to where there is no such message of this connection \
     and time",
);
pub(super) static INDEX_DATA_COUNT: Code = code(
    "bag.index_data.count",
    Error,
    "the index of a chunk has more messages of a connection than the chunk, or fewer",
);
pub(super) static CONNECTION_REUSED: Code = code(
    "bag.connection.reused",
    Error,
    "two connections have one number: readers take the messages of the one for the \
     other's",
);
pub(super) static CONNECTION_DIFFERS: Code = code(
    "bag.connection.differs",
    Error,
    "the index tells of a connection otherwise than a chunk: readers that use the one \
     and those that use the other do not agree",
);
pub(super) static CONNECTION_LATCHING: Code = code(
    "bag.connection.latching",
    Warning,
    "a connection says otherwise than by a number that it latches: Python's rosbags refuses \
     the bag",
);
pub(super) static CONNECTION_TEXT: Code = code(
    "bag.connection.text",
    Warning,
    "a connection has a text that is not UTF-8: Python's rosbags refuses the bag",
);
pub(super) static CONNECTION_UNDECLARED: Code = code(
    "bag.connection.undeclared",
    Error,
    "messages are of a connection that is declared nowhere",
);
pub(super) static CONNECTION_IN_INDEX_ONLY: Code = code(
    "bag.connection.index_only",
    Warning,
    "a chunk has messages of a connection that neither it nor one before it declares: \
     they cannot be read without the index",
);
pub(super) static CONNECTION_IN_CHUNKS_ONLY: Code = code(
    "bag.connection.chunks_only",
    Error,
    "a connection is declared in chunks and not in the index: ROS misses its messages",
);
pub(super) static DEFINITION_ODD: Code = code(
    "bag.definition.odd",
    Warning,
    "the definition of a type is empty, or does not have the MD5 sum that the \
     connection says",
);
pub(super) static DEFINITION_BROKEN: Code = code(
    "bag.definition.broken",
    Error,
    "the definition of a type cannot be understood: only the bytes of its messages can \
     be read",
);
pub(super) static MESSAGE_OUTSIDE: Code = code(
    "bag.message.outside",
    Warning,
    "messages are in no chunk: readers that use the index miss them",
);
pub(super) static MESSAGE_NANOSECONDS: Code = code(
    "bag.message.nanoseconds",
    Warning,
    "messages have a second or more as the nanoseconds of their time: readers add them to the \
     seconds, or refuse them",
);
pub(super) static MESSAGE_TIME_ZERO: Code = code(
    "bag.message.time_zero",
    Warning,
    "messages are of time 0, and the C++ library of ROS leaves them out",
);
pub(super) static CONNECTION_BROKEN: Code = code(
    "bag.connection.broken",
    Error,
    "a connection cannot be read, or lacks a field: ROS refuses the bag",
);
pub(super) static RECORD_UNKNOWN: Code =
    code("bag.record.unknown", Note, "a record is of a kind that no version knows");
pub(super) static ZEROS: Code = code(
    "bag.zeros",
    Warning,
    "there are zero bytes between records, on which some readers stop",
);
pub(super) static TRAILING: Code =
    code("bag.trailing", Warning, "there are bytes behind the index");
