//! Separates the interleaved distances and intensities of a block.

use crate::{
    packet::Returns,
    points::block::laser_bank::{PaddedPerChannel, PerChannel},
};

/// Separates the distances and intensities of returns with one instruction set.
pub(crate) trait Deinterleave: Copy {
    /// Writes the distances of `returns` to `raw`, and their intensities to `intensities`.
    /// Returns a bit mask of the channels with a distance, with the first channel in the
    /// lowest bit.
    fn deinterleave(
        self,
        returns: Returns<'_>,
        raw: &mut PerChannel<u16>,
        intensities: &mut PaddedPerChannel<u8>,
    ) -> u32;
}

/// The portable implementation: four returns are twelve bytes, which are separated in two
/// 64-bit registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortableDeinterleave;

impl Deinterleave for PortableDeinterleave {
    #[inline(always)]
    fn deinterleave(
        self,
        returns: Returns<'_>,
        raw: &mut PerChannel<u16>,
        intensities: &mut PaddedPerChannel<u8>,
    ) -> u32 {
        let returns_and_raw =
            returns.as_chunks::<12>().0.iter().zip(raw.as_chunks_mut::<4>().0);
        let groups = returns_and_raw.zip(intensities.as_chunks_mut::<4>().0);
        let mut return_mask = 0;
        for (group, ((four_returns, raw), intensities)) in groups.enumerate() {
            let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11] = *four_returns;
            let low = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
            let high = u64::from_le_bytes([b4, b5, b6, b7, b8, b9, b10, b11]);
            let distances = low & 0xffff
                | low >> 8 & 0xffff_0000
                | low >> 16 & 0xffff_0000_0000
                | high << 8 & 0xffff_0000_0000_0000;
            let four_intensities = low >> 16 & 0xff
                | low >> 32 & 0xff00
                | high >> 16 & 0xff_0000
                | high >> 32 & 0xff00_0000;
            for (index, raw) in raw.iter_mut().enumerate() {
                *raw = (distances >> (16 * index)) as u16;
            }
            *intensities = (four_intensities as u32).to_le_bytes();
            // Set the highest bit of each distance that is not zero, and clear all others.
            let low_bits = 0x7fff_7fff_7fff_7fff;
            let is_return =
                (((distances & low_bits) + low_bits) | distances) & !low_bits;
            // The product moves these bits into its highest four bits.
            let bits = (is_return >> 15).wrapping_mul(0x1000_2000_4000_8000) >> 60;
            return_mask |= (bits as u32) << (4 * group);
        }
        return_mask
    }
}

/// The implementation for AVX2: four returns are in twelve bytes of a 16-byte register, which
/// is shuffled.
#[cfg(target_arch = "x86_64")]
impl Deinterleave for pulp::x86::V3 {
    #[inline(always)]
    fn deinterleave(
        self,
        returns: Returns<'_>,
        raw: &mut PerChannel<u16>,
        intensities: &mut PaddedPerChannel<u8>,
    ) -> u32 {
        /// The shuffle index that yields zero.
        const ZERO: i8 = -1;
        /// The shuffles that move the distances of four returns to the first or the second
        /// half of a register.
        const DISTANCES: [[i8; 16]; 2] = [
            [0, 1, 3, 4, 6, 7, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1],
            [-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 3, 4, 6, 7, 9, 10],
        ];
        /// The shuffles that move the intensities of four returns to the first or the second
        /// four bytes of a register.
        const INTENSITIES: [[i8; 16]; 2] = [
            [2, 5, 8, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
            [-1, -1, -1, -1, 2, 5, 8, 11, -1, -1, -1, -1, -1, -1, -1, -1],
        ];
        /// Returns `shuffle` for returns that are preceded by four other bytes.
        const fn after_four_bytes(shuffle: [i8; 16]) -> [i8; 16] {
            let mut shifted = [ZERO; 16];
            let mut i = 0;
            while i < 16 {
                if shuffle[i] != ZERO {
                    shifted[i] = shuffle[i] + 4;
                }
                i += 1;
            }
            shifted
        }
        let load_16_bytes = |start: usize| {
            let bytes = returns[start..].first_chunk::<16>();
            pulp::cast(*bytes.unwrap_or(&[0; 16]))
        };
        let shuffled = |bytes, shuffle: [i8; 16]| {
            self.ssse3._mm_shuffle_epi8(bytes, pulp::cast(shuffle))
        };
        let zero = self.sse2._mm_setzero_si128();
        let mut is_zero = [zero; 4];
        // Each step separates eight returns.
        for step in 0..4 {
            // 16 bytes from the start of the last four returns would exceed the block, so
            // they are loaded with the four bytes before them.
            let is_last = step == 3;
            let starts = [24 * step, if is_last { 80 } else { 24 * step + 12 }];
            let [first, second] = starts.map(load_16_bytes);
            let [second_distances, second_intensities] = if is_last {
                [after_four_bytes(DISTANCES[1]), after_four_bytes(INTENSITIES[1])]
            } else {
                [DISTANCES[1], INTENSITIES[1]]
            };
            let distances = self.sse2._mm_or_si128(
                shuffled(first, DISTANCES[0]),
                shuffled(second, second_distances),
            );
            let eight_intensities = self.sse2._mm_or_si128(
                shuffled(first, INTENSITIES[0]),
                shuffled(second, second_intensities),
            );
            is_zero[step] = self.sse2._mm_cmpeq_epi16(distances, zero);
            let distances: [u16; 8] = pulp::cast(distances);
            raw[8 * step..8 * step + 8].copy_from_slice(&distances);
            let [eight_intensities, _]: [[u8; 8]; 2] = pulp::cast(eight_intensities);
            intensities[8 * step..8 * step + 8].copy_from_slice(&eight_intensities);
        }
        let mask = |low, high| {
            let bytes = self.sse2._mm_packs_epi16(low, high);
            self.sse2._mm_movemask_epi8(bytes) as u32 & 0xffff
        };
        !(mask(is_zero[0], is_zero[1]) | mask(is_zero[2], is_zero[3]) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CHANNELS;

    /// Returns the distance and the intensity of each channel, and whether it has a return,
    /// as separated by `simd`.
    fn deinterleave_bank(
        simd: impl Deinterleave,
        returns: Returns<'_>,
    ) -> Vec<(u16, u8, bool)> {
        let (mut raw, mut intensities) = ([0; CHANNELS], [0; 2 * CHANNELS]);
        let return_mask = simd.deinterleave(returns, &mut raw, &mut intensities);
        let channels = raw.into_iter().zip(intensities).zip(0..);
        channels
            .map(|((raw, intensity), channel)| {
                (raw, intensity, return_mask >> channel & 1 == 1)
            })
            .collect()
    }

    #[test]
    fn all_instruction_sets_separate_returns_equally() {
        let mut returns = [0_u8; 96];
        let mut expected = vec![];
        for (channel, bytes) in returns.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let distance = [0, 1, 0xff, 0x100, 0x7fff, 0x8000, 0xffff][channel * 5 % 7];
            let intensity = 7 * channel as u8 + 1;
            let [low, high] = u16::to_le_bytes(distance);
            *bytes = [low, high, intensity];
            expected.push((distance, intensity, distance != 0));
        }
        assert_eq!(deinterleave_bank(PortableDeinterleave, &returns), expected);
        #[cfg(target_arch = "x86_64")]
        match pulp::x86::V3::try_new() {
            Some(avx2) => assert_eq!(deinterleave_bank(avx2, &returns), expected),
            None => eprintln!("this processor has no AVX2"),
        }
    }
}
