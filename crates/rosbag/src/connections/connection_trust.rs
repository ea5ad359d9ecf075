//! Choosing between several copies of a connection.
//!
//! A bag declares a connection twice: in the chunk with its first message, and in the index.
//! If bytes were changed, one of the two copies is still as it was recorded.

use crate::{connections::connection::Connection, wire::Fields};

/// How far the header of a connection can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderTrust {
    /// It does not consist of fields, or lacks a required field.
    Broken,
    /// Its strings are not UTF-8, or the definition does not have the declared MD5 sum: some
    /// writers produce such headers.
    Doubtful,
    /// Nothing speaks against it.
    Sound,
}

/// The required fields.
const NEEDED: [&[u8]; 3] = [b"type", b"md5sum", b"message_definition"];

impl HeaderTrust {
    /// Returns how far the header of `connection` can be trusted.
    pub(crate) fn from_connection(connection: &Connection) -> Self {
        let mut fields = Fields::new(connection.header());
        let (mut presence, mut is_text) = ([false; NEEDED.len()], true);
        for (name, value) in fields.by_ref() {
            for (required, is_present) in NEEDED.iter().zip(&mut presence) {
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
        let is_summed = md5sum == "*"
            || definition.is_empty()
            || logtool_rosmsg::md5sum(type_name, definition)
                .is_ok_and(|sum| sum == *md5sum);
        if is_text && is_summed { Self::Sound } else { Self::Doubtful }
    }
}

/// Returns whether the header of `connection` ends in the middle of a field.
pub(crate) fn is_truncated(connection: &Connection) -> bool {
    let mut fields = Fields::new(connection.header());
    fields.by_ref().for_each(drop);
    fields.is_broken()
}

/// Returns whether `worse` is a corrupted copy of `better`: it has a lower [`HeaderTrust`], the same
/// topic, and the same type or MD5 sum if it declares them.
pub(crate) fn is_corrupted_copy(worse: &Connection, better: &Connection) -> bool {
    if worse.topic_bytes() != better.topic_bytes() || worse.header() == better.header()
    {
        return false;
    }
    let trust = HeaderTrust::from_connection(worse);
    let is_alike = worse.type_name == better.type_name || worse.md5sum == better.md5sum;
    (trust == HeaderTrust::Broken || is_alike)
        && trust < HeaderTrust::from_connection(better)
}

/// Returns whether `worse` is a copy of `better` under a wrong name: both headers are equal,
/// and name the topic of `better`.
pub(crate) fn is_misnamed(worse: &Connection, better: &Connection) -> bool {
    worse.header() == better.header()
        && worse.topic_bytes() != better.topic_bytes()
        && inner_topic(better) == Some(better.topic_bytes())
}

/// Returns the topic in the header of `connection` if it differs from its recorded topic.
pub(crate) fn other_topic(connection: &Connection) -> Option<&[u8]> {
    fn root(topic: &[u8]) -> &[u8] {
        topic.strip_prefix(b"/").unwrap_or(topic)
    }
    let inner = inner_topic(connection).filter(|inner| !inner.is_empty())?;
    (root(inner) != root(connection.topic_bytes())).then_some(inner)
}

/// Returns the topic in the header of `connection`.
fn inner_topic(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == b"topic").map(|(_, value)| value)
}
