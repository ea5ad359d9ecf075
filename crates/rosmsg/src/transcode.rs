//! Translating messages between ROS 1 and ROS 2.
//!
//! In ROS 1, fields follow each other without gaps. CDR (OMG DDS-XTypes 1.3, 7.4.3; ROS 2 uses the
//! plain encoding of version 1, XCDR1) has
//!
//! ```text
//! 00 01 00 00   encapsulation: the byte order and the version, then options
//! …             fields, each number aligned to its size, counted from here
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
//! Only the size of numbers matters, not their type, except for times: in ROS 2, seconds are
//! signed, and nanoseconds are unsigned and less than a second.

mod from_cdr;
mod program;
#[cfg(test)]
mod tests;
mod to_cdr;

use std::sync::atomic::{AtomicU64, Ordering};

use logtool_core::{Layout, Result};

use crate::transcode::program::Program;

/// The encapsulation that is written: plain CDR, little-endian.
const CDR_LE: [u8; 4] = [0, 1, 0, 0];

/// Translates messages of one type from the encoding of ROS 1 to CDR, and back.
///
/// ```
/// use logtool_rosmsg::{CdrRemainder, Transcoder, compile};
///
/// let transcoder = Transcoder::of_ros1(&*compile("a/B", "uint8 x\nstring s\n")?)?;
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
    times_out_of_range: AtomicU64,
}

impl Transcoder {
    fn new(layout: &Layout, is_of_ros1: bool, has_added: bool) -> Result<Self> {
        let program = Program::compile(layout, is_of_ros1, has_added)?;
        Ok(Self { program, times_out_of_range: AtomicU64::new(0) })
    }

    /// Creates a transcoder for messages with this `layout` in ROS 1: in CDR, headers have no
    /// `seq`, which is 0 when converted from CDR.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn of_ros1(layout: &Layout) -> Result<Self> {
        Self::new(layout, true, false)
    }

    /// Like [`of_ros1`](Self::of_ros1), with the fields that ROS 2 adds to
    /// `visualization_msgs/Marker`
    /// ([`Definition::ros2_text`](crate::Definition::ros2_text)). They are empty in CDR; coming
    /// from CDR, they count as trailing bytes.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn to_ros2(layout: &Layout) -> Result<Self> {
        Self::new(layout, true, true)
    }

    /// Creates a transcoder between `rosgraph_msgs/Log` of ROS 1 and `rcl_interfaces/Log` in CDR,
    /// which has no `frame_id` and no `topics`, and levels from 10 to 50.
    pub fn for_log_messages() -> Self {
        Self {
            program: Program::for_log_messages(),
            times_out_of_range: AtomicU64::new(0),
        }
    }

    /// Creates a transcoder for messages with the same fields in CDR as in `layout`.
    ///
    /// # Errors
    /// `Limit` if the type has more than a million parts.
    pub fn of_ros2(layout: &Layout) -> Result<Self> {
        Self::new(layout, false, false)
    }

    /// Appends the message as little-endian CDR, with its encapsulation, to `out`. Returns
    /// `false`, and appends nothing, if `payload` does not match the layout.
    #[must_use]
    pub fn to_cdr(&self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let fits = to_cdr::run(&self.program, payload, out);
        match fits {
            None => out.truncate(before),
            Some(0) => {}
            Some(times_out_of_range) => {
                _ = self
                    .times_out_of_range
                    .fetch_add(times_out_of_range, Ordering::Relaxed)
            }
        }
        fits.is_some()
    }

    /// Returns the number of times, on the way to CDR, after 2^31 s (2038), which ROS 2 cannot
    /// represent. They keep their bits, which ROS 2 reads as times before 1970.
    pub fn times_after_2038(&self) -> u64 {
        self.times_out_of_range.load(Ordering::Relaxed)
    }

    /// Appends the message in `payload`, in CDR, in the form of the layout to `out`. Both byte
    /// orders, version 1 (XCDR1), and version 2 without parameters (PLAIN_CDR2) are accepted.
    /// Returns `None`, and appends nothing, if the payload does not match.
    ///
    /// Bytes after the last field are dropped, as for messages of ROS 1.
    pub fn from_cdr(&self, payload: &[u8], out: &mut Vec<u8>) -> Option<CdrRemainder> {
        let before = out.len();
        let fits = from_cdr::run(&self.program, payload, out);
        if fits.is_none() {
            out.truncate(before);
        }
        fits
    }
}

/// The contents of a message in CDR that ROS 1 interprets differently or lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CdrRemainder {
    /// The number of times before 1970, and of durations with nanoseconds of more than 2 s.
    /// They keep their bits, which ROS 1 reads as other numbers.
    pub unrepresentable_times: u64,
    /// The number of bytes in fields that ROS 1 lacks, and after the last field, without padding:
    /// less than 4 bytes, or less than 8 zeros.
    pub extra_bytes: usize,
}

/// Returns the maximum length of the result for a message of `len` bytes: alignment at most
/// doubles it, except for types without fields, which have bytes in CDR only.
fn most_bytes(len: usize) -> usize {
    len.saturating_mul(2).saturating_add(MAX_EMPTY)
}

/// The maximum number of values of types without fields in a message.
const MAX_EMPTY: usize = 1 << 20;
