//! LZF, the compression of PCD files (Marc Lehmann's LibLZF): literal bytes and back-references.
//!
//! ```text
//! 000LLLLL                       L + 1 literal bytes follow
//! LLLooooo oooooooo              copy L + 2 bytes from o + 1 bytes back; L is 1 to 6
//! 111ooooo LLLLLLLL oooooooo     copy L + 9 bytes from o + 1 bytes back
//! ```

/// The maximum distance of a back-reference.
const MAX_DISTANCE: usize = 1 << 13;
/// The maximum length of a back-reference.
const MAX_MATCH_LEN: usize = 264;
/// The maximum number of literal bytes after one control byte.
const MAX_LITERAL_LEN: usize = 32;

/// Compresses `bytes` and appends the result to `compressed`.
pub(crate) fn compress(bytes: &[u8], compressed: &mut Vec<u8>) {
    // For each hash of three bytes, the last position with this hash, plus 1.
    let mut last_positions = vec![0_usize; 1 << 14];
    let (mut position, mut literal_start) = (0, 0);
    while let Some([a, b, c, ..]) = bytes.get(position..) {
        let three_bytes = u32::from_le_bytes([*a, *b, *c, 0]);
        let hash = (three_bytes.wrapping_mul(0x9e37_79b1) >> 18) as usize;
        let Some(last_position) = last_positions.get_mut(hash) else { break };
        let match_start = std::mem::replace(last_position, position + 1)
            .checked_sub(1)
            .filter(|start| position - start <= MAX_DISTANCE);
        let length =
            match_start.map_or(0, |start| match_length(bytes, start, position));
        let Some(match_start) = match_start.filter(|_| length >= 3) else {
            position += 1;
            continue;
        };
        let literals = bytes.get(literal_start..position).unwrap_or_default();
        append_literals(literals, compressed);
        let (encoded_distance, encoded_length) =
            (position - match_start - 1, length - 2);
        let high_bits = (encoded_distance >> 8) as u8;
        if encoded_length < 7 {
            compressed.push((encoded_length as u8) << 5 | high_bits);
        } else {
            compressed.extend([7 << 5 | high_bits, (encoded_length - 7) as u8]);
        }
        compressed.push(encoded_distance as u8);
        position += length;
        literal_start = position;
    }
    append_literals(bytes.get(literal_start..).unwrap_or_default(), compressed);
}

/// Returns how many bytes from `position` on are equal to those from `match_start` on.
fn match_length(bytes: &[u8], match_start: usize, position: usize) -> usize {
    let (a, b) = (bytes.get(match_start..), bytes.get(position..));
    let pairs = a.into_iter().flatten().zip(b.into_iter().flatten());
    pairs.take(MAX_MATCH_LEN).take_while(|(a, b)| a == b).count()
}

fn append_literals(bytes: &[u8], compressed: &mut Vec<u8>) {
    for run in bytes.chunks(MAX_LITERAL_LEN) {
        compressed.push((run.len() - 1) as u8);
        compressed.extend_from_slice(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decompressor, written after the description of the format above.
    fn decompress(compressed: &[u8]) -> Vec<u8> {
        let (mut bytes, mut input) =
            (Vec::new(), compressed.iter().map(|b| *b as usize));
        while let Some(control) = input.next() {
            if control < 32 {
                bytes.extend(input.by_ref().take(control + 1).map(|b| b as u8));
                continue;
            }
            let mut length = control >> 5;
            if length == 7 {
                length += input.next().unwrap();
            }
            let distance = ((control & 31) << 8 | input.next().unwrap()) + 1;
            for _ in 0..length + 2 {
                bytes.push(bytes[bytes.len() - distance]);
            }
        }
        bytes
    }

    fn compress_to_vec(bytes: &[u8]) -> Vec<u8> {
        let mut compressed = Vec::new();
        compress(bytes, &mut compressed);
        compressed
    }

    #[test]
    fn bytes_without_repetition_are_literals() {
        assert_eq!(compress_to_vec(b""), b"");
        assert_eq!(compress_to_vec(b"abc"), b"\x02abc");
    }

    #[test]
    fn repetition_is_a_back_reference() {
        // One a, then copy 9 bytes from one byte back: 7 = 111, 9 - 9 = 0, 1 - 1 = 0.
        assert_eq!(compress_to_vec(b"aaaaaaaaaa"), b"\x00a\xe0\x00\x00");
        assert_eq!(compress_to_vec(b"abcabcx"), b"\x02abc\x20\x02\x00x");
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
                assert_eq!(
                    decompress(&compress_to_vec(&bytes)),
                    bytes,
                    "{range} {length}"
                );
            }
        }
    }
}
