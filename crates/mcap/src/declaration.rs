//! Declarations of schemas and channels in a form that is cheap to store and compare.

use crate::wire::{Channel, Schema, op};

/// The declaration of a schema or a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) kind: DeclarationKind,
    pub(crate) id: u16,
    /// The CRC-32 and the length of the fields that are not in `kind` or `id`. They do not
    /// depend on the order of metadata or on fields that a later specification adds.
    checksum_and_len: (u32, usize),
}

/// The kind of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeclarationKind {
    Schema,
    /// A channel with its topic and its schema id, which is 0 if it has no schema.
    Channel(String, u16),
}

impl Declaration {
    pub(crate) fn from_schema(schema: &Schema) -> Self {
        let Schema { id, name, encoding, data } = schema;
        let (mut hasher, mut len) = (crc32fast::Hasher::new(), 0);
        for field in [name.as_bytes(), encoding.as_bytes(), data] {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
            len += field.len();
        }
        Self {
            kind: DeclarationKind::Schema,
            id: *id,
            checksum_and_len: (hasher.finalize(), len),
        }
    }

    pub(crate) fn from_channel(channel: &Channel) -> Self {
        let Channel { id, schema, topic, encoding, metadata } = channel;
        let fields = format!("{encoding:?} {metadata:?}");
        Self {
            kind: DeclarationKind::Channel(topic.clone(), *schema),
            id: *id,
            checksum_and_len: (crc32fast::hash(fields.as_bytes()), fields.len()),
        }
    }

    /// Parses the declaration in a record with the opcode `op`, which is that of a schema
    /// or of a channel.
    pub(crate) fn parse(op: u8, content: &[u8]) -> Option<Self> {
        match op {
            op::SCHEMA => {
                Schema::parse(content).map(|schema| Self::from_schema(&schema))
            }
            _ => Channel::parse(content).map(|channel| Self::from_channel(&channel)),
        }
    }

    /// Returns the opcode and the id.
    pub(crate) fn key(&self) -> (u8, u16) {
        match self.kind {
            DeclarationKind::Schema => (op::SCHEMA, self.id),
            DeclarationKind::Channel(..) => (op::CHANNEL, self.id),
        }
    }

    /// Returns the id, if this is a channel.
    pub(crate) fn channel_id(&self) -> Option<u16> {
        matches!(self.kind, DeclarationKind::Channel(..)).then_some(self.id)
    }

    /// Returns true if both declare the same schema id or the same channel id, but with
    /// different contents.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        self.key() == other.key() && self != other
    }
}
