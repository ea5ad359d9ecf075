//! Reading the fields of a message in order, in the encoding of ROS 1 or in CDR.
//!
//! | | ROS 1 | CDR |
//! |---|---|---|
//! | before the first field | no bytes | 4 bytes with the byte order and the version |
//! | numbers | little-endian, without gaps | either byte order, aligned to their size |
//! | seconds of a time | unsigned | signed |
//! | a string | a `u32` length, bytes | the same, and a NUL that the length includes |
//! | a list | a `u32` count, elements | the same; in version 2 after its length, unless the elements are numbers |
//! | after the last field | no bytes | maybe padding: less than 4 bytes, or less than 8 zeros |
//!
//! (ROS wiki, "msg"; OMG DDS-XTypes 1.3, 7.4.) Each method returns `None` if too few bytes are
//! left, so that no length in a message is trusted.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The encoding of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// The encoding of ROS 1: `ros1`.
    Ros1,
    /// The encoding of ROS 2: `cdr`.
    Cdr,
    /// Protocol buffers: `protobuf`, used for Foxglove's own types.
    Protobuf,
    /// JSON: `json`, also used for Foxglove's own types.
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
const CDR_HEADER_LEN: usize = 4;

/// Some writers pad messages in CDR with zeros to a multiple of this number of bytes.
const ZERO_PADDING: usize = 8;

/// DDS pads messages with bytes of any value to a multiple of this number of bytes (DDS-XTypes 1.3,
/// 7.6.3.1.2).
const ANY_PADDING: usize = 4;

/// A reader of the fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct FieldReader<'b> {
    encoding: Encoding,
    /// The bytes of all fields, without the encapsulation header.
    bytes: &'b [u8],
    /// The position of the next field in `bytes`.
    position: usize,
    is_big: bool,
    /// The maximum alignment of numbers; smaller numbers are aligned to their size.
    max_alignment: usize,
    /// Whether lists and arrays of other elements than numbers begin with their length in bytes.
    has_lengths: bool,
}

impl<'b> FieldReader<'b> {
    /// Creates a reader of `payload`, or returns `None` if its encapsulation is unknown, or if the
    /// encoding has no fixed order of fields.
    pub(crate) fn new(payload: &'b [u8], encoding: Encoding) -> Option<Self> {
        let reader = |bytes, is_big, max_alignment, has_lengths| Self {
            encoding,
            bytes,
            position: 0,
            is_big,
            max_alignment,
            has_lengths,
        };
        match encoding {
            Encoding::Ros1 => return Some(reader(payload, false, 1, false)),
            Encoding::Cdr => {}
            Encoding::Protobuf | Encoding::Json => return None,
        }
        let (encapsulation, bytes) = payload.split_at_checked(CDR_HEADER_LEN)?;
        // DDS-XTypes 1.3, table 59: CDR_BE, CDR_LE, CDR2_BE, CDR2_LE. The latter two are 16 and 17
        // in section 7.4.3.4, and in table 10.2 of DDSI-RTPS 2.3. The other bytes are options.
        match encapsulation.first_chunk()? {
            [0, 0] => Some(reader(bytes, true, 8, false)),
            [0, 1] => Some(reader(bytes, false, 8, false)),
            [0, 6 | 16] => Some(reader(bytes, true, 4, true)),
            [0, 7 | 17] => Some(reader(bytes, false, 4, true)),
            _ => None,
        }
    }

    /// Returns whether numbers are big-endian.
    pub(crate) fn is_big(&self) -> bool {
        self.is_big
    }

    /// Returns the number of bytes after the last field, without padding.
    pub(crate) fn extra_bytes(&self) -> usize {
        let remaining = self.bytes.get(self.position..).unwrap_or_default();
        let len = remaining.len();
        let are_zeros = || remaining.iter().all(|byte| *byte == 0);
        let is_padding = self.encoding == Encoding::Cdr
            && (len < ANY_PADDING || len < ZERO_PADDING && are_zeros());
        if is_padding { 0 } else { len }
    }

    /// Reads `len` bytes: numbers of `size` bytes, to which they are aligned.
    pub(crate) fn take(&mut self, size: usize, len: usize) -> Option<&'b [u8]> {
        let alignment = size.min(self.max_alignment);
        let start = self.position.checked_next_multiple_of(alignment)?;
        let end = start.checked_add(len)?;
        let bytes = self.bytes.get(start..end)?;
        self.position = end;
        Some(bytes)
    }

    /// Skips `len` bytes, and returns their range in the payload.
    pub(crate) fn skip_range(&mut self, len: usize) -> Option<Range<usize>> {
        self.take(1, len)?;
        let header_len = match self.encoding {
            Encoding::Ros1 | Encoding::Protobuf | Encoding::Json => 0,
            Encoding::Cdr => CDR_HEADER_LEN,
        };
        let end = header_len + self.position;
        Some(end - len..end)
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

    /// Reads a float of 8 bytes.
    pub(crate) fn f64(&mut self) -> Option<f64> {
        let bytes = *self.take(8, 8)?.first_chunk()?;
        Some(self.to_f64(bytes))
    }

    /// Reads a list of floats of 8 bytes.
    pub(crate) fn f64_list(&mut self) -> Option<Vec<f64>> {
        let (floats, _) = self.numbers(8)?.as_chunks();
        Some(floats.iter().map(|bytes| self.to_f64(*bytes)).collect())
    }

    fn to_f64(&self, bytes: [u8; 8]) -> f64 {
        if self.is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
    }

    /// Reads a string without its NUL, which some writers of CDR omit if the string is empty.
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

    /// Skips the length in bytes before a list or an array whose elements are not numbers, if the
    /// encoding has one.
    pub(crate) fn skip_length(&mut self) -> Option<()> {
        if self.has_lengths { self.u32().map(drop) } else { Some(()) }
    }

    /// Reads the number of elements of a list whose elements are not numbers.
    pub(crate) fn count(&mut self) -> Option<u32> {
        self.skip_length()?;
        self.u32()
    }

    /// Reads a time (seconds, then nanoseconds); returns nanoseconds since 1970.
    pub(crate) fn stamp(&mut self) -> Option<i64> {
        let (seconds, nanos) = (self.u32()?, self.u32()?);
        let seconds = match self.encoding {
            Encoding::Cdr => i64::from(seconds.cast_signed()),
            Encoding::Ros1 | Encoding::Protobuf | Encoding::Json => seconds.into(),
        };
        Some(seconds * 1_000_000_000 + i64::from(nanos))
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
    /// The name of the coordinate frame.
    pub(crate) frame: &'b [u8],
}

#[cfg(test)]
mod tests;
