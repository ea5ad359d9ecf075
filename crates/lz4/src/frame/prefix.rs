//! Decompressing the first bytes of a truncated or corrupt LZ4 block.
//!
//! ```text
//! block     sequences
//! sequence  token u8: literals in the high 4 bits, match length - 4 in the low 4
//!           | if 15 literals: further bytes to add to their number, up to one < 255
//!           | literals | offset back u16 | further bytes of the match length, likewise
//! ```
//!
//! (LZ4 Block Format Description.)

use logtool_core::ByteReader;

/// The minimum length of a match.
const SHORTEST: usize = 4;

/// Decompresses the sequences in `packed` into `content` after its first `before` bytes,
/// to which they can refer back. Returns the number of bytes.
pub(super) fn unpack(packed: &[u8], before: usize, content: &mut [u8]) -> usize {
    let (mut cut, mut at) = (ByteReader::new(packed), before);
    while sequence(&mut cut, &mut at, content).is_some() {}
    at - before
}

/// Decompresses a sequence to the offset `at`. Returns `None` if it is incomplete.
fn sequence(
    cut: &mut ByteReader<'_>,
    at: &mut usize,
    content: &mut [u8],
) -> Option<()> {
    let token = cut.u8()?;
    let count = number(cut, token >> 4)?;
    let available = count.min(cut.remaining().len());
    literals(cut.bytes(available)?, at, content)?;
    if available < count {
        return None;
    }
    let offset = usize::from(cut.u16()?);
    let len = number(cut, token & 15)?.checked_add(SHORTEST)?;
    let from = at.checked_sub(offset).filter(|_| offset > 0)?;
    // Byte by byte, because a match can overlap with its own output.
    for step in 0..len {
        let byte = *content.get(from + step)?;
        *content.get_mut(*at)? = byte;
        *at += 1;
    }
    Some(())
}

/// Returns the number that starts with `first`.
fn number(cut: &mut ByteReader<'_>, first: u8) -> Option<usize> {
    let mut all = usize::from(first);
    let mut last = if first == 15 { 255 } else { 0 };
    while last == 255 {
        last = cut.u8()?;
        all = all.checked_add(last.into())?;
    }
    Some(all)
}

/// Copies as many of `bytes` to the offset `at` as fit. Returns `None` if not all fit.
fn literals(bytes: &[u8], at: &mut usize, content: &mut [u8]) -> Option<()> {
    let room = content.get_mut(*at..)?;
    let len = bytes.len().min(room.len());
    room.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
    *at += len;
    (len == bytes.len()).then_some(())
}
