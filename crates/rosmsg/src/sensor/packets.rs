//! `velodyne_msgs/VelodyneScan`: the packets of a Velodyne lidar.
//!
//! ```text
//! Header | VelodynePacket[] packets
//!
//! VelodynePacket   time stamp | uint8[1206] data
//! ```

use std::ops::Range;

use crate::field_reader::{Encoding, FieldReader};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "50804fc9533a0e579e6322c04ae70566";

/// The length of the data of a packet in bytes.
pub(crate) const PACKET_LEN: usize = 1206;

/// Returns the stamp of each packet of the scan in `payload` (the time of reception in nanoseconds
/// since 1970), and the range of its data in the payload. Returns `None` if the payload is not such
/// a scan.
pub(crate) fn packets(
    payload: &[u8],
    encoding: Encoding,
) -> Option<Vec<(i64, Range<usize>)>> {
    let mut reader = FieldReader::new(payload, encoding)?;
    reader.header()?;
    // Trailing bytes are not counted here: the decoder of the topic of the messages reports them.
    (0..reader.count()?)
        .map(|_| Some((reader.stamp()?, reader.skip_range(PACKET_LEN)?)))
        .collect()
}

#[cfg(test)]
mod tests;
