//! What the records of a topic look like, as its connections define it.

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Decoder, LayoutDecoder, RawDecoder, Result, raw_schema};
use logtool_rosmsg::{Described, describe};

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
    describe(type_name, md5sum, text)
}

/// The columns of records that look so, or of which nothing is known but their bytes.
pub(crate) fn schema(described: &Result<Described>) -> SchemaRef {
    let decoder = described.as_ref().ok().and_then(|described| {
        LayoutDecoder::new(&described.layout, &Columns::default()).ok()
    });
    decoder.map_or_else(|| raw_schema("ns"), |decoder| decoder.schema().clone())
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
