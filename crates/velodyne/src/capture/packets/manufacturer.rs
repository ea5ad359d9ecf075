//! Recognizes datagrams of lidars of other manufacturers, which are not supported.
//!
//! ```text
//! Ouster      lidar to port 7502, of 1,280 to 33,024 bytes; motion to port 7503, 48 bytes
//! Hesai       EE FF, or blocks that start with FF EE, of certain lengths, or longer than
//!             Velodyne's and to port 2368
//! RoboSense   55 AA 05 or 55 AA 5A, mostly to port 6699; device information mostly to
//!             port 7788: A5 FF 00 5A or A5 FF 00 AE
//! Livox       ports of Mid-360 and HAP, from 56000 to 59000; or a length that agrees with
//!             the header
//! LSLidar     1,212 bytes to port 2368; device information of 1,206 or 1,212 bytes to
//!             port 2369: A5 FF 00 5A
//! ```
//! (Manuals of Ouster and Hesai; RoboSense `rs_driver`, the parameters of its decoders, and
//! `rslidar_sdk`, `config.yaml`; Livox-SDK `livox_def.h`, Livox-SDK2 `livox_lidar_def.h` and
//! its samples `mid360_config.json` and `hap_config.json`; `lslidar_driver`, `driver.cpp` and
//! its parameters.)

use std::fmt;

use crate::{capture::packets::ports::DATA_PORT, packet::DATA_BYTES};

/// A manufacturer whose lidars are not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Manufacturer {
    Ouster,
    Hesai,
    RoboSense,
    Livox,
    LsLidar,
}

impl fmt::Display for Manufacturer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ouster => "Ouster",
            Self::Hesai => "Hesai",
            Self::RoboSense => "RoboSense",
            Self::Livox => "Livox",
            Self::LsLidar => "LSLidar",
        })
    }
}

/// The lengths of the packets of Ouster lidars with 16 to 128 beams, in the profiles LEGACY,
/// RNG19_RFL8_SIG16_NIR16, its dual variant, and RNG15_RFL8_NIR8.
const OUSTER_LENGTHS: [usize; 16] = [
    3_392, 6_464, 12_608, 24_896, 3_328, 6_400, 12_544, 24_832, 4_352, 8_448, 16_640,
    33_024, 1_280, 2_304, 4_288, 8_384,
];
/// The minimum length of packets with points to a port of Ouster.
const OUSTER_MIN_LEN: usize = 1_280;
const OUSTER_PORTS: [u16; 2] = [7502, 7503];
/// The length of a packet with the motion of an Ouster lidar.
const OUSTER_MOTION_LEN: usize = 48;

/// The lengths of the packets of Hesai lidars: Pandar20, Pandar40, Pandar64, PandarQT,
/// PandarXT, Pandar128, AT128, and variants with a sequence number.
const HESAI_LENGTHS: [usize; 14] = [
    1_262, 1_266, 1_194, 1_198, 1_072, 1_076, 568, 1_080, 820, 861, 893, 1_117, 1_118,
    1_100,
];

const LSLIDAR_INFO_PORT: u16 = 2369;
/// The length of the packets of LSLidar, except those that are as long as Velodyne's.
pub(crate) const LSLIDAR_LEN: usize = 1_212;

/// The ports to which RoboSense lidars send points and device information.
const ROBOSENSE_PORTS: [u16; 2] = [6699, 7788];
const ROBOSENSE_LENGTHS: [usize; 2] = [1_248, 1_210];

/// The ports of Livox lidars and of the receiving computer: those of a Mid-360, and those
/// of a HAP for commands, points, motion and logs.
const LIVOX_PORTS: [u16; 14] = [
    56_000, 56_100, 56_101, 56_200, 56_201, 56_300, 56_301, 56_400, 56_401, 56_500,
    56_501, 57_000, 58_000, 59_000,
];
/// The ports for commands and discovery in the first version of the Livox protocol.
const OLD_LIVOX_PORTS: [u16; 2] = [65_000, 55_000];
/// The number of bytes of a point of each data type in the second version of the protocol.
const LIVOX_POINT_BYTES: [usize; 4] = [24, 14, 8, 10];
/// The number of bytes of the header in the second version.
const LIVOX_HEADER_BYTES: usize = 36;
/// The length of a packet of each data type in the first version: a header of 18 bytes and
/// the points.
const OLD_LIVOX_LENGTHS: [usize; 6] = [
    18 + 100 * 13,
    18 + 100 * 9,
    18 + 96 * 14,
    18 + 96 * 10,
    18 + 48 * 28,
    18 + 48 * 16,
];

/// The first bytes of the packets of RoboSense, and the length of the header before the blocks
/// that are like Velodyne's.
pub(crate) const ROBOSENSE_STARTS: [[u8; 3]; 2] =
    [[0x55, 0xaa, 0x05], [0x55, 0xaa, 0x5a]];
pub(crate) const ROBOSENSE_HEADER: usize = 42;

/// The first bytes of the device information of RoboSense and LSLidar.
const DEVICE_INFO: &[u8] = &[0xa5, 0xff, 0x00, 0x5a];
const ROBOSENSE_DEVICE_INFO: &[u8] = &[0xa5, 0xff, 0x00, 0xae];

impl Manufacturer {
    /// Returns the manufacturer whose lidar sent the datagram `payload` from and to
    /// `ports`, if it is recognized.
    pub(crate) fn from_datagram(ports: [u16; 2], payload: &[u8]) -> Option<Self> {
        let has_port = |known: &[u16]| known.iter().any(|port| ports.contains(port));
        let len = payload.len();
        let has_blocks =
            payload.starts_with(&[0xff, 0xee]) || payload.starts_with(&[0xee, 0xff]);
        if ROBOSENSE_STARTS.iter().any(|start| payload.starts_with(start))
            || payload.starts_with(ROBOSENSE_DEVICE_INFO)
            || has_port(&ROBOSENSE_PORTS) && ROBOSENSE_LENGTHS.contains(&len)
        {
            return Some(Self::RoboSense);
        }
        if payload.starts_with(DEVICE_INFO) {
            return match len {
                DATA_BYTES | LSLIDAR_LEN => Some(Self::LsLidar),
                _ => Some(Self::RoboSense),
            };
        }
        let is_data = has_blocks || has_port(&[DATA_PORT]);
        let is_info = has_port(&[LSLIDAR_INFO_PORT]);
        if is_data && len == LSLIDAR_LEN
            || is_info && [LSLIDAR_LEN, DATA_BYTES].contains(&len)
        {
            return Some(Self::LsLidar);
        }
        let is_long = has_port(&[DATA_PORT]) && has_blocks && len > DATA_BYTES;
        if is_long || is_data && HESAI_LENGTHS.contains(&len) {
            return Some(Self::Hesai);
        }
        let has_livox_port = has_port(&LIVOX_PORTS) || has_port(&OLD_LIVOX_PORTS);
        let is_livox = ports.iter().all(|port| LIVOX_PORTS.contains(port))
            || has_livox_port && OLD_LIVOX_LENGTHS.contains(&len)
            || is_livox_packet(payload)
            || is_old_livox_packet(payload);
        if is_livox {
            return Some(Self::Livox);
        }
        let is_ouster = has_port(&OUSTER_PORTS)
            && (len == OUSTER_MOTION_LEN || len >= OUSTER_MIN_LEN)
            || OUSTER_LENGTHS.contains(&len);
        is_ouster.then_some(Self::Ouster)
    }
}

/// Returns whether `payload` is a packet of the second version of Livox's protocol: its
/// length agrees with the header. The header starts with version u8, length u16, interval
/// u16, number of points u16, two counters, data type u8.
fn is_livox_packet(payload: &[u8]) -> bool {
    let Some([_, l0, l1, _, _, n0, n1, _, _, _, data_type]) = payload.first_chunk()
    else {
        return false;
    };
    let len = usize::from(u16::from_le_bytes([*l0, *l1]));
    let points = usize::from(u16::from_le_bytes([*n0, *n1]));
    let point_bytes = LIVOX_POINT_BYTES.get(usize::from(*data_type));
    len == payload.len()
        && points > 0
        && point_bytes.is_some_and(|bytes| LIVOX_HEADER_BYTES + points * bytes == len)
}

/// Returns whether `payload` is a packet of the first version of Livox's protocol: its
/// length is that of its data type. The header starts with version, slot, number, a
/// reserved byte, status u32, time type, data type.
fn is_old_livox_packet(payload: &[u8]) -> bool {
    let Some([_, _, _, 0, _, _, _, _, _, data_type]) = payload.first_chunk() else {
        return false;
    };
    OLD_LIVOX_LENGTHS.get(usize::from(*data_type)) == Some(&payload.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(port: u16, len: usize, start: &[u8]) -> Option<Manufacturer> {
        let mut payload = vec![0; len];
        payload[..start.len()].copy_from_slice(start);
        Manufacturer::from_datagram([port, port], &payload)
    }

    #[test]
    fn packets_are_recognized_by_port_length_and_start() {
        use Manufacturer::*;
        let cases: [(u16, usize, &[u8], Manufacturer); 29] = [
            (7502, 12_608, b"", Ouster),
            (7502, 33_024, b"", Ouster),
            (7503, 48, b"", Ouster),
            (9000, 6_464, b"", Ouster),
            (2368, 1_262, &[0xff, 0xee], Hesai),
            (2368, 1_080, &[0xee, 0xff, 1, 6], Hesai),
            (5555, 568, &[0xee, 0xff, 6, 1], Hesai),
            (2368, 1_640, &[0xff, 0xee], Hesai),
            (6699, 1_248, &[0x55, 0xaa, 0x05, 0x0a, 0x5a, 0xa5, 0x50, 0xa0], RoboSense),
            (6699, 1_210, &[0x55, 0xaa, 0x5a, 0xa5], RoboSense),
            (7788, 1_248, &[0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11], RoboSense),
            // EM4, EMX, AC2 and their device information; RS-Ruby and Helios.
            (6699, 1_084, &[0x55, 0xaa, 0x5a, 0xa5], RoboSense),
            (6699, 6_448, &[0x55, 0xaa, 0x5a, 0x00], RoboSense),
            (1990, 3_116, &[0x55, 0xaa, 0x5a, 0xa5], RoboSense),
            (7788, 500, &[0xa5, 0xff, 0x00, 0xae], RoboSense),
            (7788, 1_310, &[0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11], RoboSense),
            (6699, 1_248, &[0x55, 0xaa, 0x05, 0x5a], RoboSense),
            // Points and motion of a Mid-360, points of a HAP, to any port.
            (56_301, 1_380, b"", Livox),
            (57_000, 1_380, b"", Livox),
            (58_000, 60, b"", Livox),
            (9_000, 1_380, &[0, 0x64, 0x05, 0, 0, 96, 0, 0, 0, 0, 1], Livox),
            // 100 points of a Mid-40, to a port chosen by the computer.
            (1_981, 1_318, &[5, 1, 1, 0, 0, 0, 0, 0, 0, 0], Livox),
            (2369, 1_212, &[0xa5, 0xff, 0x00, 0x5a], LsLidar),
            (56_300, 1_362, b"", Livox),
            (56_400, 60, b"", Livox),
            (65_000, 1_362, b"", Livox),
            (2368, 1_212, &[0xff, 0xee], LsLidar),
            (2369, 1_206, &[0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11], LsLidar),
            (2368, 1_212, b"", LsLidar),
        ];
        for (port, len, start, expected) in cases {
            assert_eq!(
                detect(port, len, start),
                Some(expected),
                "{port} {len} {start:x?}"
            );
        }
    }

    #[test]
    fn other_traffic_is_not_from_a_lidar() {
        assert_eq!(detect(53, 120, b"\x12\x34\x81\x80"), None);
        assert_eq!(detect(2368, 1_206, &[0xff, 0xee]), None);
        assert_eq!(detect(8308, 512, b""), None);
        assert_eq!(detect(7502, 100, b""), None);
        // The lengths of Livox packets, but with headers that do not agree with them.
        assert_eq!(
            detect(9_000, 1_380, &[0, 0x64, 0x05, 0, 0, 95, 0, 0, 0, 0, 1]),
            None
        );
        assert_eq!(detect(1_981, 1_318, &[5, 1, 1, 7]), None);
        // An ephemeral port of an ordinary program.
        assert_eq!(Manufacturer::from_datagram([53, 56_300], &[0; 120]), None);
    }
}
