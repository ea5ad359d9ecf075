//! The codes of what is found in ULogs.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

/// All of them.
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
    code("ulog.version", Note, "the version is newer than any that is known");
pub(super) static FLAGS_MISSING: Code = code(
    "ulog.flags.missing",
    Note,
    "there are no flag bits, as in logs of before 2018; some readers refuse that",
);
pub(super) static COMPATIBLE: Code = code(
    "ulog.flags.compatible",
    Note,
    "a compatible flag bit is set that nobody knows, and readers may ignore",
);
pub(super) static INCOMPATIBLE: Code = code(
    "ulog.flags.incompatible",
    Error,
    "an incompatible flag bit is set that nobody knows: it was read all the same",
);
pub(super) static DEFAULTS: Code = code(
    "ulog.flags.defaults",
    Note,
    "the flag of default parameters is set and there are none, or the other way round",
);
pub(super) static APPENDED: Code = code(
    "ulog.appended",
    Note,
    "a section was appended, after a crash for one; many readers do not read it",
);
pub(super) static APPENDED_NOWHERE: Code = code(
    "ulog.appended.nowhere",
    Error,
    "a section is said to be appended where none can be",
);
pub(super) static FORMAT_LATE: Code = code(
    "ulog.format.late",
    Warning,
    "a type is defined behind the definitions, where readers do not expect it",
);
pub(super) static FORMAT_REDEFINED: Code = code(
    "ulog.format.redefined",
    Warning,
    "a type is defined twice, differently: readers take the one or the other",
);
pub(super) static FORMAT_NAME: Code = code(
    "ulog.format.name",
    Warning,
    "a type has the name of a basic type, which the specification forbids: readers take the \
     one for the other",
);
pub(super) static INFO_DUPLICATE: Code = code(
    "ulog.info.duplicate",
    Warning,
    "an information key occurs twice, which the specification forbids: readers keep the first \
     or the last",
);
pub(super) static INFO_TEXT: Code = code(
    "ulog.info.latin1",
    Warning,
    "a text of an information is not UTF-8, and is read as Latin-1",
);
pub(super) static LEVEL: Code = code(
    "ulog.string.level",
    Warning,
    "the level of a logged string is not one of 0 to 7",
);
pub(super) static DEFAULT_BITS: Code = code(
    "ulog.parameter_default.bits",
    Warning,
    "a default parameter has no bit that declares which default it is: readers ignore it",
);
pub(super) static UNSUBSCRIBED: Code = code(
    "ulog.id.unsubscribed",
    Warning,
    "records have a message id that was unsubscribed before",
);
pub(super) static TYPE_BROKEN: Code = code(
    "ulog.type.broken",
    Error,
    "a topic has a type that is not defined, contains itself or cannot be understood: \
     only the bytes of its records can be read",
);
pub(super) static TIMESTAMP_MISSING: Code = code(
    "ulog.timestamp.missing",
    Warning,
    "the records of a topic have no timestamp; they get that of what is before them",
);
pub(super) static TIMESTAMP_NARROW: Code = code(
    "ulog.timestamp.narrow",
    Warning,
    "the timestamps of a topic have less than 64 bits, which wraps around and most \
     readers do not read",
);
pub(super) static ODD_TIME: Code = code(
    "ulog.timestamp.odd",
    Warning,
    "records have times that cannot be right: 0, or far from those around",
);
pub(super) static ID_REUSED: Code =
    code("ulog.id.reused", Warning, "a message id stood for another topic before");
pub(super) static UNKNOWN_MESSAGE: Code = code(
    "ulog.message.unknown",
    Note,
    "messages of a type that nobody knows were passed over",
);
pub(super) static SYNC_MISSING: Code = code(
    "ulog.sync.missing",
    Note,
    "there are no sync marks: after damage, less can be found again",
);
pub(super) static SYNC_WRONG: Code = code(
    "ulog.sync.wrong",
    Warning,
    "a sync mark does not have the bytes that it should have",
);
pub(super) static DROPOUT: Code = code(
    "ulog.dropout",
    Warning,
    "the logger lost records, because writing was too slow",
);
pub(super) static PADDED: Code = code(
    "ulog.padding",
    Note,
    "records have the padding at their ends, which loggers leave out; some readers \
     drop such records",
);
pub(super) static REPLAY: Code =
    code("ulog.replay", Note, "the log is the replay of another one");
