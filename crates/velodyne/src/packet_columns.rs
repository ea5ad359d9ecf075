//! The columns of packets that are shown as they are.

use arrow_array::{
    ArrayRef, ArrowPrimitiveType,
    builder::{
        ArrayBuilder, FixedSizeBinaryBuilder, Float32Builder, PrimitiveBuilder,
        UInt8Builder, UInt32Builder,
    },
};
use arrow_schema::{DataType, Field};
use logtool_core::DamageKind;

use crate::{
    packet::{DATA_BYTES, Firings},
    points::UNIT,
};

/// How many columns there are.
pub(crate) const COUNT: usize = 5;

/// The columns: where the head of the sensor was at the first firing, the last six
/// bytes, and all bytes.
pub(crate) fn fields() -> [Field; COUNT] {
    let field = |name, kind| Field::new(name, kind, false);
    let unit = |unit: &str| [(UNIT.to_owned(), unit.to_owned())].into();
    [
        field("azimuth", DataType::Float32).with_metadata(unit("deg")),
        field("stamp", DataType::UInt32).with_metadata(unit("us past the hour")),
        field("status_type", DataType::UInt8),
        field("status_value", DataType::UInt8),
        field("data", DataType::FixedSizeBinary(DATA_BYTES as i32)),
    ]
}

/// The columns, as they are being made: none of those that are not wanted.
pub(crate) struct PacketColumns {
    azimuth: Option<Float32Builder>,
    stamp: Option<UInt32Builder>,
    status_type: Option<UInt8Builder>,
    status_value: Option<UInt8Builder>,
    data: Option<FixedSizeBinaryBuilder>,
}

impl PacketColumns {
    /// Those that are `wanted`, without rows yet.
    pub(crate) fn new(wanted: &[bool]) -> Self {
        let is_wanted = |index: usize| wanted.get(index) == Some(&true);
        Self {
            azimuth: is_wanted(0).then(Float32Builder::new),
            stamp: is_wanted(1).then(UInt32Builder::new),
            status_type: is_wanted(2).then(UInt8Builder::new),
            status_value: is_wanted(3).then(UInt8Builder::new),
            data: is_wanted(4).then(|| FixedSizeBinaryBuilder::new(DATA_BYTES as i32)),
        }
    }

    /// Adds a packet.
    pub(crate) fn append(&mut self, packet: &[u8]) -> Result<(), DamageKind> {
        let firings = Firings::new(packet).ok_or(DamageKind::Undecodable)?;
        if let Some(data) = &mut self.data {
            // Only another length could be refused.
            data.append_value(packet).map_err(|_| DamageKind::Undecodable)?;
        }
        if self.azimuth.is_some() {
            let azimuth = firings.azimuths().first().copied().unwrap_or(0);
            put(&mut self.azimuth, f32::from(azimuth) / 100.0);
        }
        let tail = firings.tail();
        put(&mut self.stamp, tail.micros);
        put(&mut self.status_type, tail.sort);
        put(&mut self.status_value, tail.value);
        Ok(())
    }

    /// Takes the columns.
    pub(crate) fn finish(&mut self) -> [Option<ArrayRef>; COUNT] {
        [
            take(&mut self.azimuth),
            take(&mut self.stamp),
            take(&mut self.status_type),
            take(&mut self.status_value),
            take(&mut self.data),
        ]
    }
}

/// Adds a value to a column, if it is wanted.
pub(crate) fn put<T: ArrowPrimitiveType>(
    column: &mut Option<PrimitiveBuilder<T>>,
    value: T::Native,
) {
    if let Some(column) = column {
        column.append_value(value);
    }
}

/// Takes a column, if it is wanted.
pub(crate) fn take(column: &mut Option<impl ArrayBuilder>) -> Option<ArrayRef> {
    column.as_mut().map(ArrayBuilder::finish)
}
