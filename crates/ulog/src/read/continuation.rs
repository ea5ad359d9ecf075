//! The start of a log that continues another one.

use logtool_core::{Manifest, Timestamp};

use crate::{
    format_state::FormatState,
    topics::registry::Declaration,
    wire::{self, kind},
};

/// The bit of the incompatible flags that declares appended sections.
const APPENDED: u8 = 1;

/// Returns a file header and the declarations of the log with this `manifest` and `state`. If later
/// messages of the file follow these bytes, they are read in the same way as in the file.
///
/// The start of logging in the header is the time of the last record, because the plausibility of
/// times and the values of narrow counters depend on it. Parameters are omitted, because records do
/// not depend on them.
pub(crate) fn continuation(manifest: &Manifest, state: &FormatState) -> Vec<u8> {
    let header = &state.file_header;
    let start = manifest.time.map_or(header.start, |time| time.end.max(header.start));
    let mut bytes = wire::MAGIC.to_vec();
    bytes.push(header.version);
    bytes.extend(micros(start).to_le_bytes());

    let mut flags = [header.compatible_flags, header.incompatible_flags].concat();
    if let Some(flags_byte) = flags.get_mut(8) {
        *flags_byte &= !APPENDED;
    }
    if flags.iter().any(|flag| *flag != 0) {
        flags.resize(40, 0);
        append(&mut bytes, kind::FLAG_BITS, &flags);
    }
    // Information first: after a subscription, it would be in the data section.
    for declaration in &state.declarations {
        if let Declaration::Metadata { kind, payload, .. } = declaration
            && [kind::INFO, kind::INFO_MULTIPLE].contains(kind)
        {
            append(&mut bytes, *kind, payload);
        }
    }
    for declaration in &state.declarations {
        match declaration {
            Declaration::Format(name, fields) => {
                append(&mut bytes, kind::FORMAT, format!("{name}:{fields}").as_bytes());
            }
            Declaration::Subscription { id, name, instance, .. } => {
                let mut payload = vec![*instance];
                payload.extend(id.to_le_bytes());
                payload.extend(name.as_bytes());
                append(&mut bytes, kind::SUBSCRIPTION, &payload);
            }
            Declaration::Metadata { .. } | Declaration::OmittedTopics { .. } => {}
        }
    }
    bytes
}

/// Converts a time to microseconds; 0 if it is negative.
fn micros(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanos() / 1_000).unwrap_or(0)
}

/// Appends a message. The payload of a declaration always fits into a message; a longer payload is
/// omitted.
fn append(bytes: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    if let Ok(len) = u16::try_from(payload.len()) {
        bytes.extend(len.to_le_bytes());
        bytes.push(kind);
        bytes.extend(payload);
    }
}
