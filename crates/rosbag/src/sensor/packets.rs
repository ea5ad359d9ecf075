//! `velodyne_msgs/VelodyneScan`: what a lidar of Velodyne sent, packet by packet.
//!
//! ```text
//! Header | VelodynePacket[] packets
//!
//! VelodynePacket   time stamp | uint8[1206] data
//! ```

use std::ops::Range;

use logtool_core::Cut;

use crate::sensor::{Header, stamp};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "50804fc9533a0e579e6322c04ae70566";

/// How long the data of a packet are.
pub(crate) const DATA: usize = 1206;

const PACKET: usize = 8 + DATA;

/// The packets of the scan in `payload`: when each was received, in nanoseconds since
/// 1970, and where its data lie. Nothing if it is no such scan.
pub(crate) fn packets(
    payload: &[u8],
) -> Option<impl Iterator<Item = (i64, Range<usize>)>> {
    let mut cut = Cut::new(payload);
    Header::cut(&mut cut)?;
    let count = cut.u32()? as usize;
    let rest = cut.rest();
    let start = payload.len() - rest.len();
    // What is behind them is told by who decodes the message.
    let rest = rest.get(..count.checked_mul(PACKET)?)?;
    Some(rest.chunks_exact(PACKET).enumerate().map(move |(index, packet)| {
        let data = start + index * PACKET + 8;
        (stamp(&mut Cut::new(packet)).unwrap_or_default(), data..data + DATA)
    }))
}

#[cfg(test)]
mod tests;
