//! LZF, the compression of PCD files (Marc Lehmann's LibLZF): literal bytes and back-references.
//!
//! ```text
//! 000LLLLL                       L + 1 literal bytes follow
//! LLLooooo oooooooo              copy L + 2 bytes from o + 1 bytes back; L is 1 to 6
//! 111ooooo LLLLLLLL oooooooo     copy L + 9 bytes from o + 1 bytes back
//! ```

/// The maximum distance of a back-reference.
const REACH: usize = 1 << 13;
/// The maximum length of a back-reference.
const LONGEST: usize = 264;
const MOST_LITERALS: usize = 32;

/// Compresses `bytes` and appends the result to `packed`.
pub(crate) fn pack(bytes: &[u8], packed: &mut Vec<u8>) {
    // The last position + 1 of three bytes with this hash.
    let mut last_positions = vec![0_usize; 1 << 14];
    let (mut position, mut plain) = (0, 0);
    while let Some([a, b, c, ..]) = bytes.get(position..) {
        let three = u32::from_le_bytes([*a, *b, *c, 0]);
        let hash = (three.wrapping_mul(0x9e37_79b1) >> 18) as usize;
        let Some(before) = last_positions.get_mut(hash) else { break };
        let candidate = std::mem::replace(before, position + 1).checked_sub(1);
        let earlier = candidate.filter(|c| position - c <= REACH);
        let length =
            earlier.map_or(0, |match_start| match_length(bytes, match_start, position));
        let Some(match_start) = earlier.filter(|_| length >= 3) else {
            position += 1;
            continue;
        };
        literals(bytes.get(plain..position).unwrap_or_default(), packed);
        let (back, long) = (position - match_start - 1, length - 2);
        let high = (back >> 8) as u8;
        if long < 7 {
            packed.push((long as u8) << 5 | high);
        } else {
            packed.extend([7 << 5 | high, (long - 7) as u8]);
        }
        packed.push(back as u8);
        position += length;
        plain = position;
    }
    literals(bytes.get(plain..).unwrap_or_default(), packed);
}

/// Returns how many bytes from `position` on are equal to those from `match_start` on.
fn match_length(bytes: &[u8], match_start: usize, position: usize) -> usize {
    let (a, b) = (bytes.get(match_start..), bytes.get(position..));
    let pairs = a.into_iter().flatten().zip(b.into_iter().flatten());
    pairs.take(LONGEST).take_while(|(a, b)| a == b).count()
}

fn literals(bytes: &[u8], packed: &mut Vec<u8>) {
    for some in bytes.chunks(MOST_LITERALS) {
        packed.push((some.len() - 1) as u8);
        packed.extend_from_slice(some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decompressor, written after the description of the format above.
    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::new(), packed.iter().map(|b| *b as usize));
        while let Some(control) = rest.next() {
            if control < 32 {
                bytes.extend(rest.by_ref().take(control + 1).map(|b| b as u8));
                continue;
            }
            let mut length = control >> 5;
            if length == 7 {
                length += rest.next().unwrap();
            }
            let back = ((control & 31) << 8 | rest.next().unwrap()) + 1;
            for _ in 0..length + 2 {
                bytes.push(bytes[bytes.len() - back]);
            }
        }
        bytes
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        pack(bytes, &mut packed);
        packed
    }

    #[test]
    fn bytes_without_repetition_are_literals() {
        assert_eq!(packed(b""), b"");
        assert_eq!(packed(b"abc"), b"\x02abc");
    }

    #[test]
    fn repetition_is_a_back_reference() {
        // One a, then copy 9 bytes from one byte back: 7 = 111, 9 - 9 = 0, 1 - 1 = 0.
        assert_eq!(packed(b"aaaaaaaaaa"), b"\x00a\xe0\x00\x00");
        assert_eq!(packed(b"abcabcx"), b"\x02abc\x20\x02\x00x");
    }

    #[test]
    fn compressed_bytes_decompress_to_the_original() {
        let mut state = 1_u32;
        for range in [1, 2, 7, 256] {
            for length in [1, 31, 32, 33, 263, 264, 265, 300, 9_000, 100_000] {
                let mut next = || {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((state >> 16) % range) as u8
                };
                let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
                assert_eq!(unpacked(&packed(&bytes)), bytes, "{range} {length}");
            }
        }
    }
}
