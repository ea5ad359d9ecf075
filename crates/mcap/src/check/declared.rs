//! Schemas and channels, as little of them as is needed to see whether they fit together.

use crate::wire::{Channel, Schema, op};

/// A schema or a channel that is declared somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) kind: Kind,
    pub(super) id: u16,
    /// The checksum and the length of its known fields. The order of metadata and fields
    /// that a later specification adds have no meaning here.
    said: (u32, usize),
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Schema,
    /// A channel of this topic, with this schema; 0 is none.
    Channel(String, u16),
}

impl Declared {
    /// What is declared by a record of the kind `op`, if it can be read.
    pub(super) fn of(op: u8, content: &[u8]) -> Option<Self> {
        let said = |bytes: &[u8]| (crc32fast::hash(bytes), bytes.len());
        if op == op::SCHEMA {
            let Schema { id, name, encoding, data } = Schema::parse(content)?;
            let mut known = format!("{name:?} {encoding:?}").into_bytes();
            known.extend(data);
            return Some(Self { kind: Kind::Schema, id, said: said(&known) });
        }
        let Channel { id, schema, topic, encoding, metadata } =
            Channel::parse(content)?;
        let said = said(format!("{encoding:?} {metadata:?}").as_bytes());
        Some(Self { kind: Kind::Channel(topic, schema), id, said })
    }

    /// Returns the number of the channel, if it is one.
    pub(super) fn channel(&self) -> Option<u16> {
        matches!(self.kind, Kind::Channel(..)).then_some(self.id)
    }

    /// Whether it is of the same kind and number as `other`, and says something else.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let is_alike = matches!(
            (&self.kind, &other.kind),
            (Kind::Schema, Kind::Schema) | (Kind::Channel(..), Kind::Channel(..))
        );
        let says_else = self.said != other.said || self.kind != other.kind;
        is_alike && self.id == other.id && says_else
    }
}
