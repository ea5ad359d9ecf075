//! Choosing between several copies of a connection.
//!
//! A bag declares a connection twice: in the chunk with its first message, and in the index.
//! If bytes of one copy were changed, the other one is still as it was recorded.

use crate::{connections::connection::Connection, wire::Fields};

/// How far the header of a connection can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderTrust {
    /// The header does not consist of fields, or lacks a required field.
    Broken,
    /// A string in the header is not UTF-8, or the definition does not have the declared MD5 sum.
    /// (Some writers produce such headers.)
    Doubtful,
    /// The header has no anomaly.
    Sound,
}

/// The fields that every header must have.
const REQUIRED_FIELDS: [&[u8]; 3] = [b"type", b"md5sum", b"message_definition"];

impl HeaderTrust {
    /// Returns how far the header of `connection` can be trusted.
    pub(crate) fn from_connection(connection: &Connection) -> Self {
        let mut fields = Fields::new(connection.header());
        let (mut presence, mut is_text) = ([false; REQUIRED_FIELDS.len()], true);
        for (name, value) in fields.by_ref() {
            for (required, is_present) in REQUIRED_FIELDS.iter().zip(&mut presence) {
                if name == *required {
                    *is_present = true;
                    is_text &= str::from_utf8(value).is_ok();
                }
            }
        }
        if fields.is_broken() || presence.contains(&false) {
            return Self::Broken;
        }
        let Connection { type_name, md5sum, definition, .. } = connection;
        let has_declared_sum = md5sum == "*"
            || definition.is_empty()
            || logtool_rosmsg::md5sum(type_name, definition)
                .is_ok_and(|sum| sum == *md5sum);
        if is_text && has_declared_sum { Self::Sound } else { Self::Doubtful }
    }
}

/// Returns whether the header of `connection` ends in the middle of a field.
pub(crate) fn is_truncated(connection: &Connection) -> bool {
    let mut fields = Fields::new(connection.header());
    fields.by_ref().for_each(drop);
    fields.is_broken()
}

/// Returns whether `worse` is a corrupted copy of `better`: it has a lower [`HeaderTrust`], the
/// same topic, and the same type or MD5 sum if it declares them.
pub(crate) fn is_corrupted_copy(worse: &Connection, better: &Connection) -> bool {
    if worse.topic_bytes() != better.topic_bytes() || worse.header() == better.header()
    {
        return false;
    }
    let trust = HeaderTrust::from_connection(worse);
    let has_same_type =
        worse.type_name == better.type_name || worse.md5sum == better.md5sum;
    (trust == HeaderTrust::Broken || has_same_type)
        && trust < HeaderTrust::from_connection(better)
}

/// Returns whether `worse` is a copy of `better` with a wrong topic: both headers are equal, and
/// contain the topic of `better`.
pub(crate) fn is_misnamed(worse: &Connection, better: &Connection) -> bool {
    worse.header() == better.header()
        && worse.topic_bytes() != better.topic_bytes()
        && header_topic(better) == Some(better.topic_bytes())
}

/// Returns the topic in the header of `connection`, if it differs from the topic of the record. A
/// missing leading slash is not a difference.
pub(crate) fn differing_header_topic(connection: &Connection) -> Option<&[u8]> {
    fn root(topic: &[u8]) -> &[u8] {
        topic.strip_prefix(b"/").unwrap_or(topic)
    }
    let inner = header_topic(connection).filter(|inner| !inner.is_empty())?;
    (root(inner) != root(connection.topic_bytes())).then_some(inner)
}

/// Returns the topic in the header of `connection`.
fn header_topic(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == b"topic").map(|(_, value)| value)
}
