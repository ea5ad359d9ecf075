//! Decoding messages to columns, by the descriptors of their type.
//!
//! | in the message | as a column |
//! |---|---|
//! | a number, `bool`, `string`, `bytes` | the same; if absent, 0 or empty, or null with presence (`optional` or in a oneof) |
//! | an enumeration | its number; names are labels |
//! | a message | a struct, null if absent |
//! | `repeated`, packed or not | a list |
//! | `map` | a list of structs `key`, `value` |
//! | `google.protobuf.Timestamp`, `Duration` | a time, null if absent |
//!
//! Unknown fields are legal. They are counted as trailing bytes of the message and dropped.
//! Trailing bytes that cannot be a field are counted too, if a field was read before them. A known
//! field that is truncated makes the message undecodable.

mod labels;
mod read;
#[cfg(test)]
mod tests;
mod types;

use std::{fmt, sync::Arc};

use logtool_core::{Branch, Result, RowSummary, StructType, TreeReader};

use crate::{descriptor::FileSet, message::types::MessageType};

pub use self::labels::labels;

/// Decodes messages of a type.
#[derive(Clone)]
pub struct MessageReader {
    struct_type: StructType,
    root: Arc<MessageType>,
}

impl MessageReader {
    /// Creates a reader for messages of the type with the full name `type_name` in `files`.
    ///
    /// # Errors
    /// `NoSuch` if this type, or the type of a field, does not exist; `Unsupported` if it cannot
    /// be mapped to columns, e.g. because it contains itself; `Limit` if it has too many fields.
    pub fn new(files: &FileSet, type_name: &str) -> Result<Self> {
        let (struct_type, root) = types::resolve(files, type_name)?;
        Ok(Self { struct_type, root })
    }

    /// Returns the structure of the rows.
    pub fn struct_type(&self) -> &StructType {
        &self.struct_type
    }
}

impl TreeReader for MessageReader {
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        max_items: u64,
    ) -> Option<RowSummary> {
        let mut decoder =
            read::RowDecoder { max_items, added_items: 0, extra_bytes: 0 };
        decoder.root(&self.root, payload, row)?;
        if decoder.added_items <= max_items {
            read::close(&self.root, row)?;
        }
        Some(RowSummary {
            items: decoder.added_items,
            type_mismatches: 0,
            extra_bytes: decoder.extra_bytes,
        })
    }
}

impl fmt::Debug for MessageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageReader")
            .field("type_name", &self.struct_type.type_name)
            .finish_non_exhaustive()
    }
}
