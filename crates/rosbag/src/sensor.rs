//! Messages of sensors, as the packages `sensor_msgs` and `velodyne_msgs` define them:
//! bytes to values, without I/O.
//!
//! A payload is what its type says, or nothing: every length in it is checked against
//! what is there, and a byte that is left over is as wrong as one that is missing.

pub(crate) mod cloud;
pub(crate) mod cloud2;
pub(crate) mod packets;
pub(crate) mod scan;

use logtool_core::Cut;

/// A `std_msgs/Header`: `uint32 seq | time stamp | string frame_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'b> {
    /// Nanoseconds since 1970.
    pub(crate) stamp: i64,
    pub(crate) frame: &'b [u8],
}

impl<'b> Header<'b> {
    pub(crate) fn cut(cut: &mut Cut<'b>) -> Option<Self> {
        cut.u32()?;
        Some(Self { stamp: stamp(cut)?, frame: counted(cut, 1)? })
    }
}

/// A `time`: seconds, then nanoseconds; as nanoseconds since 1970.
pub(crate) fn stamp(cut: &mut Cut<'_>) -> Option<i64> {
    let (seconds, nanos) = (cut.u32()?, cut.u32()?);
    Some(i64::from(seconds) * 1_000_000_000 + i64::from(nanos))
}

/// A list of elements of `size` bytes each, or a text: how many, then their bytes.
pub(crate) fn counted<'b>(cut: &mut Cut<'b>, size: usize) -> Option<&'b [u8]> {
    let count = cut.u32()? as usize;
    cut.bytes(count.checked_mul(size)?)
}

#[cfg(test)]
pub(crate) mod testing;
