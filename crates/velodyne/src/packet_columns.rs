//! The columns of packets that are shown as they are.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{FixedSizeBinaryBuilder, Float32Builder, UInt8Builder, UInt32Builder},
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

/// The columns, as they are being made.
pub(crate) struct PacketColumns {
    wants_data: bool,
    azimuth: Float32Builder,
    stamp: UInt32Builder,
    status_type: UInt8Builder,
    status_value: UInt8Builder,
    data: FixedSizeBinaryBuilder,
}

impl PacketColumns {
    /// Without rows yet; and without the bytes of the packets, if they are not wanted.
    pub(crate) fn new(wants_data: bool) -> Self {
        Self {
            wants_data,
            azimuth: Float32Builder::new(),
            stamp: UInt32Builder::new(),
            status_type: UInt8Builder::new(),
            status_value: UInt8Builder::new(),
            data: FixedSizeBinaryBuilder::new(DATA_BYTES as i32),
        }
    }

    /// Adds a packet.
    pub(crate) fn append(&mut self, packet: &[u8]) -> Result<(), DamageKind> {
        let firings = Firings::new(packet).ok_or(DamageKind::Undecodable)?;
        if self.wants_data {
            // Only another length could be refused.
            self.data.append_value(packet).map_err(|_| DamageKind::Undecodable)?;
        }
        let azimuth = firings.azimuths().first().copied().unwrap_or(0);
        let tail = firings.tail();
        self.azimuth.append_value(f32::from(azimuth) / 100.0);
        self.stamp.append_value(tail.micros);
        self.status_type.append_value(tail.sort);
        self.status_value.append_value(tail.value);
        Ok(())
    }

    /// Takes the columns.
    pub(crate) fn finish(&mut self) -> [ArrayRef; COUNT] {
        [
            Arc::new(self.azimuth.finish()),
            Arc::new(self.stamp.finish()),
            Arc::new(self.status_type.finish()),
            Arc::new(self.status_value.finish()),
            Arc::new(self.data.finish()),
        ]
    }
}
