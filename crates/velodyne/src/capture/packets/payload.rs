//! Classifies the payloads of datagrams.

use crate::{
    capture::{
        network::ip::UDP_HEADER,
        packets::{
            manufacturer::Manufacturer,
            ports::{DATA_PORT, POSITION_PORT},
        },
    },
    packet::{BLOCK_BYTES, BLOCKS, Bank, DATA_BYTES, Firings},
};

/// The length of a position packet.
pub(crate) const POSITION_BYTES: usize = 512;

/// The offset of the NMEA sentence in a position packet.
pub(crate) const NMEA_START: usize = 206;

/// The classification of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A data packet.
    Data,
    /// A position packet.
    Position,
    /// A data packet with unknown flags: in at most half of the blocks, in those of a payload
    /// with the port of data packets, or all of them 0.
    Corrupted,
    /// A payload with the length of a data packet, unknown flags and another port.
    WrongFlags,
    /// A payload with the length and the port of a packet of a lidar that contains only
    /// zeros. It is not a packet, because each packet has a time.
    Zeros,
    /// A packet of a lidar of another manufacturer.
    OtherLidar(Manufacturer),
    /// Another datagram.
    Other,
}

/// Classifies `bytes`, sent from and to `ports`.
pub(crate) fn classify(ports: [u16; 2], bytes: &[u8]) -> Payload {
    let has_port = match bytes.len() {
        DATA_BYTES => ports.contains(&DATA_PORT),
        POSITION_BYTES => ports.contains(&POSITION_PORT),
        _ => false,
    };
    if has_port && bytes.iter().all(|byte| *byte == 0) {
        return Payload::Zeros;
    }
    if let Some(firings) = Firings::new(bytes) {
        if is_data(firings) {
            return Payload::Data;
        }
        let flags = firings.flags();
        let valid_flags = flags.into_iter().filter_map(Bank::from_flag).count();
        let empty_flags = flags.into_iter().filter(|flag| *flag == 0).count();
        // Zeros may have replaced most blocks of a packet.
        let is_emptied = valid_flags > 0 && valid_flags + empty_flags == BLOCKS;
        return if valid_flags >= BLOCKS / 2 || is_emptied {
            Payload::Corrupted
        } else {
            let unknown =
                if has_port { Payload::Corrupted } else { Payload::WrongFlags };
            other_lidar(ports, bytes).unwrap_or(unknown)
        };
    }
    let has_sentence =
        || bytes.get(NMEA_START..).is_some_and(|nmea| nmea.starts_with(b"$GP"));
    let is_position = bytes.len() == POSITION_BYTES
        && (ports.contains(&POSITION_PORT) || has_sentence());
    if is_position {
        Payload::Position
    } else {
        other_lidar(ports, bytes).unwrap_or(Payload::Other)
    }
}

fn other_lidar(ports: [u16; 2], bytes: &[u8]) -> Option<Payload> {
    Manufacturer::from_datagram(ports, bytes).map(Payload::OtherLidar)
}

/// The minimum length of a datagram with a packet of a lidar: a position packet and the
/// header of UDP.
pub(crate) const MIN_DATAGRAM_BYTES: usize = POSITION_BYTES + UDP_HEADER;

/// Returns whether a payload of `len` bytes, sent from and to `ports`, may be a data
/// packet or a position packet. `bytes` is its captured part.
pub(crate) fn may_be_lidar_packet(ports: [u16; 2], len: usize, bytes: &[u8]) -> bool {
    match len {
        DATA_BYTES => {
            bytes.chunks(BLOCK_BYTES).take(BLOCKS).enumerate().all(|(index, block)| {
                match block.first_chunk().map(|flag| u16::from_le_bytes(*flag)) {
                    Some(flag) if Bank::from_flag(flag).is_some() => true,
                    Some(flag) => index > 0 && matches!(flag, 0 | 0xffff),
                    None => true,
                }
            })
        }
        POSITION_BYTES => {
            let sentence = bytes.get(NMEA_START..).unwrap_or_default();
            let agrees = sentence.iter().zip(b"$GP").all(|(byte, start)| byte == start);
            ports.contains(&POSITION_PORT) || !sentence.is_empty() && agrees
        }
        _ => false,
    }
}

/// Returns whether the first block has a known flag, and each other block has a known flag
/// or is empty. The VLS-128 leaves some blocks empty.
pub(crate) fn is_data(firings: Firings<'_>) -> bool {
    let flags = firings.flags();
    let is_known = |flag: &u16| Bank::from_flag(*flag).is_some();
    flags.first().is_some_and(is_known)
        && flags.iter().all(|flag| is_known(flag) || matches!(flag, 0 | 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::DATA_BYTES;

    fn packet() -> [u8; DATA_BYTES] {
        let mut bytes = [0; DATA_BYTES];
        let blocks = bytes.chunks_exact_mut(BLOCK_BYTES);
        blocks.for_each(|block| block[..2].copy_from_slice(&[0xff, 0xee]));
        bytes
    }

    #[test]
    fn data_packets_are_recognized_by_flags_for_any_port() {
        assert_eq!(classify([9, 2368], &packet()), Payload::Data);
        assert_eq!(classify([9, 9999], &packet()), Payload::Data);
        let mut wrong = packet();
        wrong[0] = 0x12;
        assert_eq!(classify([9, 2368], &wrong), Payload::Corrupted);
        wrong.chunks_mut(100).for_each(|block| block[0] = 0x12);
        assert_eq!(classify([9, 2368], &wrong), Payload::Corrupted);
        assert_eq!(classify([9, 9999], &wrong), Payload::WrongFlags);
        assert_eq!(classify([9, 2368], &packet()[..1000]), Payload::Other);
    }

    #[test]
    fn captured_part_decides_whether_a_payload_may_be_a_packet() {
        assert!(may_be_lidar_packet([9, 9999], 1_206, &packet()[..1_000]));
        assert!(may_be_lidar_packet([9, 9999], 1_206, &[]));
        assert!(!may_be_lidar_packet([2368, 2368], 1_206, &[0x12, 0xee]));
        assert!(!may_be_lidar_packet([2368, 2368], 1_200, &packet()[..1_000]));
        let mut position = [0; 300];
        assert!(may_be_lidar_packet([8308, 8308], 512, &position));
        assert!(!may_be_lidar_packet([9, 9], 512, &position));
        position[206..209].copy_from_slice(b"$GP");
        assert!(may_be_lidar_packet([9, 9], 512, &position));
    }

    #[test]
    fn first_block_must_not_be_empty() {
        let mut zeroed = packet();
        zeroed[..1_100].fill(0);
        assert_eq!(classify([9, 9], &zeroed), Payload::Corrupted);
        let mut dual = packet();
        dual[800..1200].fill(0);
        assert_eq!(classify([0, 0], &dual), Payload::Data);
        assert_eq!(classify([0, 0], &[0; DATA_BYTES]), Payload::WrongFlags);
        assert_eq!(classify([9, 2368], &[0; DATA_BYTES]), Payload::Zeros);
        assert_eq!(classify([9, 8308], &[0; POSITION_BYTES]), Payload::Zeros);
    }

    #[test]
    fn position_packets_are_recognized_by_port_or_sentence() {
        let mut bytes = [0; POSITION_BYTES];
        bytes[198] = 1;
        assert_eq!(classify([8308, 8308], &bytes), Payload::Position);
        assert_eq!(classify([1, 2], &bytes), Payload::Other);
        bytes[206..212].copy_from_slice(b"$GPRMC");
        assert_eq!(classify([1, 2], &bytes), Payload::Position);
    }
}
