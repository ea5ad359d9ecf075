//! The topics of a capture and their decoders.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    PACKETS_TOPIC,
    capture::decode::position,
    packet::definition,
    packet_columns::{self, PacketColumns},
    rows::{self, RowBuilders, RowsDecoder},
};

/// The name of the format.
pub(crate) const FORMAT_NAME: &str = "pcap";

/// The encoding of the records. The payload of a record is that of a datagram.
pub(crate) const ENCODING: &str = "velodyne";

/// Returns the name of the topics of position packets or data packets.
pub(crate) fn name(is_position: bool) -> &'static str {
    if is_position { "position" } else { PACKETS_TOPIC }
}

/// Returns the type name of the records.
pub(crate) fn type_name(is_position: bool) -> &'static str {
    if is_position { "position packet" } else { "data packet" }
}

/// Returns the definition of the records as text.
pub(crate) fn definition(is_position: bool) -> &'static str {
    if is_position { definition::POSITION } else { definition::DATA }
}

/// Returns the columns of position packets or data packets.
pub(crate) fn schema(is_position: bool) -> SchemaRef {
    if is_position {
        rows::schema(position::fields())
    } else {
        rows::schema(packet_columns::fields().into())
    }
}

/// Returns a decoder of position packets or data packets.
pub(crate) fn decoder(
    is_position: bool,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    let schema = schema(is_position);
    let is_selected = rows::selected_columns(&schema, columns)?;
    if is_position {
        return Ok(position::decoder(&schema, &is_selected));
    }
    let rows = DataRows(PacketColumns::new(&is_selected));
    Ok(RowsDecoder::decoder(&schema, &is_selected, rows))
}

struct DataRows(PacketColumns);

impl RowBuilders for DataRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        self.0.append(record.payload).map(|()| 1)
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        self.0.finish().into()
    }
}
