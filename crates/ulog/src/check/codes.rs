//! The codes of findings in ULogs.

use logtool_core::FindingCode;

/// All codes.
pub(crate) const CODES: &[&FindingCode] = &[
    &APPENDED,
    &APPENDED_NOWHERE,
    &COMPATIBLE,
    &DEFAULTS,
    &DROPOUT,
    &FLAGS_MISSING,
    &FORMAT_LATE,
    &FORMAT_NAME,
    &FORMAT_REDEFINED,
    &ID_REUSED,
    &INCOMPATIBLE,
    &INFO_DUPLICATE,
    &INFO_TEXT,
    &LEVEL,
    &PADDED,
    &DEFAULT_BITS,
    &REPLAY,
    &SYNC_MISSING,
    &SYNC_WRONG,
    &TIMESTAMP_IMPOSSIBLE,
    &TIMESTAMP_MISSING,
    &TIMESTAMP_NARROW,
    &TYPE_BROKEN,
    &UNKNOWN_MESSAGE,
    &UNSUBSCRIBED,
    &VERSION,
];

pub(super) static VERSION: FindingCode = FindingCode::note(
    "ulog.version",
    "the format version is newer than any known version",
);
pub(super) static FLAGS_MISSING: FindingCode = FindingCode::note(
    "ulog.flags.missing",
    "the log has no flag bits, like logs written before 2018; some readers reject it",
);
pub(super) static COMPATIBLE: FindingCode = FindingCode::note(
    "ulog.flags.compatible",
    "an unknown compatible flag bit is set, which readers may ignore",
);
pub(super) static INCOMPATIBLE: FindingCode = FindingCode::error(
    "ulog.flags.incompatible",
    "an unknown incompatible flag bit is set; the log was read nevertheless",
);
pub(super) static DEFAULTS: FindingCode = FindingCode::note(
    "ulog.flags.defaults",
    "the flag of default parameters does not agree with the contents of the log",
);
pub(super) static APPENDED: FindingCode = FindingCode::note(
    "ulog.appended",
    "a section was appended, e.g. after a crash; many readers ignore it",
);
pub(super) static APPENDED_NOWHERE: FindingCode = FindingCode::error(
    "ulog.appended.nowhere",
    "an appended section is declared at an impossible offset",
);
pub(super) static FORMAT_LATE: FindingCode = FindingCode::warning(
    "ulog.format.late",
    "a type is defined after the definitions section, where readers do not expect it",
);
pub(super) static FORMAT_REDEFINED: FindingCode = FindingCode::warning(
    "ulog.format.redefined",
    "a type has two different definitions; readers use one or the other",
);
pub(super) static FORMAT_NAME: FindingCode = FindingCode::warning(
    "ulog.format.name",
    "a type has the name of a basic type, which the specification forbids; readers may \
     confuse the two",
);
pub(super) static INFO_DUPLICATE: FindingCode = FindingCode::warning(
    "ulog.info.duplicate",
    "an information key occurs twice, which the specification forbids; readers use the \
     first or the last value",
);
pub(super) static INFO_TEXT: FindingCode = FindingCode::warning(
    "ulog.info.latin1",
    "a string value of an information is not UTF-8; it is read as Latin-1, or ends inside a \
     character",
);
pub(super) static LEVEL: FindingCode = FindingCode::warning(
    "ulog.string.level",
    "the level of a logged string is not between 0 and 7",
);
pub(super) static DEFAULT_BITS: FindingCode = FindingCode::warning(
    "ulog.parameter_default.bits",
    "a default parameter does not declare which default it is; readers ignore it",
);
pub(super) static UNSUBSCRIBED: FindingCode = FindingCode::warning(
    "ulog.id.unsubscribed",
    "records use a message id after its unsubscription",
);
pub(super) static TYPE_BROKEN: FindingCode = FindingCode::error(
    "ulog.type.broken",
    "the type of a topic is undefined, contains itself or is malformed: only the raw bytes \
     of its records can be read",
);
pub(super) static TIMESTAMP_MISSING: FindingCode = FindingCode::warning(
    "ulog.timestamp.missing",
    "the records of a topic have no timestamp; they get the time of the preceding record",
);
pub(super) static TIMESTAMP_NARROW: FindingCode = FindingCode::warning(
    "ulog.timestamp.narrow",
    "the timestamps of a topic have fewer than 64 bits; they wrap around, and most readers \
     do not support them",
);
pub(super) static TIMESTAMP_IMPOSSIBLE: FindingCode = FindingCode::warning(
    "ulog.timestamp.impossible",
    "records have impossible times: 0, or far from their neighbours",
);
pub(super) static ID_REUSED: FindingCode = FindingCode::warning(
    "ulog.id.reused",
    "a message id was reassigned to another topic",
);
pub(super) static UNKNOWN_MESSAGE: FindingCode = FindingCode::note(
    "ulog.message.unknown",
    "messages of an unknown type were skipped",
);
pub(super) static SYNC_MISSING: FindingCode = FindingCode::note(
    "ulog.sync.missing",
    "the log has no sync messages, so less data can be recovered after damage",
);
pub(super) static SYNC_WRONG: FindingCode = FindingCode::warning(
    "ulog.sync.wrong",
    "a sync message does not contain the magic bytes of the specification",
);
pub(super) static DROPOUT: FindingCode = FindingCode::warning(
    "ulog.dropout",
    "the logger lost records because writing was too slow",
);
pub(super) static PADDED: FindingCode = FindingCode::note(
    "ulog.padding",
    "records include the trailing padding that loggers omit; some readers drop such \
     records",
);
pub(super) static REPLAY: FindingCode =
    FindingCode::note("ulog.replay", "the log is a replay of another log");
