//! The columns of undecoded packets.

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

/// The number of columns.
pub(crate) const COUNT: usize = 5;

/// Returns the fields: the azimuth of the first firing, the last six bytes, and all
/// bytes.
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

/// Builders of the columns. Columns that are not selected are `None`.
pub(crate) struct PacketColumns {
    azimuth: Option<Float32Builder>,
    stamp: Option<UInt32Builder>,
    status_type: Option<UInt8Builder>,
    status_value: Option<UInt8Builder>,
    data: Option<FixedSizeBinaryBuilder>,
}

impl PacketColumns {
    /// Creates empty builders of the columns that are selected in `is_selected`.
    pub(crate) fn new(is_selected: &[bool]) -> Self {
        let is_wanted = |index: usize| is_selected.get(index) == Some(&true);
        Self {
            azimuth: is_wanted(0).then(Float32Builder::new),
            stamp: is_wanted(1).then(UInt32Builder::new),
            status_type: is_wanted(2).then(UInt8Builder::new),
            status_value: is_wanted(3).then(UInt8Builder::new),
            data: is_wanted(4).then(|| FixedSizeBinaryBuilder::new(DATA_BYTES as i32)),
        }
    }

    /// Appends a packet.
    pub(crate) fn append(&mut self, packet: &[u8]) -> Result<(), DamageKind> {
        let firings = Firings::new(packet).ok_or(DamageKind::Undecodable)?;
        if let Some(data) = &mut self.data {
            // `append_value` only fails if the value does not have the length of a packet.
            data.append_value(packet).map_err(|_| DamageKind::Undecodable)?;
        }
        if self.azimuth.is_some() {
            let azimuth = firings.azimuths().first().copied().unwrap_or(0);
            put(&mut self.azimuth, f32::from(azimuth) / 100.0);
        }
        let tail = firings.tail();
        put(&mut self.stamp, tail.micros);
        put(&mut self.status_type, tail.status_type);
        put(&mut self.status_value, tail.status_value);
        Ok(())
    }

    /// Returns the columns and resets the builders.
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

/// Appends a value to a column if the column is selected.
pub(crate) fn put<T: ArrowPrimitiveType>(
    column: &mut Option<PrimitiveBuilder<T>>,
    value: T::Native,
) {
    if let Some(column) = column {
        column.append_value(value);
    }
}

/// Returns a column if it is selected, and resets its builder.
pub(crate) fn take(column: &mut Option<impl ArrayBuilder>) -> Option<ArrayRef> {
    column.as_mut().map(ArrayBuilder::finish)
}
