//! Completes data packets that end early, e.g. because of the snapshot length of a capture.

use logtool_core::Timestamp;

use crate::{
    hour::HOUR,
    packet::{BLOCK_BYTES, BLOCKS, DATA_BYTES, Firings, PacketTail},
};

/// The last two bytes of completed packets. No lidar sends them: they are neither a return
/// mode with a product ID nor a type of a status with its value.
const MISSING_STATUS: u8 = 0xff;

/// A turn in hundredths of a degree.
const TURN: i32 = 36_000;

/// Returns a data packet with the complete blocks at the start of `bytes`, or `None` if no
/// block is complete. The missing blocks have no returns; their flags and azimuths continue those of
/// the complete blocks. The missing time past the hour is that of `time`, and the last two
/// bytes are 0xff.
pub(crate) fn complete(bytes: &[u8], time: Timestamp) -> Option<[u8; DATA_BYTES]> {
    let complete_blocks = (bytes.len() / BLOCK_BYTES).min(BLOCKS);
    let complete_bytes = bytes.get(..complete_blocks * BLOCK_BYTES)?;
    let mut packet = [0; DATA_BYTES];
    packet.get_mut(..complete_bytes.len())?.copy_from_slice(complete_bytes);
    let firings = Firings::new(&packet)?;
    let (flags, azimuths) = (firings.flags(), firings.azimuths());
    let flags = flags.get(..complete_blocks).filter(|flags| !flags.is_empty())?;
    let azimuths = azimuths.get(..complete_blocks)?;
    let period = (1..=complete_blocks)
        .find(|period| flags.iter().skip(*period).zip(flags).all(|(a, b)| a == b))?;
    let missing = packet.chunks_mut(BLOCK_BYTES).enumerate().skip(complete_blocks);
    for (index, block) in missing.take(BLOCKS - complete_blocks) {
        let flag = flags.get(index % period)?;
        block.get_mut(..2)?.copy_from_slice(&flag.to_le_bytes());
        block.get_mut(2..4)?.copy_from_slice(&azimuth(azimuths, index).to_le_bytes());
    }
    let micros = match time {
        Timestamp::MAX => 0,
        time => time.as_nanos().rem_euclid(HOUR) / 1_000,
    };
    let tail = packet.last_chunk_mut::<6>()?;
    tail[..4].copy_from_slice(&(micros as u32).to_le_bytes());
    tail[4..].fill(MISSING_STATUS);
    Some(packet)
}

/// Returns the azimuth of the block `index` if it continues `azimuths`. Consecutive blocks
/// with the same azimuth are a group.
fn azimuth(azimuths: &[u16], index: usize) -> u16 {
    let Some(first) = azimuths.first() else { return 0 };
    let group = azimuths.iter().take_while(|azimuth| *azimuth == first).count();
    let last_group = (azimuths.len() - 1) / group;
    let start_of_last = azimuths.get(last_group * group).unwrap_or(first);
    let sweep = (i32::from(*start_of_last) - i32::from(*first)).rem_euclid(TURN);
    let groups = (index / group) as i32;
    let advance = sweep * groups / (last_group as i32).max(1);
    (i32::from(*first) + advance).rem_euclid(TURN) as u16
}

impl PacketTail {
    /// Returns whether the last bytes of the packet are missing.
    pub(crate) fn is_missing(self) -> bool {
        [self.status_type, self.status_value] == [MISSING_STATUS; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates blocks with `flags` in turn and these azimuths. Their returns are 7.
    fn blocks(flags: &[u16], azimuths: &[u16]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (flag, azimuth) in flags.iter().cycle().zip(azimuths) {
            bytes.extend(flag.to_le_bytes());
            bytes.extend(azimuth.to_le_bytes());
            bytes.extend([7; 96]);
        }
        bytes
    }

    #[test]
    fn complete_blocks_are_kept_and_the_others_have_no_returns() {
        let azimuths = [35_960, 35_980, 0];
        let mut bytes = blocks(&[0xeeff], &azimuths);
        bytes.extend([9; 99]);
        // 10:30:00.000005
        let time = Timestamp::from_micros(10 * 3_600_000_000 + 1_800_000_005);
        let packet = complete(&bytes, time).unwrap();
        assert_eq!(packet[..300], bytes[..300]);
        let firings = Firings::new(&packet).unwrap();
        assert_eq!(firings.flags(), [0xeeff; 12]);
        let expected = [35_960, 35_980, 0, 20, 40, 60, 80, 100, 120, 140, 160, 180];
        assert_eq!(firings.azimuths(), expected);
        assert!(firings.returns()[3..].iter().all(|returns| **returns == [0; 96]));
        assert_eq!(firings.tail().micros, 1_800_000_005);
        assert!(firings.tail().is_missing());
    }

    #[test]
    fn groups_of_blocks_with_the_same_azimuth_and_the_banks_continue() {
        let bytes = blocks(&[0xeeff, 0xddff], &[100, 100, 118, 118, 136, 136, 154]);
        let packet = complete(&bytes, Timestamp::MAX).unwrap();
        let firings = Firings::new(&packet).unwrap();
        let expected = [100, 100, 118, 118, 136, 136, 154, 154, 172, 172, 190, 190];
        assert_eq!(firings.azimuths(), expected);
        assert_eq!(firings.flags()[7..], [0xddff, 0xeeff, 0xddff, 0xeeff, 0xddff]);
        assert_eq!(firings.tail().micros, 0);
    }

    #[test]
    fn packet_without_a_complete_block_cannot_be_completed() {
        assert_eq!(complete(&[0xff; 99], Timestamp::MAX), None);
        let one_block = complete(&blocks(&[0xeeff], &[5]), Timestamp::MAX).unwrap();
        assert_eq!(Firings::new(&one_block).unwrap().azimuths(), [5; 12]);
    }
}
