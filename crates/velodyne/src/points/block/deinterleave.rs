//! Separates the interleaved distances and intensities of a block.

use crate::{
    packet::Returns,
    points::block::laser_bank::{PaddedPerChannel, PerChannel},
};

/// An instruction set for separating returns.
pub(crate) trait Deinterleave: Copy {
    /// Separates distances and intensities. Returns a bit mask of the channels with a
    /// distance, with the first channel in the lowest bit.
    fn deinterleave(
        self,
        returns: Returns<'_>,
        raw: &mut PerChannel<u16>,
        intensities: &mut PaddedPerChannel<u8>,
    ) -> u32;
}

/// Portable implementation: four returns are three words of four bytes, which are
/// separated in two registers.
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
        let groups_of_four =
            returns.as_chunks::<12>().0.iter().zip(raw.as_chunks_mut::<4>().0);
        let groups = groups_of_four.zip(intensities.as_chunks_mut::<4>().0);
        let mut back = 0;
        for (at, ((four, raw), intensities)) in groups.enumerate() {
            let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11] = *four;
            let low = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
            let high = u64::from_le_bytes([b4, b5, b6, b7, b8, b9, b10, b11]);
            let distances = low & 0xffff
                | low >> 8 & 0xffff_0000
                | low >> 16 & 0xffff_0000_0000
                | high << 8 & 0xffff_0000_0000_0000;
            let intensity_corrections = low >> 16 & 0xff
                | low >> 32 & 0xff00
                | high >> 16 & 0xff_0000
                | high >> 32 & 0xff00_0000;
            for (at, raw) in raw.iter_mut().enumerate() {
                *raw = (distances >> (16 * at)) as u16;
            }
            *intensities = (intensity_corrections as u32).to_le_bytes();
            // The highest bit of each distance that is not zero.
            let nearest_masks = 0x7fff_7fff_7fff_7fff;
            let set = (((distances & nearest_masks) + nearest_masks) | distances)
                & !nearest_masks;
            // The product moves these bits into its highest four bits.
            let bits = (set >> 15).wrapping_mul(0x1000_2000_4000_8000) >> 60;
            back |= (bits as u32) << (4 * at);
        }
        back
    }
}

/// AVX2 implementation: four returns are in the first twelve bytes of a 16-byte register,
/// which is shuffled.
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
        const NONE: i8 = -1;
        /// The shuffle for the distances of four returns, to the first or the second
        /// half.
        const FAR: [[i8; 16]; 2] = [
            [0, 1, 3, 4, 6, 7, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1],
            [-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 3, 4, 6, 7, 9, 10],
        ];
        /// The shuffle for their intensities, to halves of the first eight bytes.
        const SENT: [[i8; 16]; 2] = [
            [2, 5, 8, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
            [-1, -1, -1, -1, 2, 5, 8, 11, -1, -1, -1, -1, -1, -1, -1, -1],
        ];
        /// Returns the shuffle for returns that are preceded by four bytes.
        const fn after_four_bytes(order: [i8; 16]) -> [i8; 16] {
            let mut later = [NONE; 16];
            let mut at = 0;
            while at < 16 {
                if order[at] != NONE {
                    later[at] = order[at] + 4;
                }
                at += 1;
            }
            later
        }
        let sixteen = |from: usize| {
            let bytes = returns[from..].first_chunk::<16>();
            pulp::cast(*bytes.unwrap_or(&[0; 16]))
        };
        let order = |bytes, order: [i8; 16]| {
            self.ssse3._mm_shuffle_epi8(bytes, pulp::cast(order))
        };
        let zero = self.sse2._mm_setzero_si128();
        let mut lost = [zero; 4];
        for eight in 0..4 {
            // The last four returns are read from the end of the block.
            let is_end = eight == 3;
            let halves = [24 * eight, if is_end { 80 } else { 24 * eight + 12 }];
            let [first, second] = halves.map(sixteen);
            let [far, near] = if is_end {
                [after_four_bytes(FAR[1]), after_four_bytes(SENT[1])]
            } else {
                [FAR[1], SENT[1]]
            };
            let distances =
                self.sse2._mm_or_si128(order(first, FAR[0]), order(second, far));
            let intensity_corrections =
                self.sse2._mm_or_si128(order(first, SENT[0]), order(second, near));
            lost[eight] = self.sse2._mm_cmpeq_epi16(distances, zero);
            let distances: [u16; 8] = pulp::cast(distances);
            raw[8 * eight..8 * eight + 8].copy_from_slice(&distances);
            let intensity_corrections: [[u8; 8]; 2] = pulp::cast(intensity_corrections);
            intensities[8 * eight..8 * eight + 8]
                .copy_from_slice(&intensity_corrections[0]);
        }
        let mask = |low, high| {
            let bytes = self.sse2._mm_packs_epi16(low, high);
            self.sse2._mm_movemask_epi8(bytes) as u32 & 0xffff
        };
        !(mask(lost[0], lost[1]) | mask(lost[2], lost[3]) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CHANNELS;

    /// Returns the distance, the intensity and the presence of each return, as separated
    /// by `part`.
    fn deinterleaved(
        simd: impl Deinterleave,
        returns: Returns<'_>,
    ) -> Vec<(u16, u8, bool)> {
        let (mut raw, mut intensities) = ([0; CHANNELS], [0; 2 * CHANNELS]);
        let back = simd.deinterleave(returns, &mut raw, &mut intensities);
        let all = raw.into_iter().zip(intensities).zip(0..);
        all.map(|((raw, intensities), at)| (raw, intensities, back >> at & 1 == 1))
            .collect()
    }

    #[test]
    fn all_instruction_sets_separate_returns_equally() {
        let mut returns = [0_u8; 96];
        let mut expected = vec![];
        for (at, three) in returns.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let distance = [0, 1, 0xff, 0x100, 0x7fff, 0x8000, 0xffff][at * 5 % 7];
            let intensity = 7 * at as u8 + 1;
            let [low, high] = u16::to_le_bytes(distance);
            *three = [low, high, intensity];
            expected.push((distance, intensity, distance != 0));
        }
        assert_eq!(deinterleaved(PortableDeinterleave, &returns), expected);
        #[cfg(target_arch = "x86_64")]
        match pulp::x86::V3::try_new() {
            Some(avx2) => assert_eq!(deinterleaved(avx2, &returns), expected),
            None => eprintln!("this processor has no AVX2"),
        }
    }
}
