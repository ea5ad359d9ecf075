//! Messages as columns, by the descriptors of their type.
//!
//! | in the message | as a column |
//! |---|---|
//! | a number, `bool`, `string`, `bytes` | the same, 0 or empty where it is not told; null if it is `optional`, or of a oneof |
//! | an enumeration | its number; names are labels |
//! | a message | a struct, null where it is not told |
//! | `repeated`, packed or not | a list |
//! | `map` | a list of structs `key`, `value` |
//! | `google.protobuf.Timestamp`, `Duration` | a time, null where it is not told |
//!
//! Unknown fields are legal. They are counted as surplus bytes of the message and left out.
//! Trailing bytes that cannot be a field are surplus too, if a field was read before them. A
//! known field that is cut makes the message undecodable.

mod labels;
mod read;
#[cfg(test)]
mod tests;
mod types;

use std::{fmt, sync::Arc};

use logtool_core::{Branch, Result, RowSummary, StructShape, TreeReader};

use crate::{descriptor::FileSet, message::types::Type};

pub use self::labels::labels;

/// Reads messages of a type.
#[derive(Clone)]
pub struct MessageReader {
    shape: StructShape,
    root: Arc<Type>,
}

impl MessageReader {
    /// A reader of messages of the type with the full name `type_name`, which is in
    /// `files`.
    ///
    /// # Errors
    /// `NoSuch` if that type, or one that it has, is not there; `Unsupported` if it is one
    /// that columns cannot be made of: one that contains itself, for one; `Limit` if it has
    /// too many fields.
    pub fn new(files: &FileSet, type_name: &str) -> Result<Self> {
        let (shape, root) = types::resolve(files, type_name)?;
        Ok(Self { shape, root })
    }

    /// What the messages look like.
    pub fn shape(&self) -> &StructShape {
        &self.shape
    }
}

impl TreeReader for MessageReader {
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        most: u64,
    ) -> Option<RowSummary> {
        let mut reading = read::Reading { most, added: 0, surplus: 0 };
        reading.root(&self.root, payload, row)?;
        if reading.added <= most {
            read::close(&self.root, row)?;
        }
        Some(RowSummary { items: reading.added, misfits: 0, surplus: reading.surplus })
    }
}

impl fmt::Debug for MessageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageReader")
            .field("type_name", &self.shape.type_name)
            .finish_non_exhaustive()
    }
}
