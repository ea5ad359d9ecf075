//! Builds the payload of a record field by field.

/// Appends little-endian fields without padding.
#[derive(Default)]
pub(crate) struct Row(Vec<u8>);

impl Row {
    /// Starts a row with a 64-bit timestamp.
    pub(crate) fn with_timestamp(time_micros: u64) -> Self {
        Self::default().u64(time_micros)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    pub(crate) fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn i64(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn f32(self, value: f32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn f64(self, value: f64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends `float` fields, or an array of them.
    pub(crate) fn floats(self, values: &[f64]) -> Self {
        values.iter().fold(self, |row, value| row.f32(*value as f32))
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}
