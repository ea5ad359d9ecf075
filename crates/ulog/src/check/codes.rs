//! The codes of findings in ULogs.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All codes.
pub(crate) const CODES: &[&Code] = &[
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
    &ODD_TIME,
    &PADDED,
    &DEFAULT_BITS,
    &REPLAY,
    &SYNC_MISSING,
    &SYNC_WRONG,
    &TIMESTAMP_MISSING,
    &TIMESTAMP_NARROW,
    &TYPE_BROKEN,
    &UNKNOWN_MESSAGE,
    &UNSUBSCRIBED,
    &VERSION,
];

const fn code(name: &'static str, severity: Severity, meaning: &'static str) -> Code {
    Code { name, severity, meaning }
}

pub(super) static VERSION: Code =
    code("ulog.version", Note, "the format version is newer than any known version");
pub(super) static FLAGS_MISSING: Code = code(
    "ulog.flags.missing",
    Note,
    "the log has no flag bits, like logs written before 2018; some readers reject it",
);
pub(super) static COMPATIBLE: Code = code(
    "ulog.flags.compatible",
    Note,
    "an unknown compatible flag bit is set, which readers may ignore",
);
pub(super) static INCOMPATIBLE: Code = code(
    "ulog.flags.incompatible",
    Error,
    "an unknown incompatible flag bit is set; the log was read nevertheless",
);
pub(super) static DEFAULTS: Code = code(
    "ulog.flags.defaults",
    Note,
    "the flag of default parameters does not agree with the contents of the log",
);
pub(super) static APPENDED: Code = code(
    "ulog.appended",
    Note,
    "a section was appended, e.g. after a crash; many readers ignore it",
);
pub(super) static APPENDED_NOWHERE: Code = code(
    "ulog.appended.nowhere",
    Error,
    "an appended section is declared at an impossible offset",
);
pub(super) static FORMAT_LATE: Code = code(
    "ulog.format.late",
    Warning,
    "a type is defined after the definitions section, where readers do not expect it",
);
pub(super) static FORMAT_REDEFINED: Code = code(
    "ulog.format.redefined",
    Warning,
    "a type has two different definitions; readers use one or the other",
);
pub(super) static FORMAT_NAME: Code = code(
    "ulog.format.name",
    Warning,
    "a type has the name of a basic type, which the specification forbids; readers may \
     confuse the two",
);
pub(super) static INFO_DUPLICATE: Code = code(
    "ulog.info.duplicate",
    Warning,
    "an information key occurs twice, which the specification forbids; readers use the \
     first or the last value",
);
pub(super) static INFO_TEXT: Code = code(
    "ulog.info.latin1",
    Warning,
    "a string value of an information is not UTF-8; it is read as Latin-1",
);
pub(super) static LEVEL: Code = code(
    "ulog.string.level",
    Warning,
    "the level of a logged string is not between 0 and 7",
);
pub(super) static DEFAULT_BITS: Code = code(
    "ulog.parameter_default.bits",
    Warning,
    "a default parameter does not declare which default it is; readers ignore it",
);
pub(super) static UNSUBSCRIBED: Code = code(
    "ulog.id.unsubscribed",
    Warning,
    "records use a message id after its unsubscription",
);
pub(super) static TYPE_BROKEN: Code = code(
    "ulog.type.broken",
    Error,
    "the type of a topic is undefined, contains itself or is malformed: only the raw bytes \
     of its records can be read",
);
pub(super) static TIMESTAMP_MISSING: Code = code(
    "ulog.timestamp.missing",
    Warning,
    "the records of a topic have no timestamp; they get the time of the preceding record",
);
pub(super) static TIMESTAMP_NARROW: Code = code(
    "ulog.timestamp.narrow",
    Warning,
    "the timestamps of a topic have fewer than 64 bits; they wrap around, and most readers \
     do not support them",
);
pub(super) static ODD_TIME: Code = code(
    "ulog.timestamp.odd",
    Warning,
    "records have implausible times: 0, or far from their neighbors",
);
pub(super) static ID_REUSED: Code =
    code("ulog.id.reused", Warning, "a message id was reassigned to another topic");
pub(super) static UNKNOWN_MESSAGE: Code =
    code("ulog.message.unknown", Note, "messages of an unknown type were skipped");
pub(super) static SYNC_MISSING: Code = code(
    "ulog.sync.missing",
    Note,
    "the log has no sync messages, so less data can be recovered after damage",
);
pub(super) static SYNC_WRONG: Code = code(
    "ulog.sync.wrong",
    Warning,
    "a sync message does not contain the magic bytes of the specification",
);
pub(super) static DROPOUT: Code = code(
    "ulog.dropout",
    Warning,
    "the logger lost records because writing was too slow",
);
pub(super) static PADDED: Code = code(
    "ulog.padding",
    Note,
    "records include the trailing padding that loggers omit; some readers drop such \
     records",
);
pub(super) static REPLAY: Code =
    code("ulog.replay", Note, "the log is a replay of another log");
