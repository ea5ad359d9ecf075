//! The first bytes of an LZ4 block, of which the rest is not there, or broken.
//!
//! ```text
//! block     sequences
//! sequence  token u8: literals in the high 4 bits, match length - 4 in the low 4
//!           | more of the literals' number, where it is 15: bytes to add, up to one < 255
//!           | literals | offset back u16 | more of the match length, likewise
//! ```
//! (LZ4 Block Format Description.)

use logtool_core::ByteReader;

/// No match is shorter.
const SHORTEST: usize = 4;

/// Unpacks as much of a block as `packed` has of it into `content`, behind the first
/// `before` bytes, which it may look back at; says how many bytes these are.
pub(super) fn unpack(packed: &[u8], before: usize, content: &mut [u8]) -> usize {
    let (mut cut, mut at) = (ByteReader::new(packed), before);
    while sequence(&mut cut, &mut at, content).is_some() {}
    at - before
}

/// Unpacks a sequence to `at`; nothing comes back where it is not whole.
fn sequence(
    cut: &mut ByteReader<'_>,
    at: &mut usize,
    content: &mut [u8],
) -> Option<()> {
    let token = cut.u8()?;
    let count = number(cut, token >> 4)?;
    let there = count.min(cut.rest().len());
    literals(cut.bytes(there)?, at, content)?;
    if there < count {
        return None;
    }
    let offset = usize::from(cut.u16()?);
    let len = number(cut, token & 15)?.checked_add(SHORTEST)?;
    let from = at.checked_sub(offset).filter(|_| offset > 0)?;
    // What it copies may be what it has just copied.
    for step in 0..len {
        let byte = *content.get(from + step)?;
        *content.get_mut(*at)? = byte;
        *at += 1;
    }
    Some(())
}

/// The number that begins with `first`.
fn number(cut: &mut ByteReader<'_>, first: u8) -> Option<usize> {
    let mut all = usize::from(first);
    let mut last = if first == 15 { 255 } else { 0 };
    while last == 255 {
        last = cut.u8()?;
        all = all.checked_add(last.into())?;
    }
    Some(all)
}

/// Puts `bytes` at `at`, as many as there is room for; nothing comes back if that is not
/// for all.
fn literals(bytes: &[u8], at: &mut usize, content: &mut [u8]) -> Option<()> {
    let room = content.get_mut(*at..)?;
    let len = bytes.len().min(room.len());
    room.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
    *at += len;
    (len == bytes.len()).then_some(())
}
