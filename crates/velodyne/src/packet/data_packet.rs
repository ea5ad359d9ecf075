//! The data packet: twelve blocks of 32 firings, the same for all models.
//!
//! ```text
//! block x 12    flag u16 | azimuth u16 (0.01 deg) | 32 x (distance u16, intensity u8)
//! tail          time u32 (us past the hour) | u8 | u8
//! ```
//! (HDL-64E S3 manual, p. 31; VLP-16 manual, 9.3.) Little-endian, 1206 bytes.

use logtool_core::ByteReader;

/// The number of bytes of a data packet.
pub const DATA_BYTES: usize = 1206;

/// The number of blocks of a data packet.
pub const BLOCKS: usize = 12;

/// The number of firings of a block.
pub const CHANNELS: usize = 32;

/// The number of bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 100;

/// A data packet. Only its length has been checked.
#[derive(Clone, Copy, Debug)]
pub struct Firings<'b> {
    bytes: &'b [u8; DATA_BYTES],
}

/// The contents of a data packet without its returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeaders {
    /// The flag of each block.
    pub flags: [u16; BLOCKS],
    /// The azimuth of each block, in hundredths of a degree.
    pub azimuths: [u16; BLOCKS],
    /// The last six bytes.
    pub tail: PacketTail,
}

/// The 32 lasers that fired for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bank {
    /// Lasers 0 to 31: the upper block of the HDL-64E.
    First,
    /// Lasers 32 to 63: the lower block of the HDL-64E.
    Second,
    /// Lasers 64 to 95, of the VLS-128.
    Third,
    /// Lasers 96 to 127, of the VLS-128.
    Fourth,
}

/// The 32 returns of a block: distance and intensity, three bytes each.
pub type Returns<'b> = &'b [u8; CHANNELS * 3];

/// The last six bytes of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTail {
    /// Microseconds past the hour, if the model counts them.
    pub micros: u32,
    /// HDL-64E: the type of the status value. Others: the return mode.
    pub status_type: u8,
    /// HDL-64E: the status value. Others: the product ID.
    pub status_value: u8,
}

impl<'b> Firings<'b> {
    /// Returns the packet in `payload`, or `None` if `payload` does not have the length of
    /// a packet.
    pub fn new(payload: &'b [u8]) -> Option<Self> {
        payload.try_into().ok().map(|bytes| Self { bytes })
    }

    /// Returns the flag, the azimuth in hundredths of a degree, and the returns of each
    /// block.
    pub fn blocks(self) -> impl ExactSizeIterator<Item = (u16, u16, Returns<'b>)> {
        self.bytes.as_chunks::<BLOCK_BYTES>().0.iter().map(|block| {
            let [f0, f1, a0, a1, returns @ ..] = block;
            let (flag, azimuth) = ([*f0, *f1], [*a0, *a1]);
            (u16::from_le_bytes(flag), u16::from_le_bytes(azimuth), returns)
        })
    }

    /// Returns the returns of each block.
    pub fn returns(self) -> [Returns<'b>; BLOCKS] {
        let mut returns = [const { &[0; CHANNELS * 3] }; BLOCKS];
        returns.iter_mut().zip(self.blocks()).for_each(|(slot, block)| *slot = block.2);
        returns
    }

    /// Returns the contents without the returns.
    pub fn headers(self) -> PacketHeaders {
        PacketHeaders {
            flags: self.flags(),
            azimuths: self.azimuths(),
            tail: self.tail(),
        }
    }

    /// Returns the flag of each block.
    pub fn flags(self) -> [u16; BLOCKS] {
        let mut flags = [0; BLOCKS];
        flags.iter_mut().zip(self.blocks()).for_each(|(slot, block)| *slot = block.0);
        flags
    }

    /// Returns the azimuth of each block, in hundredths of a degree.
    pub fn azimuths(self) -> [u16; BLOCKS] {
        let mut azimuths = [0; BLOCKS];
        azimuths
            .iter_mut()
            .zip(self.blocks())
            .for_each(|(slot, block)| *slot = block.1);
        azimuths
    }

    /// Returns the last six bytes.
    pub fn tail(self) -> PacketTail {
        let mut reader = ByteReader::new(&self.bytes[BLOCKS * BLOCK_BYTES..]);
        let micros = reader.u32().unwrap_or(0);
        let status_type = reader.u8().unwrap_or(0);
        let status_value = reader.u8().unwrap_or(0);
        PacketTail { micros, status_type, status_value }
    }
}

impl PacketHeaders {
    /// Returns whether a lidar can have sent these blocks: the first eight have known
    /// flags and valid azimuths. The others are empty in packets of a VLS-128 in dual
    /// return mode.
    pub(crate) fn is_plausible(&self) -> bool {
        let mut blocks = self.flags.iter().zip(&self.azimuths).take(8);
        blocks.all(|(flag, azimuth)| {
            Bank::from_flag(*flag).is_some() && *azimuth <= 36_000
        })
    }
}

impl Bank {
    /// Returns the bank of `flag`, if the flag is known.
    pub const fn from_flag(flag: u16) -> Option<Self> {
        match flag {
            0xeeff => Some(Self::First),
            0xddff => Some(Self::Second),
            0xccff => Some(Self::Third),
            0xbbff => Some(Self::Fourth),
            _ => None,
        }
    }

    /// Returns the index of the bank of `flag`, or `u16::MAX` if the flag is unknown.
    pub(crate) fn index_of_flag(flag: u16) -> u16 {
        // The difference between the flags of consecutive banks.
        const STEP: u16 = 0x1100;
        let steps_below = 0xeeff_u16.wrapping_sub(flag);
        let is_flag = steps_below.is_multiple_of(STEP) && steps_below <= 3 * STEP;
        if is_flag { steps_below / STEP } else { u16::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_of_wrong_length_is_rejected() {
        assert!(Firings::new(&[0; DATA_BYTES - 1]).is_none());
        assert!(Firings::new(&[0; DATA_BYTES + 1]).is_none());
    }

    #[test]
    fn bank_indexes_agree_with_banks_for_all_flags() {
        for flag in 0..=u16::MAX {
            let bank_index = Bank::index_of_flag(flag);
            let bank = Bank::from_flag(flag).map(|bank| bank as u16);
            assert_eq!(
                bank,
                (bank_index != u16::MAX).then_some(bank_index),
                "{flag:#x}"
            );
        }
    }

    #[test]
    fn block_and_tail_are_parsed_at_their_offsets() {
        let mut bytes = [0; DATA_BYTES];
        bytes[100..107].copy_from_slice(&[0xff, 0xdd, 0x39, 0x30, 0x88, 0x13, 77]);
        bytes[1200..].copy_from_slice(&[1, 2, 0, 0, b'H', 13]);
        let packet = Firings::new(&bytes).unwrap();
        let (flag, azimuth, returns) = packet.blocks().nth(1).unwrap();
        assert_eq!(Bank::from_flag(flag), Some(Bank::Second));
        assert_eq!(azimuth, 12_345);
        assert_eq!(returns[..3], [0x88, 0x13, 77]);
        assert_eq!(
            packet.tail(),
            PacketTail { micros: 513, status_type: b'H', status_value: 13 }
        );
    }
}
