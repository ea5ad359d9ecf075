//! `velodyne_msgs/VelodyneScan`: what a lidar of Velodyne sent, packet by packet.
//!
//! ```text
//! Header | VelodynePacket[] packets
//!
//! VelodynePacket   time stamp | uint8[1206] data
//! ```

use std::ops::Range;

use crate::cut::{Encoding, FieldCut};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "50804fc9533a0e579e6322c04ae70566";

/// How long the data of a packet are.
pub(crate) const DATA: usize = 1206;

/// The packets of the scan in `payload`: when each was received, in nanoseconds since
/// 1970, and where its data lie. Nothing if it is no such scan.
pub(crate) fn packets(
    payload: &[u8],
    encoding: Encoding,
) -> Option<Vec<(i64, Range<usize>)>> {
    let mut cut = FieldCut::new(payload, encoding)?;
    cut.header()?;
    // What is behind them is told by who decodes the message.
    (0..cut.count()?).map(|_| Some((cut.stamp()?, cut.place(DATA)?))).collect()
}

#[cfg(test)]
mod tests;
