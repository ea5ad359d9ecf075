//! Recognizes records in bytes without other structure.
//!
//! MCAP has no sync marks. After damage, every byte is tried as the start of a record.
//! A record must be consistent with its opcode, and must be followed by two more such
//! records or by the end.

use logtool_core::{ByteReader, Result, WindowReader};

use crate::wire::{self, MAGIC, RECORD_HEADER_LEN, op};

/// The number of consecutive records that are required.
const CHAIN_RECORDS: usize = 3;

/// The number of bytes of the file that are searched at once for the next record.
const SEARCH_BYTES: usize = 4 << 20;

/// The largest number of bytes of unknown fields after the records of a chunk.
const MAX_EXTENSION: u64 = 1 << 12;

/// The number of bytes of a record that are inspected.
pub(crate) const INSPECTED_LEN: usize = 128;

/// Returns the length of the record at the start of `bytes`, if it is plausible.
/// `bytes` are the first of `left` remaining bytes.
pub(crate) fn record(bytes: &[u8], left: u64) -> Option<u64> {
    let (op, len) = wire::record_header(bytes)?;
    let content = bytes.get(RECORD_HEADER_LEN..)?;
    let content = content.get(..content.len().min(usize::try_from(len).ok()?))?;
    let record_len = len
        .checked_add(RECORD_HEADER_LEN as u64)
        .filter(|record_len| *record_len <= left)?;
    let fits = match op {
        op::HEADER | op::METADATA => len >= 8,
        op::FOOTER => len == 20,
        op::SCHEMA => len >= 14,
        op::CHANNEL => len >= 16,
        op::MESSAGE => len >= wire::MESSAGE_HEADER_LEN as u64,
        op::CHUNK => {
            let chunk = wire::Chunk::parse(content);
            chunk.is_some_and(|chunk| {
                let rest = len.checked_sub(chunk.compressed_start() as u64);
                chunk.start <= chunk.end && rest == Some(chunk.compressed_len)
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
    fits.then_some(record_len)
}

/// Returns true if an array with items of `item` bytes fits at offset `at` of a record
/// with `len` bytes that starts with `content`. Fields that a later specification adds
/// may follow.
fn is_array(content: &[u8], len: u64, at: usize, item: u32) -> bool {
    let bytes = content.get(at..).and_then(|rest| ByteReader::new(rest).u32());
    bytes.is_some_and(|bytes| {
        let end = (at + 4) as u64 + u64::from(bytes);
        bytes.is_multiple_of(item) && end <= len
    })
}

/// Returns the length of the chunk at the start of `bytes` if its known fields are
/// followed by unknown ones.
///
/// [`record`] rejects such a chunk, because either of its two lengths may be damaged.
/// In a chain of records, the next record confirms the length.
fn extended_chunk(bytes: &[u8], left: u64) -> Option<u64> {
    let (op, len) = wire::record_header(bytes)?;
    let chunk = bytes.get(RECORD_HEADER_LEN..).and_then(wire::Chunk::parse)?;
    let fields = chunk.compressed_len.checked_add(chunk.compressed_start() as u64)?;
    let is_extended =
        len.checked_sub(fields).is_some_and(|extra| extra <= MAX_EXTENSION);
    let record_len = len
        .checked_add(RECORD_HEADER_LEN as u64)
        .filter(|record_len| *record_len <= left)?;
    (op == op::CHUNK && chunk.start <= chunk.end && is_extended).then_some(record_len)
}

/// Returns the offset of the first chain of records in `bytes`. `is_last` means that
/// the records end with `bytes`.
pub(crate) fn next(bytes: &[u8], is_last: bool) -> Option<usize> {
    (0..bytes.len()).find(|at| is_chain(bytes, *at, is_last))
}

fn is_chain(bytes: &[u8], mut at: usize, is_last: bool) -> bool {
    for _ in 0..CHAIN_RECORDS {
        let rest = bytes.get(at..).unwrap_or_default();
        if is_last && (rest.is_empty() || rest == MAGIC) {
            return true;
        }
        let first_bytes = rest.get(..INSPECTED_LEN).unwrap_or(rest);
        let left = if is_last { rest.len() as u64 } else { u64::MAX };
        let len =
            record(first_bytes, left).or_else(|| extended_chunk(first_bytes, left));
        let Some(len) = len else { return false };
        match usize::try_from(len).ok().and_then(|len| at.checked_add(len)) {
            Some(next) if next <= bytes.len() => at = next,
            // The record exceeds the available bytes: only a chunk is plausible on its
            // own.
            _ => return !is_last && first_bytes.first() == Some(&op::CHUNK),
        }
    }
    true
}

/// Returns the offset of the next records at or after `from` in a file of `len` bytes.
pub(crate) fn search(
    window: &mut WindowReader<'_>,
    mut from: u64,
    len: u64,
) -> Result<Option<u64>> {
    while from < len {
        let bytes = window.read_at(from, SEARCH_BYTES)?;
        let bytes = bytes.slice(..bytes.len().min(SEARCH_BYTES));
        let is_last = bytes.is_empty() || from + bytes.len() as u64 >= len;
        if let Some(skip) = next(&bytes, is_last) {
            return Ok(Some(from + skip as u64));
        }
        if is_last {
            return Ok(None);
        }
        // A chain that starts near the end may continue after the available bytes.
        from += (bytes.len() - bytes.len() / 4) as u64;
    }
    Ok(None)
}
