//! What the topics of a capture are, and their decoders.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    capture::position,
    packet::definition,
    packet_columns::{self, PacketColumns},
    rows::{self, Rows, RowsDecoder},
};

/// The name of the format.
pub(crate) const FORMAT_NAME: &str = "pcap";

/// The encoding of the payloads: those of the datagrams.
pub(crate) const ENCODING: &str = "velodyne";

/// The name of the topics of one sort.
pub(crate) fn name(is_position: bool) -> &'static str {
    if is_position { "position" } else { "velodyne_packets" }
}

/// The name of the type of their records.
pub(crate) fn type_name(is_position: bool) -> &'static str {
    if is_position { "position packet" } else { "data packet" }
}

/// What they are made of, for people.
pub(crate) fn definition(is_position: bool) -> &'static str {
    if is_position { definition::POSITION } else { definition::DATA }
}

/// Their columns.
pub(crate) fn schema(is_position: bool) -> SchemaRef {
    match is_position {
        true => rows::schema(position::fields()),
        false => rows::schema(packet_columns::fields().into()),
    }
}

/// A decoder of them.
pub(crate) fn decoder(
    is_position: bool,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    let schema = schema(is_position);
    let wanted = rows::wanted(&schema, columns)?;
    if is_position {
        return position::decoder(&schema, &wanted);
    }
    let rows = DataRows(PacketColumns::new(&wanted));
    Ok(RowsDecoder::boxed(&schema, &wanted, rows))
}

struct DataRows(PacketColumns);

impl Rows for DataRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        self.0.append(record.payload).map(|()| 1)
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        self.0.finish().into()
    }
}
