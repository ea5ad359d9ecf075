//! Puts messages together: `{u16 size, u8 kind, payload}`, the size that of the payload.

use logtool_core::{Error, ErrorKind, Result};

use crate::wire::kind;

/// Whether messages of this kind can only stand behind the definitions.
pub(super) const fn is_data(kind: u8) -> bool {
    matches!(
        kind,
        kind::SUBSCRIPTION
            | kind::UNSUBSCRIPTION
            | kind::DATA
            | kind::STRING
            | kind::TAGGED_STRING
            | kind::SYNC
            | kind::DROPOUT
    )
}

/// Whether, to readers, the data begins with a message of this kind at the latest.
pub(super) const fn begins_data(kind: u8) -> bool {
    matches!(kind, kind::SUBSCRIPTION | kind::DATA | kind::STRING | kind::TAGGED_STRING)
}

/// How long the payload of these parts is, if a message can be that long.
pub(super) fn checked_len(kind: u8, parts: &[&[u8]]) -> Result<u16> {
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    u16::try_from(len).map_err(|_| {
        let what = format!("a message {:?} of {len} bytes", char::from(kind));
        Error::new(ErrorKind::Limit, what)
    })
}

/// Appends the message whose payload is `parts`, `len` bytes in all, to `buffer`.
pub(super) fn append(buffer: &mut Vec<u8>, kind: u8, len: u16, parts: &[&[u8]]) {
    buffer.extend_from_slice(&len.to_le_bytes());
    buffer.push(kind);
    for part in parts {
        buffer.extend_from_slice(part);
    }
}
