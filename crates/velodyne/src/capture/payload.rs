//! What the datagrams of a lidar are, and what is none.

use crate::packet::{Bank, Firings};

/// How many bytes a position packet has.
pub(crate) const POSITION_BYTES: usize = 512;

/// Where position packets are sent.
const POSITION_PORT: u16 = 8308;

/// Where the sentence of the GPS receiver begins in a position packet.
pub(crate) const NMEA_START: usize = 206;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A data packet.
    Data,
    /// A position packet.
    Position,
    /// As long as a data packet, and none.
    WrongFlags,
    /// Something else.
    Other,
}

/// What `bytes`, sent from and to `ports`, are.
pub(crate) fn of(ports: [u16; 2], bytes: &[u8]) -> Payload {
    if let Some(firings) = Firings::new(bytes) {
        return match is_data(firings) {
            true => Payload::Data,
            false => Payload::WrongFlags,
        };
    }
    let has_sentence =
        || bytes.get(NMEA_START..).is_some_and(|b| b.starts_with(b"$GP"));
    let is_position = bytes.len() == POSITION_BYTES
        && (ports.contains(&POSITION_PORT) || has_sentence());
    if is_position { Payload::Position } else { Payload::Other }
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
        assert_eq!(of([9, 2368], &wrong), Payload::WrongFlags);
        assert_eq!(of([9, 2368], &packet()[..1000]), Payload::Other);
    }

    #[test]
    fn blocks_may_be_empty_but_not_the_first() {
        let mut dual = packet();
        dual[800..1200].fill(0);
        assert_eq!(of([0, 0], &dual), Payload::Data);
        assert_eq!(of([0, 0], &[0; DATA_BYTES]), Payload::WrongFlags);
    }

    #[test]
    fn a_position_packet_is_told_by_its_port_or_its_sentence() {
        let mut bytes = [0; POSITION_BYTES];
        assert_eq!(of([8308, 8308], &bytes), Payload::Position);
        assert_eq!(of([1, 2], &bytes), Payload::Other);
        bytes[206..212].copy_from_slice(b"$GPRMC");
        assert_eq!(of([1, 2], &bytes), Payload::Position);
    }
}
