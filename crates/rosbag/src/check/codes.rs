//! The codes of findings in bags.

use logtool_core::FindingCode;

/// All codes.
pub(crate) const CODES: &[&FindingCode] = &[
    &CHUNK_CHECKSUM,
    &CHUNK_COMPRESSION,
    &CHUNK_INFO_COUNT,
    &CHUNK_INFO_MISSING,
    &CHUNK_INFO_POSITION,
    &CHUNK_INFO_TIME,
    &CHUNK_LENGTH,
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
    &DEFINITION_MISMATCH,
    &ENCRYPTED,
    &HEADER_CHUNKS,
    &HEADER_CONNECTIONS,
    &HEADER_MISSING,
    &INDEX_DATA_COUNT,
    &INDEX_DATA_LENGTH,
    &INDEX_DATA_MISSING,
    &INDEX_DATA_OFFSET,
    &INDEX_DATA_VERSION,
    &INDEX_POSITION,
    &INDEX_TRUNCATED,
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

pub(super) static LINE_MISSING: FindingCode =
    FindingCode::error("bag.line.missing", "the first line of a bag is missing");
pub(super) static VERSION: FindingCode =
    FindingCode::note("bag.version", "the version of the bag is not 2.0");
pub(super) static HEADER_MISSING: FindingCode =
    FindingCode::error("bag.header.missing", "the header of the bag cannot be read");
pub(super) static HEADER_CONNECTIONS: FindingCode = FindingCode::error(
    "bag.header.connections",
    "the bag header and the index have different numbers of connections: ROS reads the number in \
     the header",
);
pub(super) static HEADER_CHUNKS: FindingCode = FindingCode::error(
    "bag.header.chunks",
    "the bag header and the index have different numbers of chunk infos: ROS reads the number in \
     the header",
);
pub(super) static UNFINISHED: FindingCode = FindingCode::error(
    "bag.unfinished",
    "the recorder did not close the bag: it has no index, and ROS refuses it",
);
pub(super) static INDEX_POSITION: FindingCode = FindingCode::error(
    "bag.index.position",
    "the index is not at the position in the bag header: ROS refuses the bag",
);
pub(super) static INDEX_TRUNCATED: FindingCode =
    FindingCode::error("bag.index.truncated", "the index is truncated or broken");
pub(super) static ENCRYPTED: FindingCode = FindingCode::note(
    "bag.encrypted",
    "the bag is encrypted: parts that cannot be decrypted were not checked",
);
pub(super) static CHUNK_COMPRESSION: FindingCode = FindingCode::error(
    "bag.chunk.compression",
    "a chunk has an unsupported compression",
);
pub(super) static CHUNK_SIZE: FindingCode = FindingCode::error(
    "bag.chunk.size",
    "a chunk does not decompress to its declared size: some readers lose it",
);
pub(super) static CHUNK_LENGTH: FindingCode = FindingCode::error(
    "bag.chunk.length",
    "the data of a chunk do not have their declared length",
);
pub(super) static CHUNK_CHECKSUM: FindingCode = FindingCode::warning(
    "bag.chunk.checksum",
    "a checksum of a compressed chunk is wrong: its content may be damaged",
);
pub(super) static CHUNK_UNFINISHED: FindingCode = FindingCode::error(
    "bag.chunk.unfinished",
    "the recorder was killed while it wrote a chunk, whose header still declares that it is empty",
);
pub(super) static CHUNK_INFO_MISSING: FindingCode = FindingCode::error(
    "bag.chunk_info.missing",
    "the index does not list a chunk: readers that use the index miss its messages",
);
pub(super) static CHUNK_INFO_POSITION: FindingCode = FindingCode::error(
    "bag.chunk_info.position",
    "the index lists a chunk at a wrong position",
);
pub(super) static CHUNK_INFO_COUNT: FindingCode = FindingCode::error(
    "bag.chunk_info.count",
    "a chunk and the index have different numbers of messages of a connection",
);
pub(super) static CHUNK_INFO_TIME: FindingCode = FindingCode::error(
    "bag.chunk_info.time",
    "a chunk has messages outside the time range in the index: readers that select a time \
     miss some",
);
pub(super) static INDEX_DATA_MISSING: FindingCode = FindingCode::error(
    "bag.index_data.missing",
    "a chunk has messages of a connection but no index data for them: ROS misses them",
);
pub(super) static INDEX_DATA_VERSION: FindingCode = FindingCode::error(
    "bag.index_data.version",
    "the index data of a chunk have a version other than 1, which ROS refuses",
);
pub(super) static INDEX_DATA_LENGTH: FindingCode = FindingCode::error(
    "bag.index_data.length",
    "the index data of a chunk do not have the length of their count (as written by ROS \
     before 1.1.15)",
);
pub(super) static INDEX_DATA_OFFSET: FindingCode = FindingCode::error(
    "bag.index_data.offset",
    "an entry of index data points to a position without a message of this connection \
     and time",
);
pub(super) static INDEX_DATA_COUNT: FindingCode = FindingCode::error(
    "bag.index_data.count",
    "the index data of a chunk and the chunk have different numbers of messages of a connection",
);
pub(super) static CONNECTION_REUSED: FindingCode = FindingCode::error(
    "bag.connection.reused",
    "two connections have the same id: readers mix up their messages",
);
pub(super) static CONNECTION_DIFFERS: FindingCode = FindingCode::error(
    "bag.connection.differs",
    "the index and a chunk declare a connection differently: the result depends on which \
     of the two a reader uses",
);
pub(super) static CONNECTION_LATCHING: FindingCode = FindingCode::warning(
    "bag.connection.latching",
    "a connection declares latching by a word instead of a number: the Python package rosbags \
     refuses the bag",
);
pub(super) static CONNECTION_TEXT: FindingCode = FindingCode::warning(
    "bag.connection.text",
    "a connection has a string that is not UTF-8: the Python package rosbags refuses the bag",
);
pub(super) static CONNECTION_UNDECLARED: FindingCode = FindingCode::error(
    "bag.connection.undeclared",
    "messages belong to a connection that is not declared",
);
pub(super) static CONNECTION_IN_INDEX_ONLY: FindingCode = FindingCode::warning(
    "bag.connection.index_only",
    "a chunk has messages of a connection that neither it nor an earlier chunk declares: \
     they cannot be read without the index",
);
pub(super) static CONNECTION_IN_CHUNKS_ONLY: FindingCode = FindingCode::error(
    "bag.connection.chunks_only",
    "a connection is declared in chunks but not in the index: ROS misses its messages",
);
pub(super) static DEFINITION_MISMATCH: FindingCode = FindingCode::warning(
    "bag.definition.mismatch",
    "the definition of a type is empty, or does not have the declared MD5 sum",
);
pub(super) static DEFINITION_BROKEN: FindingCode = FindingCode::error(
    "bag.definition.broken",
    "the definition of a type cannot be parsed: its messages can be read as raw bytes only",
);
pub(super) static MESSAGE_OUTSIDE: FindingCode = FindingCode::warning(
    "bag.message.outside",
    "messages lie outside chunks: readers that use the index miss them",
);
pub(super) static MESSAGE_NANOSECONDS: FindingCode = FindingCode::warning(
    "bag.message.nanoseconds",
    "the nanoseconds of message times are a second or more: some readers add them to the \
     seconds, others refuse them",
);
pub(super) static MESSAGE_TIME_ZERO: FindingCode = FindingCode::warning(
    "bag.message.time_zero",
    "messages have the time 0: the C++ library of ROS drops them",
);
pub(super) static CONNECTION_BROKEN: FindingCode = FindingCode::error(
    "bag.connection.broken",
    "a connection cannot be read, or lacks a required field: ROS refuses the bag",
);
pub(super) static RECORD_UNKNOWN: FindingCode =
    FindingCode::note("bag.record.unknown", "a record has an unknown kind");
pub(super) static ZEROS: FindingCode = FindingCode::warning(
    "bag.zeros",
    "there are zero bytes between records: some readers stop there",
);
pub(super) static TRAILING: FindingCode =
    FindingCode::warning("bag.trailing", "there are bytes after the index");
