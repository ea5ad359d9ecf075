//! Reading the fields of a message in order, in either encoding of ROS.
//!
//! | | ROS 1 | CDR |
//! |---|---|---|
//! | before the first field | no bytes | 4 bytes with the byte order and the version |
//! | numbers | little-endian, without gaps | either byte order, aligned to their size |
//! | a string | a `u32` length, bytes | the same, and a NUL that the length includes |
//! | a list | a `u32` count, elements | the same; in version 2 after its length, except for numbers |
//! | the end | is the end | may be padded: less than 4 bytes, or less than 8 zeros |
//!
//! (ROS wiki, "msg"; OMG DDS-XTypes 1.3, 7.4.) If too few bytes are left, no field is returned, so
//! no length in a message is trusted.

use std::ops::Range;

/// The encoding of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The encoding of ROS 1: `ros1`.
    Ros1,
    /// The encoding of ROS 2: `cdr`.
    Cdr,
    /// Protocol buffers: `protobuf`, used by Foxglove's own types.
    Protobuf,
    /// JSON: `json`, also used by Foxglove's own types.
    Json,
}

impl Encoding {
    const ALL: [Self; 4] = [Self::Ros1, Self::Cdr, Self::Protobuf, Self::Json];

    /// Returns the encoding with this `name` in the manifest of a topic.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// Returns the name of the encoding in the manifest of a topic.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ros1 => "ros1",
            Self::Cdr => "cdr",
            Self::Protobuf => "protobuf",
            Self::Json => "json",
        }
    }
}

/// The length of the encapsulation header of messages in CDR.
pub(crate) const CDR_HEAD_LEN: usize = 4;

/// Writers pad messages in CDR to a multiple of this many bytes, with zeros.
const PADDING: usize = 8;

/// DDS pads messages to a multiple of this many bytes, of any value (DDS-XTypes 1.3, 7.6.3.1.2).
const ANY_PADDING: usize = 4;

/// The fields of a message that are not yet read.
#[derive(Clone, Debug)]
pub(crate) struct FieldReader<'b> {
    encoding: Encoding,
    /// The fields.
    bytes: &'b [u8],
    at: usize,
    is_big: bool,
    /// The maximum alignment of numbers; smaller ones are aligned to their size.
    most_aligned: usize,
    /// Whether lists and arrays with elements other than numbers begin with their length.
    has_lengths: bool,
}

impl<'b> FieldReader<'b> {
    /// Starts reading `payload`, or returns `None` if its encapsulation is unknown.
    pub(crate) fn new(payload: &'b [u8], encoding: Encoding) -> Option<Self> {
        let with_order = |bytes, is_big, most_aligned, has_lengths| Self {
            encoding,
            bytes,
            at: 0,
            is_big,
            most_aligned,
            has_lengths,
        };
        match encoding {
            Encoding::Ros1 => return Some(with_order(payload, false, 1, false)),
            Encoding::Cdr => {}
            // The order of their fields is not fixed.
            Encoding::Protobuf | Encoding::Json => return None,
        }
        let (encapsulation, bytes) = payload.split_at_checked(CDR_HEAD_LEN)?;
        // DDS-XTypes 1.3, table 59: CDR_BE, CDR_LE, CDR2_BE, CDR2_LE. The other bytes are
        // options.
        match encapsulation.first_chunk()? {
            [0, 0] => Some(with_order(bytes, true, 8, false)),
            [0, 1] => Some(with_order(bytes, false, 8, false)),
            [0, 6] => Some(with_order(bytes, true, 4, true)),
            [0, 7] => Some(with_order(bytes, false, 4, true)),
            _ => None,
        }
    }

    /// Returns whether numbers are big-endian.
    pub(crate) fn is_big(&self) -> bool {
        self.is_big
    }

    /// Returns the number of bytes after the last field, without padding.
    pub(crate) fn extra_bytes(&self) -> usize {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let is_zero = || left.iter().all(|byte| *byte == 0);
        let is_short = left.len() < ANY_PADDING || left.len() < PADDING && is_zero();
        let is_padding = self.encoding == Encoding::Cdr && is_short;
        if is_padding { 0 } else { left.len() }
    }

    /// Reads `len` bytes, aligned to `size`.
    pub(crate) fn take(&mut self, size: usize, len: usize) -> Option<&'b [u8]> {
        let start = self.at.checked_next_multiple_of(size.min(self.most_aligned))?;
        let end = start.checked_add(len)?;
        let bytes = self.bytes.get(start..end)?;
        self.at = end;
        Some(bytes)
    }

    /// Skips `len` bytes; returns their range in the payload.
    pub(crate) fn take_range(&mut self, len: usize) -> Option<Range<usize>> {
        self.take(1, len)?;
        let before = match self.encoding {
            Encoding::Ros1 | Encoding::Protobuf | Encoding::Json => 0,
            Encoding::Cdr => CDR_HEAD_LEN,
        };
        Some(before + self.at - len..before + self.at)
    }

    /// Reads a byte.
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1, 1)?.first().copied()
    }

    /// Reads a number of 4 bytes.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4, 4)?.first_chunk()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    /// Reads a float of 4 bytes.
    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.u32().map(f32::from_bits)
    }

    /// Reads a string. Some writers omit the NUL of an empty string in CDR.
    pub(crate) fn text(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        let bytes = self.take(1, len)?;
        if self.encoding == Encoding::Ros1 {
            return Some(bytes);
        }
        match bytes.split_last() {
            None => Some(bytes),
            Some((0, text)) => Some(text),
            Some(_) => None,
        }
    }

    /// Reads a list of numbers of `size` bytes; returns their bytes.
    pub(crate) fn numbers(&mut self, size: usize) -> Option<&'b [u8]> {
        let count = usize::try_from(self.u32()?).ok()?;
        match count {
            0 => Some(&[]),
            count => self.take(size, count.checked_mul(size)?),
        }
    }

    /// Skips the length before a list or an array whose elements are not numbers, if the
    /// encoding has one.
    pub(crate) fn length(&mut self) -> Option<()> {
        if self.has_lengths { self.u32().map(drop) } else { Some(()) }
    }

    /// Reads the number of elements of a list whose elements are not numbers.
    pub(crate) fn count(&mut self) -> Option<u32> {
        self.length()?;
        self.u32()
    }

    /// Reads a time (seconds, then nanoseconds); returns nanoseconds since 1970.
    pub(crate) fn stamp(&mut self) -> Option<i64> {
        let (seconds, nanos) = (self.u32()?, self.u32()?);
        Some(i64::from(seconds) * 1_000_000_000 + i64::from(nanos))
    }

    /// Reads a `std_msgs/Header`, which begins with a sequence number in ROS 1.
    pub(crate) fn header(&mut self) -> Option<Header<'b>> {
        if self.encoding == Encoding::Ros1 {
            self.u32()?;
        }
        Some(Header { stamp: self.stamp()?, frame: self.text()? })
    }
}

/// The contents of a `std_msgs/Header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'b> {
    /// Nanoseconds since 1970.
    pub(crate) stamp: i64,
    pub(crate) frame: &'b [u8],
}

#[cfg(test)]
mod tests;
