//! What the records of a topic look like, as its connections define it.

use logtool_core::{Columns, Decoder, LayoutDecoder, RawDecoder, Result};
use logtool_rosmsg::{Described, define};

use crate::connection::Connection;

/// What the records of the `connections`, which share a topic and a type, look like:
/// what the first says that has a definition.
pub(crate) fn of_topic<'c>(
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<Described> {
    let (mut type_name, mut md5sum, mut text) = ("", "", "");
    for connection in connections {
        (type_name, md5sum) = (&connection.type_name, &connection.md5sum);
        text = &connection.definition;
        if !text.is_empty() {
            break;
        }
    }
    define(type_name, md5sum, text)
}

/// A decoder of the `columns` of such records.
pub(crate) fn decoder(
    described: &Result<Described>,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    match described {
        Ok(described) => Ok(Box::new(LayoutDecoder::new(&described.layout, columns)?)),
        Err(_) => Ok(Box::new(RawDecoder::new("ns", columns)?)),
    }
}
