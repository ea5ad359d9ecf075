//! Types that replace other types whose values are not needed.

use crate::topics::streams::{Stream, Streams, TimeField};

impl Streams {
    /// Returns whether the records of each stream have the same lengths and times as in
    /// `other`.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        let record_shape =
            |stream: &Stream| (stream.min_len, stream.max_len, stream.time);
        self.streams.iter().map(record_shape).eq(other.streams.iter().map(record_shape))
    }
}

impl Stream {
    /// Returns the fields of a type whose records have the same lengths and times. Returns `None`
    /// if an undefined type has these lengths and times.
    pub(crate) fn equivalent_fields(&self) -> Option<String> {
        let is_defined = self.max_len != u32::MAX;
        let (offset, time, len) = match self.time {
            TimeField::Missing if !is_defined => return None,
            TimeField::Missing => (0, "", 0),
            // The type of the time is not defined, so the type has no layout.
            TimeField::Micros(offset) if !is_defined => (offset, "! timestamp;", 0),
            TimeField::Micros(offset) => (offset, "uint64_t timestamp;", 8),
            TimeField::Counter { offset, bits: 32, .. } => {
                (offset, "uint32_t timestamp;", 4)
            }
            TimeField::Counter { offset, bits: 16, .. } => {
                (offset, "uint16_t timestamp;", 2)
            }
            TimeField::Counter { offset, .. } => (offset, "uint8_t timestamp;", 1),
        };
        let bytes = |count: u32, name: &str| match count {
            0 => String::new(),
            count => format!("uint8_t[{count}] {name};"),
        };
        let trailing_len = self.min_len.saturating_sub(offset + len);
        let padding = if is_defined { self.max_len - self.min_len } else { 0 };
        Some(format!(
            "{}{time}{}{}",
            bytes(offset, "a"),
            bytes(trailing_len, "b"),
            bytes(padding, "_padding0")
        ))
    }
}
