//! Connection headers in a form that every reader accepts.

use std::collections::BTreeSet;

use logtool_core::decode_text;

use crate::{
    connections::{connection::Connection, connection_trust::HeaderTrust},
    wire::Fields,
    write::encode,
};

/// The fields of a connection in the form in which they are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RepairedHeader {
    pub(crate) header: Vec<u8>,
    /// The changes to the original header, and their reasons.
    pub(crate) changes: Vec<String>,
}

/// Returns the fields of `connection` unchanged if they can be read. Otherwise, returns the fields
/// that are complete, and defaults for the required fields that are missing. If `is_repair`, the
/// values are also converted so that every reader accepts them: strings to UTF-8 (from Latin-1, as
/// in [`Connection`]), and a word for latching to a number.
pub(crate) fn repair_header(
    connection: &Connection,
    is_repair: bool,
) -> RepairedHeader {
    if !is_repair && HeaderTrust::from_connection(connection) != HeaderTrust::Broken {
        return RepairedHeader {
            header: connection.header().to_vec(),
            changes: Vec::new(),
        };
    }
    let (mut header, mut changes, mut names) =
        (Vec::new(), Vec::new(), BTreeSet::new());
    let is_utf8 = |value: &[u8]| str::from_utf8(value).is_ok();
    let mut is_text = is_utf8(connection.topic_bytes());
    let latching_word = connection.latching_word().filter(|_| is_repair);
    let latching = if connection.is_latching() { b"1" } else { b"0" };
    let mut fields = Fields::new(connection.header());
    for (name, value) in fields.by_ref() {
        match name {
            _ if !is_repair => encode::field(&mut header, name, value),
            b"latching" if latching_word.is_some() => {
                encode::field(&mut header, name, latching)
            }
            _ => encode::field(&mut header, name, decode_text(value).as_bytes()),
        }
        is_text &= is_utf8(value);
        names.insert(name);
    }
    if fields.is_broken() {
        changes.push("is truncated within a field, which is dropped".to_owned());
    }
    let required: [(&[u8], &[u8]); 4] = [
        (b"md5sum", b"*"),
        (b"message_definition", b""),
        (b"topic", connection.topic_bytes()),
        (b"type", b"*"),
    ];
    // A missing topic is not reported: readers do not need it, because the record has it too.
    if required.iter().any(|(name, _)| *name != b"topic" && !names.contains(name)) {
        let change = "lacks fields, which are empty or \"*\" in the new bag";
        changes.push(change.to_owned());
    }
    if HeaderTrust::from_connection(connection) == HeaderTrust::Broken {
        for (name, value) in
            required.into_iter().filter(|(name, _)| !names.contains(name))
        {
            encode::field(&mut header, name, value);
        }
    }
    if let Some(word) = latching_word {
        changes.push(format!(
            "declares latching by the word {word:?}, now by a number for compatibility"
        ));
    }
    if is_repair && !is_text {
        let change = "has strings that are not UTF-8; they were converted from Latin-1 for \
                    compatibility";
        changes.push(change.to_owned());
    }
    RepairedHeader { header, changes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::connection::RawConnection;

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode::field(&mut bytes, name.as_bytes(), value);
        bytes
    }

    /// Returns a header with all required fields, followed by `other_fields`.
    fn complete_header(other_fields: &[Vec<u8>]) -> Vec<u8> {
        let required = [field("md5sum", b"*"), field("message_definition", b"")];
        [&required, &[field("type", b"*")][..], other_fields].concat().concat()
    }

    /// Returns the repaired header, and the changes, joined by "; ".
    fn repair_fields(header: &[u8], is_repair: bool) -> (Vec<u8>, String) {
        let connection = Connection::new(RawConnection::new(0, b"/t", header));
        let RepairedHeader { header, changes } = repair_header(&connection, is_repair);
        (header, changes.join("; "))
    }

    #[test]
    fn repair_converts_values_for_every_reader() {
        let latin = complete_header(&[field("callerid", b"\xb0C"), field("b", b"x")]);
        let utf8 =
            complete_header(&[field("callerid", "°C".as_bytes()), field("b", b"x")]);
        assert_eq!(repair_fields(&latin, false), (latin.clone(), String::new()));
        let (header, reason) = repair_fields(&latin, true);
        assert_eq!(header, utf8);
        assert!(reason.starts_with("has strings that are not UTF-8"), "{reason}");
        assert_eq!(repair_fields(&utf8, true), (utf8.clone(), String::new()));
        for (word, number) in [("True", "1"), ("no", "0")] {
            let latching_header =
                |value: &str| complete_header(&[field("latching", value.as_bytes())]);
            let (header, reason) = repair_fields(&latching_header(word), true);
            assert_eq!(header, latching_header(number));
            let start = format!("declares latching by the word {word:?}");
            assert!(reason.starts_with(&start), "{reason}");
            assert_eq!(
                repair_fields(&latching_header(number), true),
                (latching_header(number), String::new())
            );
        }
        let empty = complete_header(&[field("latching", b"")]);
        assert_eq!(repair_fields(&empty, true), (empty.clone(), String::new()));
    }

    #[test]
    fn each_change_is_described() {
        for is_repair in [false, true] {
            let truncated = [complete_header(&[]), b"\x09\0\0\0lat".to_vec()].concat();
            let (header, reason) = repair_fields(&truncated, is_repair);
            assert_eq!(header, complete_header(&[field("topic", b"/t")]));
            assert_eq!(reason, "is truncated within a field, which is dropped");
            let (_, reason) = repair_fields(&field("type", b"a/B"), is_repair);
            assert!(
                reason.starts_with("lacks fields") && !reason.contains(';'),
                "{reason}"
            );
        }
        let fields =
            complete_header(&[field("latching", b"true"), field("callerid", b"\xb0")]);
        let (_, reason) = repair_fields(&fields, true);
        assert!(
            reason.contains("declares latching") && reason.contains("not UTF-8"),
            "{reason}"
        );
    }
}
