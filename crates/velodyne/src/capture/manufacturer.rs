//! Datagrams of lidars of other manufacturers, which are recognised and not read.
//!
//! ```text
//! Ouster      lidar to port 7502, of 1,280 to 33,024 bytes; motion to port 7503, 48 bytes
//! Hesai       EE FF, or blocks that begin with FF EE, of certain lengths, or longer than
//!             Velodyne's and to port 2368
//! RoboSense   55 AA 05 or 55 AA 5A A5; device information of 1,248 bytes: A5 FF 00 5A
//! Livox       ports from 56000 to 56501; 1,362 bytes with the older protocol
//! LSLidar     1,212 bytes to port 2368; device information of 1,206 bytes: A5 FF 00 5A
//! ```
//! (The manuals and drivers of these manufacturers.)

use std::fmt;

use crate::{capture::payload::DATA_PORT, packet::DATA_BYTES};

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

/// Lengths of the packets of Ouster lidars: with 16 to 128 beams, in the profiles LEGACY,
/// RNG19_RFL8_SIG16_NIR16, its dual variant, and RNG15_RFL8_NIR8.
const OUSTER: [usize; 16] = [
    3_392, 6_464, 12_608, 24_896, 3_328, 6_400, 12_544, 24_832, 4_352, 8_448, 16_640,
    33_024, 1_280, 2_304, 4_288, 8_384,
];
const OUSTER_PORTS: [u16; 2] = [7502, 7503];
/// The length of a packet with the motion of an Ouster lidar.
const OUSTER_MOTION: usize = 48;

/// Lengths of the packets of Hesai lidars: Pandar20, Pandar40, Pandar64, PandarQT, PandarXT,
/// Pandar128, AT128, and those with a sequence number.
const HESAI: [usize; 14] = [
    1_262, 1_266, 1_194, 1_198, 1_072, 1_076, 568, 1_080, 820, 861, 893, 1_117, 1_118,
    1_100,
];

const LSLIDAR_INFO_PORT: u16 = 2369;
/// The length of the packets of LSLidar that are not as long as Velodyne's.
const LSLIDAR: usize = 1_212;

/// The ports to which RoboSense lidars send points and device information.
const ROBOSENSE_PORTS: [u16; 2] = [6699, 7788];
const ROBOSENSE: [usize; 2] = [1_248, 1_210];

/// The ports of Livox lidars and of the computer that listens to them, by the second version
/// of their protocol, and the port of a lidar by the first.
const LIVOX_PORTS: std::ops::RangeInclusive<u16> = 56_000..=56_501;
const LIVOX_OLD_PORT: u16 = 65_000;
/// The length of a Livox packet with 96 points.
const LIVOX: usize = 1_362;

/// What device information of RoboSense and LSLidar begins with.
const INFO: &[u8] = &[0xa5, 0xff, 0x00, 0x5a];

impl Manufacturer {
    /// Returns whose lidar sent the datagram `payload` from and to `ports`, if that is clear.
    pub(crate) fn of_datagram(ports: [u16; 2], payload: &[u8]) -> Option<Self> {
        let is_to = |port: &[u16]| port.iter().any(|port| ports.contains(port));
        let len = payload.len();
        let has_blocks =
            payload.starts_with(&[0xff, 0xee]) || payload.starts_with(&[0xee, 0xff]);
        if payload.starts_with(&[0x55, 0xaa, 0x05])
            || payload.starts_with(&[0x55, 0xaa, 0x5a, 0xa5])
            || is_to(&ROBOSENSE_PORTS) && ROBOSENSE.contains(&len)
        {
            return Some(Self::RoboSense);
        }
        if payload.starts_with(INFO) {
            return match len {
                DATA_BYTES => Some(Self::LsLidar),
                _ => Some(Self::RoboSense),
            };
        }
        let is_data = has_blocks || is_to(&[DATA_PORT]);
        let is_info = is_to(&[LSLIDAR_INFO_PORT]);
        if is_data && len == LSLIDAR || is_info && [LSLIDAR, DATA_BYTES].contains(&len)
        {
            return Some(Self::LsLidar);
        }
        let is_long = is_to(&[DATA_PORT]) && has_blocks && len > DATA_BYTES;
        if is_long || is_data && HESAI.contains(&len) {
            return Some(Self::Hesai);
        }
        let is_livox = ports.iter().all(|port| LIVOX_PORTS.contains(port))
            || len == LIVOX
                && ports
                    .iter()
                    .any(|port| LIVOX_PORTS.contains(port) || *port == LIVOX_OLD_PORT);
        if is_livox {
            return Some(Self::Livox);
        }
        let is_ouster = is_to(&OUSTER_PORTS)
            && (len == OUSTER_MOTION || len >= OUSTER[12])
            || OUSTER.contains(&len);
        is_ouster.then_some(Self::Ouster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(port: u16, len: usize, start: &[u8]) -> Option<Manufacturer> {
        let mut payload = vec![0; len];
        payload[..start.len()].copy_from_slice(start);
        Manufacturer::of_datagram([port, port], &payload)
    }

    #[test]
    fn packets_are_recognised_by_port_length_and_start() {
        use Manufacturer::*;
        let cases: [(u16, usize, &[u8], Manufacturer); 17] = [
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
            (56_300, 1_362, b"", Livox),
            (56_400, 60, b"", Livox),
            (65_000, 1_362, b"", Livox),
            (2368, 1_212, &[0xff, 0xee], LsLidar),
            (2369, 1_206, &[0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11], LsLidar),
            (2368, 1_212, b"", LsLidar),
        ];
        for (port, len, start, expected) in cases {
            assert_eq!(of(port, len, start), Some(expected), "{port} {len} {start:x?}");
        }
    }

    #[test]
    fn other_traffic_is_of_no_lidar() {
        assert_eq!(of(53, 120, b"\x12\x34\x81\x80"), None);
        assert_eq!(of(2368, 1_206, &[0xff, 0xee]), None);
        assert_eq!(of(8308, 512, b""), None);
        assert_eq!(of(7502, 100, b""), None);
        // A port that an ordinary program got from the system.
        assert_eq!(Manufacturer::of_datagram([53, 56_300], &[0; 120]), None);
    }
}
