//! What the datagrams of a lidar are, and what is none.

use crate::{
    capture::manufacturer::Manufacturer,
    packet::{BLOCK_BYTES, BLOCKS, Bank, DATA_BYTES, Firings},
};

/// How many bytes a position packet has.
pub(crate) const POSITION_BYTES: usize = 512;

/// Where data packets and position packets are sent.
pub(crate) const DATA_PORT: u16 = 2368;
pub(crate) const POSITION_PORT: u16 = 8308;

/// Where the sentence of the GPS receiver begins in a position packet.
pub(crate) const NMEA_START: usize = 206;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A data packet.
    Data,
    /// A position packet.
    Position,
    /// A data packet of which some blocks, but not most, do not say which lasers they
    /// are of.
    Marred,
    /// As long as a data packet, and none.
    WrongFlags,
    /// As long as a packet of a lidar and sent to its port, and nothing but zeros: no packet
    /// is that, as each has a time.
    Zeros,
    /// A packet of a lidar of another manufacturer.
    OtherLidar(Manufacturer),
    /// Something else.
    Other,
}

/// What `bytes`, sent from and to `ports`, are.
pub(crate) fn of(ports: [u16; 2], bytes: &[u8]) -> Payload {
    let is_to = match bytes.len() {
        DATA_BYTES => ports.contains(&DATA_PORT),
        POSITION_BYTES => ports.contains(&POSITION_PORT),
        _ => false,
    };
    if is_to && bytes.iter().all(|byte| *byte == 0) {
        return Payload::Zeros;
    }
    if let Some(firings) = Firings::new(bytes) {
        let known = firings.flags().into_iter().filter_map(Bank::of_flag).count();
        return match is_data(firings) {
            true => Payload::Data,
            false if known >= BLOCKS / 2 => Payload::Marred,
            false => other_lidar(ports, bytes).unwrap_or(Payload::WrongFlags),
        };
    }
    let has_sentence =
        || bytes.get(NMEA_START..).is_some_and(|b| b.starts_with(b"$GP"));
    let is_position = bytes.len() == POSITION_BYTES
        && (ports.contains(&POSITION_PORT) || has_sentence());
    match is_position {
        true => Payload::Position,
        false => other_lidar(ports, bytes).unwrap_or(Payload::Other),
    }
}

fn other_lidar(ports: [u16; 2], bytes: &[u8]) -> Option<Payload> {
    Manufacturer::of_datagram(ports, bytes).map(Payload::OtherLidar)
}

/// The fewest bytes that a frame has that holds one: those of a position packet, and of
/// the headers of UDP and IPv4.
pub(crate) const LEAST_FRAME: usize = POSITION_BYTES + 8 + 20;

/// Whether `len` bytes, sent from and to `ports`, may be a data packet or a position
/// packet, as far as they were captured: `bytes`.
pub(crate) fn may_be(ports: [u16; 2], len: usize, bytes: &[u8]) -> bool {
    match len {
        DATA_BYTES => {
            bytes.chunks(BLOCK_BYTES).take(BLOCKS).enumerate().all(|(index, block)| {
                match block.first_chunk().map(|f| u16::from_le_bytes(*f)) {
                    Some(flag) if Bank::of_flag(flag).is_some() => true,
                    Some(flag) => index > 0 && matches!(flag, 0 | 0xffff),
                    None => true,
                }
            })
        }
        POSITION_BYTES => {
            let sentence = bytes.get(NMEA_START..).unwrap_or_default();
            let is_sentence = sentence.iter().zip(b"$GP").all(|(a, b)| a == b);
            ports.contains(&POSITION_PORT) || !sentence.is_empty() && is_sentence
        }
        _ => false,
    }
}

/// Where in a frame, or in a block of a pcapng around one, a data packet can begin: behind
/// headers of any link, of IP and of UDP.
const STARTS: std::ops::RangeInclusive<usize> = 8..=160;

/// Whether `bytes` hold a data packet somewhere, whatever the headers before it say.
pub(crate) fn holds_packet(bytes: &[u8]) -> bool {
    STARTS.step_by(2).any(|start| {
        let packet = bytes.get(start..start.saturating_add(DATA_BYTES));
        packet.and_then(Firings::new).is_some_and(is_data)
    })
}

/// Whether the first block says which lasers it is of, and all others do, or are empty:
/// the VLS-128 leaves some out.
pub(crate) fn is_data(firings: Firings<'_>) -> bool {
    let flags = firings.flags();
    let is_known = |flag: &u16| Bank::of_flag(*flag).is_some();
    flags.first().is_some_and(is_known)
        && flags.iter().all(|flag| is_known(flag) || matches!(flag, 0 | 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::DATA_BYTES;

    fn packet() -> [u8; DATA_BYTES] {
        let mut bytes = [0; DATA_BYTES];
        bytes.chunks_exact_mut(100).for_each(|b| b[..2].copy_from_slice(&[255, 238]));
        bytes
    }

    #[test]
    fn a_data_packet_is_told_by_its_flags_whatever_the_port() {
        assert_eq!(of([9, 2368], &packet()), Payload::Data);
        assert_eq!(of([9, 9999], &packet()), Payload::Data);
        let mut wrong = packet();
        wrong[0] = 0x12;
        assert_eq!(of([9, 2368], &wrong), Payload::Marred);
        wrong.chunks_mut(100).for_each(|block| block[0] = 0x12);
        assert_eq!(of([9, 2368], &wrong), Payload::WrongFlags);
        assert_eq!(of([9, 2368], &packet()[..1000]), Payload::Other);
    }

    #[test]
    fn what_was_captured_of_a_packet_says_whether_it_may_be_one() {
        assert!(may_be([9, 9999], 1_206, &packet()[..1_000]));
        assert!(may_be([9, 9999], 1_206, &[]));
        assert!(!may_be([2368, 2368], 1_206, &[0x12, 0xee]));
        assert!(!may_be([2368, 2368], 1_200, &packet()[..1_000]));
        let mut position = [0; 300];
        assert!(may_be([8308, 8308], 512, &position));
        assert!(!may_be([9, 9], 512, &position));
        position[206..209].copy_from_slice(b"$GP");
        assert!(may_be([9, 9], 512, &position));
    }

    #[test]
    fn a_packet_is_seen_behind_headers_that_do_not_lead_to_it() {
        let frame = |packet: &[u8]| [&[0; 42], packet, &[0; 4]].concat();
        assert!(holds_packet(&frame(&packet())));
        assert!(!holds_packet(&frame(&packet()[..1_100])));
        assert!(!holds_packet(&[0xff; 1_500]));
    }

    #[test]
    fn blocks_may_be_empty_but_not_the_first() {
        let mut dual = packet();
        dual[800..1200].fill(0);
        assert_eq!(of([0, 0], &dual), Payload::Data);
        assert_eq!(of([0, 0], &[0; DATA_BYTES]), Payload::WrongFlags);
        assert_eq!(of([9, 2368], &[0; DATA_BYTES]), Payload::Zeros);
        assert_eq!(of([9, 8308], &[0; POSITION_BYTES]), Payload::Zeros);
    }

    #[test]
    fn a_position_packet_is_told_by_its_port_or_its_sentence() {
        let mut bytes = [0; POSITION_BYTES];
        bytes[198] = 1;
        assert_eq!(of([8308, 8308], &bytes), Payload::Position);
        assert_eq!(of([1, 2], &bytes), Payload::Other);
        bytes[206..212].copy_from_slice(b"$GPRMC");
        assert_eq!(of([1, 2], &bytes), Payload::Position);
    }
}
