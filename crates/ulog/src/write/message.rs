//! Encodes messages: `{u16 size, u8 kind, payload}`, where `size` is the length of the
//! payload.

use logtool_core::{Error, ErrorKind, Result};

use crate::wire::kind;

/// Returns true if messages of this kind may only follow the definitions.
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

/// Returns true if a message of this kind ends the definitions for readers.
pub(super) const fn ends_definitions(kind: u8) -> bool {
    matches!(kind, kind::SUBSCRIPTION | kind::DATA | kind::STRING | kind::TAGGED_STRING)
}

/// Returns the length of the concatenated `parts`, if it fits into a message.
pub(super) fn checked_len(kind: u8, parts: &[&[u8]]) -> Result<u16> {
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    u16::try_from(len).map_err(|_| {
        let message =
            format!("a message {:?} cannot have {len} bytes", char::from(kind));
        Error::new(ErrorKind::Limit, message)
    })
}

/// Appends a message with the concatenated payload `parts`, `len` bytes in total.
pub(super) fn append(buffer: &mut Vec<u8>, kind: u8, len: u16, parts: &[&[u8]]) {
    buffer.extend_from_slice(&len.to_le_bytes());
    buffer.push(kind);
    for part in parts {
        buffer.extend_from_slice(part);
    }
}
