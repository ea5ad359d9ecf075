//! Which of several copies of a connection is to be believed.
//!
//! A bag tells of a connection twice: in the chunk with its first message, and in the
//! index. Where bytes were changed, one of the two is still as it was recorded.

use crate::{connection::Connection, wire::Fields};

/// How far what a connection says of itself can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trust {
    /// It is not made of fields, or lacks one that readers need.
    Broken,
    /// Its texts are not UTF-8, or the definition does not have its MD5 sum: some
    /// writers make such.
    Doubtful,
    /// Nothing speaks against it.
    Sound,
}

/// The fields that readers need.
const NEEDED: [&[u8]; 3] = [b"type", b"md5sum", b"message_definition"];

impl Trust {
    /// How far `connection` can be believed.
    pub(crate) fn of(connection: &Connection) -> Self {
        let mut fields = Fields::new(connection.header());
        let (mut found, mut is_text) = ([false; NEEDED.len()], true);
        for (name, value) in fields.by_ref() {
            for (needed, found) in NEEDED.iter().zip(&mut found) {
                if name == *needed {
                    *found = true;
                    is_text &= str::from_utf8(value).is_ok();
                }
            }
        }
        if fields.is_broken() || found.contains(&false) {
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

/// Whether the header of `connection` breaks off in the middle of a field.
pub(crate) fn is_torn(connection: &Connection) -> bool {
    let mut fields = Fields::new(connection.header());
    fields.by_ref().for_each(drop);
    fields.is_broken()
}

/// Whether `worse` is a spoiled copy of `better`: less to be believed, and of the same
/// topic, and type or MD5 sum if it tells them.
pub(crate) fn is_spoiled(worse: &Connection, better: &Connection) -> bool {
    if worse.topic_bytes() != better.topic_bytes() || worse.header() == better.header()
    {
        return false;
    }
    let trust = Trust::of(worse);
    let is_alike = worse.type_name == better.type_name || worse.md5sum == better.md5sum;
    (trust == Trust::Broken || is_alike) && trust < Trust::of(better)
}

/// Whether `worse` is a copy of `better` under a wrong name: what both say of themselves
/// is the same, and names the topic of `better`.
pub(crate) fn is_misnamed(worse: &Connection, better: &Connection) -> bool {
    worse.header() == better.header()
        && worse.topic_bytes() != better.topic_bytes()
        && inner_topic(better) == Some(better.topic_bytes())
}

/// The topic that `connection` itself says to be of, if it is of another.
pub(crate) fn other_topic(connection: &Connection) -> Option<&[u8]> {
    fn root(topic: &[u8]) -> &[u8] {
        topic.strip_prefix(b"/").unwrap_or(topic)
    }
    let inner = inner_topic(connection).filter(|inner| !inner.is_empty())?;
    (root(inner) != root(connection.topic_bytes())).then_some(inner)
}

/// The topic that `connection` itself says to be of.
fn inner_topic(connection: &Connection) -> Option<&[u8]> {
    let mut fields = Fields::new(connection.header());
    fields.find(|(name, _)| *name == b"topic").map(|(_, value)| value)
}
