//! Cuts fields off the front of a message, in either encoding that ROS has.
//!
//! | | ROS 1 | CDR |
//! |---|---|---|
//! | before the first field | nothing | 4 bytes that name the byte order and the version |
//! | numbers | little-endian, without gaps | of either order, aligned to their size |
//! | a text | a `u32` length, bytes | the same, and a NUL that is counted |
//! | a list | a `u32` count, elements | the same; in version 2 behind its length, unless of numbers |
//! | the end | is the end | may be padded: less than 4 bytes, or less than 8 zeros |
//!
//! (ROS wiki, "msg"; OMG DDS-XTypes 1.3, 7.4.) Nothing is cut where too little is left, so no
//! length in a message is ever believed.

use std::ops::Range;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As ROS 1 writes them: `ros1`.
    Ros1,
    /// As ROS 2 writes them: `cdr`.
    Cdr,
    /// As protocol buffers: `protobuf`, which Foxglove's own types are written in.
    Protobuf,
    /// In JSON: `json`, as these types may be written too.
    Json,
}

impl Encoding {
    /// That which is called `name` as the encoding of a topic.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ros1" => Some(Self::Ros1),
            "cdr" => Some(Self::Cdr),
            "protobuf" => Some(Self::Protobuf),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// How long the encapsulation is that messages in CDR begin with.
pub(crate) const CDR_HEAD_LEN: usize = 4;

/// Writers pad messages in CDR to a multiple of this many bytes, with zeros.
const PADDING: usize = 8;

/// DDS pads messages to a multiple of this many bytes, of any value (DDS-XTypes 1.3, 7.6.3.1.2).
const ANY_PADDING: usize = 4;

/// The fields of a message, from the first that was not cut yet.
#[derive(Clone, Debug)]
pub(crate) struct FieldCut<'b> {
    encoding: Encoding,
    /// The fields.
    bytes: &'b [u8],
    at: usize,
    is_big: bool,
    /// Numbers are aligned to their size, and to no more than this.
    most_aligned: usize,
    /// Whether the length of lists and arrays whose elements are no numbers is told.
    has_lengths: bool,
}

impl<'b> FieldCut<'b> {
    /// The fields of `payload`; nothing if that is in no encapsulation that is known.
    pub(crate) fn new(payload: &'b [u8], encoding: Encoding) -> Option<Self> {
        let plain = |bytes, is_big, most_aligned, has_lengths| Self {
            encoding,
            bytes,
            at: 0,
            is_big,
            most_aligned,
            has_lengths,
        };
        match encoding {
            Encoding::Ros1 => return Some(plain(payload, false, 1, false)),
            Encoding::Cdr => {}
            // Their fields have numbers or names, and no order.
            Encoding::Protobuf | Encoding::Json => return None,
        }
        let (head, bytes) = payload.split_at_checked(CDR_HEAD_LEN)?;
        // DDS-XTypes 1.3, table 59: CDR_BE, CDR_LE, CDR2_BE, CDR2_LE. What follows are
        // options.
        match head.first_chunk()? {
            [0, 0] => Some(plain(bytes, true, 8, false)),
            [0, 1] => Some(plain(bytes, false, 8, false)),
            [0, 6] => Some(plain(bytes, true, 4, true)),
            [0, 7] => Some(plain(bytes, false, 4, true)),
            _ => None,
        }
    }

    /// Whether numbers begin with their highest byte.
    pub(crate) fn is_big(&self) -> bool {
        self.is_big
    }

    /// Returns the number of bytes after the last field, without padding.
    pub(crate) fn surplus(&self) -> usize {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let is_zero = || left.iter().all(|byte| *byte == 0);
        let is_short = left.len() < ANY_PADDING || left.len() < PADDING && is_zero();
        let is_padding = self.encoding == Encoding::Cdr && is_short;
        if is_padding { 0 } else { left.len() }
    }

    /// The next `len` bytes, which are aligned to `size`.
    pub(crate) fn take(&mut self, size: usize, len: usize) -> Option<&'b [u8]> {
        let start = self.at.checked_next_multiple_of(size.min(self.most_aligned))?;
        let end = start.checked_add(len)?;
        let bytes = self.bytes.get(start..end)?;
        self.at = end;
        Some(bytes)
    }

    /// The next `len` bytes: where in the payload they lie.
    pub(crate) fn place(&mut self, len: usize) -> Option<Range<usize>> {
        self.take(1, len)?;
        let before = match self.encoding {
            Encoding::Ros1 | Encoding::Protobuf | Encoding::Json => 0,
            Encoding::Cdr => CDR_HEAD_LEN,
        };
        Some(before + self.at - len..before + self.at)
    }

    /// The next byte.
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1, 1)?.first().copied()
    }

    /// The next number of 4 bytes.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4, 4)?.first_chunk()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    /// The next float of 4 bytes.
    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.u32().map(f32::from_bits)
    }

    /// The next text. Some writers leave the NUL out of an empty one in CDR.
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

    /// The next list of numbers of `size` bytes: their bytes.
    pub(crate) fn numbers(&mut self, size: usize) -> Option<&'b [u8]> {
        let count = usize::try_from(self.u32()?).ok()?;
        match count {
            0 => Some(&[]),
            count => self.take(size, count.checked_mul(size)?),
        }
    }

    /// Steps over the length that a list or an array has in front whose elements are no
    /// numbers, where that is told.
    pub(crate) fn length(&mut self) -> Option<()> {
        if self.has_lengths { self.u32().map(drop) } else { Some(()) }
    }

    /// How many elements the next list has, which are no numbers.
    pub(crate) fn count(&mut self) -> Option<u32> {
        self.length()?;
        self.u32()
    }

    /// A time: seconds, then nanoseconds; as nanoseconds since 1970.
    pub(crate) fn stamp(&mut self) -> Option<i64> {
        let (seconds, nanos) = (self.u32()?, self.u32()?);
        Some(i64::from(seconds) * 1_000_000_000 + i64::from(nanos))
    }

    /// The next `std_msgs/Header`, of which ROS 1 has the sequence number in front.
    pub(crate) fn header(&mut self) -> Option<Header<'b>> {
        if self.encoding == Encoding::Ros1 {
            self.u32()?;
        }
        Some(Header { stamp: self.stamp()?, frame: self.text()? })
    }
}

/// What a `std_msgs/Header` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'b> {
    /// Nanoseconds since 1970.
    pub(crate) stamp: i64,
    pub(crate) frame: &'b [u8],
}

#[cfg(test)]
mod tests;
