//! Whether some bytes are records, where nothing else says so.
//!
//! MCAP has no marks to find the next record by. Where a stretch is broken, the next
//! record is looked for at every byte: it has to be such as its opcode asks for, and two
//! more like that have to follow on it, or the end.

use logtool_core::{ByteReader, Result, WindowReader};

use crate::wire::{self, HEAD_LEN, MAGIC, op};

/// How many records have to follow on each other.
const CHAIN: usize = 3;

/// How much of the file is looked at for the next record after a broken one.
const SEARCH: usize = 4 << 20;

/// The largest number of bytes of unknown fields after the records of a chunk.
const MAX_EXTENSION: u64 = 1 << 12;

/// How many bytes of a record are looked at.
pub(crate) const SIGHT: usize = 128;

/// How long the record at the start of `bytes` is, if it can be one; `left` bytes are
/// left there, of which `bytes` are the first.
pub(crate) fn record(bytes: &[u8], left: u64) -> Option<u64> {
    let (op, len) = wire::head(bytes)?;
    let content = bytes.get(HEAD_LEN..)?;
    let content = content.get(..content.len().min(usize::try_from(len).ok()?))?;
    let all = len.checked_add(HEAD_LEN as u64).filter(|all| *all <= left)?;
    let fits = match op {
        op::HEADER | op::METADATA => len >= 8,
        op::FOOTER => len == 20,
        op::SCHEMA => len >= 14,
        op::CHANNEL => len >= 16,
        op::MESSAGE => len >= wire::MESSAGE_HEAD_LEN as u64,
        op::CHUNK => {
            let chunk = wire::Chunk::parse(content);
            chunk.is_some_and(|chunk| {
                let rest = len.checked_sub(chunk.packed_start() as u64);
                chunk.start <= chunk.end && rest == Some(chunk.packed_len)
            })
        }
        op::MESSAGE_INDEX => is_array(content, len, 2, 16),
        op::CHUNK_INDEX => len >= 64,
        op::ATTACHMENT => len >= 36,
        op::ATTACHMENT_INDEX => len >= 48,
        op::STATISTICS => is_array(content, len, 42, 10),
        op::METADATA_INDEX => len >= 20,
        op::SUMMARY_OFFSET => len >= 17,
        op::DATA_END => len == 4,
        _ => false,
    };
    fits.then_some(all)
}

/// Whether an array of items of `item` bytes can be at `at` in a record of `len` bytes, of
/// which `content` is the first part. Fields that a later specification adds may follow.
fn is_array(content: &[u8], len: u64, at: usize, item: u32) -> bool {
    let bytes = content.get(at..).and_then(|rest| ByteReader::new(rest).u32());
    bytes.is_some_and(|bytes| {
        let end = (at + 4) as u64 + u64::from(bytes);
        bytes.is_multiple_of(item) && end <= len
    })
}

/// Returns the length of the chunk at the start of `bytes` if unknown fields follow on its
/// records.
///
/// [`record`] refuses such a chunk, because either of its two lengths may be damaged. In a
/// chain of records the next one shows that the length is right.
fn extended_chunk(bytes: &[u8], left: u64) -> Option<u64> {
    let (op, len) = wire::head(bytes)?;
    let chunk = bytes.get(HEAD_LEN..).and_then(wire::Chunk::parse)?;
    let fields = chunk.packed_len.checked_add(chunk.packed_start() as u64)?;
    let is_extended = len.checked_sub(fields).is_some_and(|more| more <= MAX_EXTENSION);
    let all = len.checked_add(HEAD_LEN as u64).filter(|all| *all <= left)?;
    (op == op::CHUNK && chunk.start <= chunk.end && is_extended).then_some(all)
}

/// Where in `bytes` the first chain of records begins; `is_last` says whether the
/// records end with them.
pub(crate) fn next(bytes: &[u8], is_last: bool) -> Option<usize> {
    (0..bytes.len()).find(|at| is_chain(bytes, *at, is_last))
}

fn is_chain(bytes: &[u8], mut at: usize, is_last: bool) -> bool {
    for _ in 0..CHAIN {
        let rest = bytes.get(at..).unwrap_or_default();
        if is_last && (rest.is_empty() || rest == MAGIC) {
            return true;
        }
        let sight = rest.get(..SIGHT).unwrap_or(rest);
        let left = if is_last { rest.len() as u64 } else { u64::MAX };
        let len = record(sight, left).or_else(|| extended_chunk(sight, left));
        let Some(len) = len else { return false };
        match usize::try_from(len).ok().and_then(|len| at.checked_add(len)) {
            Some(next) if next <= bytes.len() => at = next,
            // It goes beyond what is seen: only a chunk shows that it is one.
            _ => return !is_last && sight.first() == Some(&op::CHUNK),
        }
    }
    true
}

/// Where the next records are in a file of `len` bytes, from `from` on.
pub(crate) fn search(
    window: &mut WindowReader<'_>,
    mut from: u64,
    len: u64,
) -> Result<Option<u64>> {
    while from < len {
        let bytes = window.at(from, SEARCH)?;
        let bytes = bytes.slice(..bytes.len().min(SEARCH));
        let is_last = bytes.is_empty() || from + bytes.len() as u64 >= len;
        if let Some(skip) = next(&bytes, is_last) {
            return Ok(Some(from + skip as u64));
        }
        if is_last {
            return Ok(None);
        }
        // What begins near the end of what was seen may go on behind it.
        from += (bytes.len() - bytes.len() / 4) as u64;
    }
    Ok(None)
}
