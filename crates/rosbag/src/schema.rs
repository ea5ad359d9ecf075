//! What the records of a topic look like: the place where definitions are plugged in.

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Decoder, Result};

use crate::{
    raw::{RawDecoder, raw_schema},
    table::Entry,
};

/// The definition of the records of the connections `entries`, which share a topic and
/// a type: the first that has one.
pub(crate) fn definition<'e>(mut entries: impl Iterator<Item = &'e Entry>) -> String {
    let text =
        |entry: &'e Entry| Some(&entry.connection.definition).filter(|d| !d.is_empty());
    entries.find_map(text).cloned().unwrap_or_default()
}

/// The columns of the topic of which `entry` is the first connection.
pub(crate) fn of(_: &Entry) -> SchemaRef {
    raw_schema()
}

/// A decoder of the `columns` of the topic of which `entry` is the first connection.
pub(crate) fn decoder(_: &Entry, columns: &Columns) -> Result<Box<dyn Decoder>> {
    Ok(Box::new(RawDecoder::new(columns)?))
}
