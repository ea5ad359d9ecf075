//! The packets of the lidar, a row each: a message holds the packets of some
//! milliseconds.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{Int32Builder, UInt8Builder, UInt32Builder},
};
use arrow_schema::{DataType, Field};
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    packet_columns::{self, PacketColumns},
    rows::{self, Rows, RowsDecoder},
    vel::wire::{self, PREFIX_LEN},
};

/// The columns. The time is that of the message, `index` the packet's place in it.
pub(crate) fn fields() -> Vec<Field> {
    let mut fields = vec![
        Field::new("validity", DataType::UInt8, false),
        Field::new("version", DataType::Int32, false),
        Field::new("index", DataType::UInt32, false),
    ];
    fields.extend(packet_columns::fields());
    fields
}

/// A decoder of these `columns`.
pub(crate) fn decoder(columns: &Columns) -> Result<Box<dyn Decoder>> {
    let schema = rows::schema(fields());
    let wanted = rows::wanted(&schema, columns)?;
    let packets = PacketColumns::new(wanted.last() == Some(&true));
    let rows = PacketRows {
        wanted: wanted.clone(),
        validity: UInt8Builder::new(),
        version: Int32Builder::new(),
        index: UInt32Builder::new(),
        packets,
    };
    Ok(RowsDecoder::boxed(&schema, &wanted, rows))
}

struct PacketRows {
    wanted: Vec<bool>,
    validity: UInt8Builder,
    version: Int32Builder,
    index: UInt32Builder,
    packets: PacketColumns,
}

impl Rows for PacketRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        let header = wire::header(record.payload).ok_or(DamageKind::Undecodable)?;
        let data = record.payload.get(PREFIX_LEN..).unwrap_or_default();
        let packets = wire::packets(data);
        for (index, packet) in (0..).zip(packets) {
            self.packets.append(packet)?;
            self.validity.append_value(header.validity);
            self.version.append_value(header.version);
            self.index.append_value(index);
        }
        Ok(packets.len())
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        let own: [ArrayRef; 3] = [
            Arc::new(self.validity.finish()),
            Arc::new(self.version.finish()),
            Arc::new(self.index.finish()),
        ];
        let columns = own.into_iter().chain(self.packets.finish());
        let wanted = self.wanted.iter();
        columns.zip(wanted).map(|(column, wanted)| wanted.then_some(column)).collect()
    }
}
