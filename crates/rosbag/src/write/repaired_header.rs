//! What is written of a connection that not every reader reads as it is.

use std::collections::BTreeSet;

use logtool_core::decode_text;

use crate::{
    connection::Connection, connection_trust::Trust, wire::Fields, write::encode,
};

/// The fields of a connection as they are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) header: Vec<u8>,
    /// What is otherwise than in the log, and why.
    pub(crate) changes: Vec<String>,
}

/// The fields of `connection` as they are, if readers can read them; else those that are
/// whole, and the others that readers need. For who is careful also as every reader reads
/// them: in UTF-8 (what is not is taken for Latin-1, as in [`Connection`]), and latching by a
/// number.
pub(crate) fn written(connection: &Connection, is_careful: bool) -> Written {
    if !is_careful && Trust::of(connection) != Trust::Broken {
        return Written { header: connection.header().to_vec(), changes: Vec::new() };
    }
    let (mut header, mut changes, mut names) =
        (Vec::new(), Vec::new(), BTreeSet::new());
    let is_utf8 = |value: &[u8]| str::from_utf8(value).is_ok();
    let mut is_text = is_utf8(connection.topic_bytes());
    let word = connection.latching_word().filter(|_| is_careful);
    let latching = if connection.is_latching() { b"1" } else { b"0" };
    let mut fields = Fields::new(connection.header());
    for (name, value) in fields.by_ref() {
        match name {
            _ if !is_careful => encode::field(&mut header, name, value),
            b"latching" if word.is_some() => encode::field(&mut header, name, latching),
            _ => encode::field(&mut header, name, decode_text(value).as_bytes()),
        }
        is_text &= is_utf8(value);
        names.insert(name);
    }
    if fields.is_broken() {
        changes
            .push("breaks off within a field, of which nothing is written".to_owned());
    }
    let needed: [(&[u8], &[u8]); 4] = [
        (b"md5sum", b"*"),
        (b"message_definition", b""),
        (b"topic", connection.topic_bytes()),
        (b"type", b"*"),
    ];
    // Readers do without the topic, which they have from the record.
    if needed.iter().any(|(name, _)| *name != b"topic" && !names.contains(name)) {
        let what = "lacks fields, and has none or \"*\" in their place in the new bag";
        changes.push(what.to_owned());
    }
    if Trust::of(connection) == Trust::Broken {
        for (name, value) in
            needed.into_iter().filter(|(name, _)| !names.contains(name))
        {
            encode::field(&mut header, name, value);
        }
    }
    if let Some(word) = word {
        changes.push(format!(
            "latches by the word {word:?}, now by a number, so that every reader reads it"
        ));
    }
    if is_careful && !is_text {
        let what = "has texts that are not UTF-8, taken for Latin-1, so that every reader \
                    reads it";
        changes.push(what.to_owned());
    }
    Written { header, changes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Raw;

    fn field(name: &str, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode::field(&mut bytes, name.as_bytes(), value);
        bytes
    }

    /// A header with all that readers need, and `more`.
    fn whole(more: &[Vec<u8>]) -> Vec<u8> {
        let needed = [field("md5sum", b"*"), field("message_definition", b"")];
        [&needed, &[field("type", b"*")][..], more].concat().concat()
    }

    fn mended(header: &[u8], is_careful: bool) -> (Vec<u8>, String) {
        let connection = Connection::new(Raw::new(0, b"/t", header));
        let Written { header, changes } = written(&connection, is_careful);
        (header, changes.join("; "))
    }

    #[test]
    fn what_not_every_reader_reads_becomes_what_each_does_and_all_else_stays() {
        let latin = whole(&[field("callerid", b"\xb0C"), field("b", b"x")]);
        let utf8 = whole(&[field("callerid", "°C".as_bytes()), field("b", b"x")]);
        assert_eq!(mended(&latin, false), (latin.clone(), String::new()));
        let (header, why) = mended(&latin, true);
        assert_eq!(header, utf8);
        assert!(why.starts_with("has texts that are not UTF-8"), "{why}");
        assert_eq!(mended(&utf8, true), (utf8.clone(), String::new()));
        for (word, number) in [("True", "1"), ("no", "0")] {
            let of = |value: &str| whole(&[field("latching", value.as_bytes())]);
            let (header, why) = mended(&of(word), true);
            assert_eq!(header, of(number));
            assert!(why.starts_with(&format!("latches by the word {word:?}")), "{why}");
            assert_eq!(mended(&of(number), true), (of(number), String::new()));
        }
        let empty = whole(&[field("latching", b"")]);
        assert_eq!(mended(&empty, true), (empty.clone(), String::new()));
    }

    #[test]
    fn each_change_has_its_own_reason() {
        for is_careful in [false, true] {
            let torn = [whole(&[]), b"\x09\0\0\0lat".to_vec()].concat();
            let (header, why) = mended(&torn, is_careful);
            assert_eq!(header, whole(&[field("topic", b"/t")]));
            assert_eq!(why, "breaks off within a field, of which nothing is written");
            let (_, why) = mended(&field("type", b"a/B"), is_careful);
            assert!(why.starts_with("lacks fields") && !why.contains(';'), "{why}");
        }
        let both = whole(&[field("latching", b"true"), field("callerid", b"\xb0")]);
        let (_, why) = mended(&both, true);
        assert!(why.contains("latches by") && why.contains("not UTF-8"), "{why}");
    }
}
