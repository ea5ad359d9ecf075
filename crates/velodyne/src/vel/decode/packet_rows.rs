//! The undecoded packets of the lidar, one row each. A message contains the packets of some
//! milliseconds.

use arrow_array::{
    ArrayRef,
    builder::{Int32Builder, UInt8Builder, UInt32Builder},
};
use arrow_schema::{DataType, Field};
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    packet_columns::{self, PacketColumns, put, take},
    rows::{self, RowBuilders, RowsDecoder},
    vel::wire::{self, PREFIX_LEN},
};

/// Returns the columns after the time, which is that of the message. `index` is the index of
/// the packet in its message.
pub(crate) fn fields() -> Vec<Field> {
    let mut fields = vec![
        Field::new("validity", DataType::UInt8, false),
        Field::new("version", DataType::Int32, false),
        Field::new("index", DataType::UInt32, false),
    ];
    fields.extend(packet_columns::fields());
    fields
}

/// Returns a decoder of these `columns`.
pub(crate) fn decoder(columns: &Columns) -> Result<Box<dyn Decoder>> {
    let schema = rows::schema(fields());
    let is_selected = rows::selected_columns(&schema, columns)?;
    let is_column_selected = |index: usize| is_selected.get(index) == Some(&true);
    let rows = PacketRows {
        validity: is_column_selected(0).then(UInt8Builder::new),
        version: is_column_selected(1).then(Int32Builder::new),
        index: is_column_selected(2).then(UInt32Builder::new),
        packets: PacketColumns::new(is_selected.get(3..).unwrap_or_default()),
    };
    Ok(RowsDecoder::decoder(&schema, &is_selected, rows))
}

struct PacketRows {
    validity: Option<UInt8Builder>,
    version: Option<Int32Builder>,
    index: Option<UInt32Builder>,
    packets: PacketColumns,
}

impl RowBuilders for PacketRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        let header = wire::header(record.payload).ok_or(DamageKind::Undecodable)?;
        let data = record.payload.get(PREFIX_LEN..).unwrap_or_default();
        let packets = wire::packets(data);
        for (index, packet) in (0..).zip(packets) {
            self.packets.append(packet)?;
            put(&mut self.validity, header.validity);
            put(&mut self.version, header.version);
            put(&mut self.index, index);
        }
        Ok(packets.len())
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        let message_columns =
            [take(&mut self.validity), take(&mut self.version), take(&mut self.index)];
        message_columns.into_iter().chain(self.packets.finish()).collect()
    }
}
