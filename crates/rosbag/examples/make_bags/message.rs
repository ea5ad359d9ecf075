//! Messages in the encoding of ROS 1: fields follow each other without gaps, numbers are
//! little-endian, and strings and lists begin with their length as `u32`. (ROS wiki, "msg", "Field
//! Types".)

/// A message that is being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

/// A time in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp(pub(crate) i64);

impl Message {
    /// Starts a message with a `std_msgs/Header`.
    pub(crate) fn with_stamp(number: u32, stamp: Stamp, frame: &str) -> Self {
        Self::default().u32(number).time(stamp).text(frame)
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

    pub(crate) fn f32s(self, values: &[f32]) -> Self {
        values.iter().fold(self, |message, value| message.bytes(&value.to_le_bytes()))
    }

    pub(crate) fn f64s(self, values: &[f64]) -> Self {
        values.iter().fold(self, |message, value| message.bytes(&value.to_le_bytes()))
    }

    /// Appends seconds and nanoseconds.
    pub(crate) fn time(self, Stamp(nanos): Stamp) -> Self {
        self.u32((nanos / 1_000_000_000) as u32).u32((nanos % 1_000_000_000) as u32)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.list(text.as_bytes())
    }

    /// Appends a list of bytes.
    pub(crate) fn list(self, bytes: &[u8]) -> Self {
        self.u32(bytes.len() as u32).bytes(bytes)
    }

    /// Appends bytes without a length.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}
