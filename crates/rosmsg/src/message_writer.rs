//! Writing messages of ROS 1 field by field.

/// The number of nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// Appends the fields of a message to a buffer in the encoding of ROS 1: consecutive,
/// little-endian, with the length before lists and strings.
#[derive(Debug)]
pub struct MessageWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> MessageWriter<'o> {
    /// Creates a writer that appends to `out`.
    ///
    /// ```
    /// let mut out = Vec::new();
    /// logtool_rosmsg::MessageWriter::new(&mut out).text("ab").bytes(&[1]);
    /// assert_eq!(out, [2, 0, 0, 0, b'a', b'b', 1]);
    /// ```
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends encoded fields unchanged, e.g. numbers or an array of numbers.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends a `uint8`, `int8` or `bool`.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    /// Appends a `uint32`.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends `float64` values: several fields, or an array.
    pub fn f64s(&mut self, values: &[f64]) -> &mut Self {
        values
            .iter()
            .for_each(|value| self.out.extend_from_slice(&value.to_le_bytes()));
        self
    }

    /// Appends a list of bytes: `uint8[]`. (A message never has more than 4 GiB.)
    pub fn list(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32).bytes(bytes)
    }

    /// Appends a `string`.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.list(text.as_bytes())
    }

    /// Appends a `time` in nanoseconds since 1970, or since the start of another clock. Times that
    /// ROS 1 cannot represent are clamped.
    pub fn time(&mut self, nanos: i64) -> &mut Self {
        let max_nanos = i64::from(u32::MAX) * SECOND + SECOND - 1;
        let nanos = nanos.clamp(0, max_nanos);
        self.u32((nanos / SECOND) as u32).u32((nanos % SECOND) as u32)
    }

    /// Appends a `std_msgs/Header`.
    pub fn header(&mut self, sequence: u32, nanos: i64, frame: &str) -> &mut Self {
        self.u32(sequence).time(nanos).text(frame)
    }
}
