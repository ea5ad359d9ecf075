//! Translating messages between ROS 1 and ROS 2.
//!
//! In ROS 1, fields follow each other without gaps. CDR (OMG DDS-XTypes 1.3, 7.4.3; ROS 2 uses the
//! plain encoding of version 1, XCDR1) has
//!
//! ```text
//! 00 01 00 00   encapsulation: the byte order and the version, then options
//! …             fields; each number is aligned to its size, relative to this position
//! ```
//!
//! | | ROS 1 | CDR |
//! |---|---|---|
//! | number | little-endian | aligned to its size; either byte order |
//! | string | `u32` length, bytes | `u32` length with the NUL, bytes, NUL |
//! | list | `u32` count, elements | the same |
//! | array | elements | the same |
//! | time, duration | 4 bytes, 4 bytes | `int32 sec`, `uint32 nanosec` |
//! | type without fields | no bytes | one byte, 0 |
//! | `seq` of a `std_msgs/Header` | `u32` | dropped |
//!
//! For the translation, only the size of numbers matters, not their type. Times are an exception:
//! in ROS 2, seconds are signed, and nanoseconds are unsigned and less than a second.

mod from_cdr;
mod program;
#[cfg(test)]
mod tests;
mod to_cdr;

use std::sync::atomic::{AtomicU64, Ordering};

use logtool_core::{Layout, Result};

use crate::transcode::program::{Conversion, Program};

/// The encapsulation of written messages: plain CDR, little-endian.
const CDR_LE: [u8; 4] = [0, 1, 0, 0];

/// Translates messages of one type from the encoding of ROS 1 to CDR, and back.
///
/// ```
/// use logtool_rosmsg::{CdrRemainder, Transcoder, compile};
///
/// let transcoder = Transcoder::for_ros1_layout(&*compile("a/B", "uint8 x\nstring s\n")?)?;
/// let (mut cdr, mut packed) = (Vec::new(), Vec::new());
/// assert!(transcoder.to_cdr(b"\x07\x02\0\0\0hi", &mut cdr));
/// assert_eq!(cdr, b"\0\x01\0\0\x07\0\0\0\x03\0\0\0hi\0");
/// assert_eq!(transcoder.from_cdr(&cdr, &mut packed), Some(CdrRemainder::default()));
/// assert_eq!(packed, b"\x07\x02\0\0\0hi");
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Transcoder {
    program: Program,
    times_after_2038: AtomicU64,
}

impl Transcoder {
    fn new(program: Program) -> Self {
        Self { program, times_after_2038: AtomicU64::new(0) }
    }

    /// Creates a transcoder for messages that have this `layout` in ROS 1. In CDR, headers have no
    /// `seq`; it is 0 in messages from CDR.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn for_ros1_layout(layout: &Layout) -> Result<Self> {
        Program::compile(layout, Conversion::Ros1).map(Self::new)
    }

    /// Like [`for_ros1_layout`](Self::for_ros1_layout), but messages in CDR have the fields that
    /// ROS 2 adds to `visualization_msgs/Marker`
    /// ([`Definition::ros2_text`](crate::Definition::ros2_text)). They are empty in messages from
    /// ROS 1. In messages from CDR, their contents count as trailing bytes.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn for_ros1_layout_with_added_fields(layout: &Layout) -> Result<Self> {
        Program::compile(layout, Conversion::Ros1WithAddedFields).map(Self::new)
    }

    /// Creates a transcoder between `rosgraph_msgs/Log` of ROS 1 and `rcl_interfaces/Log` in CDR,
    /// which has no `frame_id` and no `topics`, and levels from 10 to 50.
    pub fn for_log_messages() -> Self {
        Self::new(Program::for_log_messages())
    }

    /// Creates a transcoder for messages that have this `layout` in ROS 2: all of its fields are in
    /// CDR.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn for_ros2_layout(layout: &Layout) -> Result<Self> {
        Program::compile(layout, Conversion::Ros2).map(Self::new)
    }

    /// Converts the message in `payload` from the encoding of ROS 1 to little-endian CDR, and
    /// appends it with its encapsulation to `out`. Returns `false`, and appends nothing, if the
    /// payload does not match the layout.
    #[must_use]
    pub fn to_cdr(&self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        let original_len = out.len();
        let Some(times_after_2038) = to_cdr::run(&self.program, payload, out) else {
            out.truncate(original_len);
            return false;
        };
        if times_after_2038 > 0 {
            self.times_after_2038.fetch_add(times_after_2038, Ordering::Relaxed);
        }
        true
    }

    /// Returns the number of converted times that ROS 2 cannot represent: those of 2^31 s (in 2038)
    /// and later. Their bits are copied, which ROS 2 interprets as times before 1970.
    pub fn times_after_2038(&self) -> u64 {
        self.times_after_2038.load(Ordering::Relaxed)
    }

    /// Converts the message in `payload` from CDR to the encoding of ROS 1, and appends it to
    /// `out`. Both byte orders, version 1 (XCDR1), and version 2 without parameters (PLAIN_CDR2)
    /// are accepted. Returns `None`, and appends nothing, if the payload does not match the layout.
    ///
    /// Bytes after the last field are dropped, as for messages of ROS 1.
    pub fn from_cdr(&self, payload: &[u8], out: &mut Vec<u8>) -> Option<CdrRemainder> {
        let original_len = out.len();
        let remainder = from_cdr::run(&self.program, payload, out);
        if remainder.is_none() {
            out.truncate(original_len);
        }
        remainder
    }
}

/// The contents of a message in CDR that ROS 1 interprets differently or lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CdrRemainder {
    /// The number of times before 1970, and of durations with nanoseconds of more than 2 s. Their
    /// bits are copied, which ROS 1 interprets as other numbers.
    pub unrepresentable_times: u64,
    /// The number of bytes in fields that ROS 1 lacks, and after the last field. Padding (less than
    /// 4 bytes, or less than 8 zeros) is not counted.
    pub extra_bytes: usize,
}

/// Returns the maximum length of the result for a message of `len` bytes. Alignment at most doubles
/// the length. Only values that exist in the result but not in the message need more.
fn max_output_bytes(len: usize) -> usize {
    len.saturating_mul(2).saturating_add(MAX_ADDED_BYTES)
}

/// The maximum number of bytes for values that exist in the result only, e.g. those of types
/// without fields, which have one byte in CDR and none in ROS 1.
const MAX_ADDED_BYTES: usize = 1 << 20;
