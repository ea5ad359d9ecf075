//! Finds the next record after damage.
//!
//! MCAP has no sync marks, so every byte is tried as the start of a record. A record
//! must be consistent with its opcode, and must be followed by two more such records or
//! by the end.

use std::ops::Range;

use logtool_core::{ByteReader, Result, WindowReader};

use crate::wire::{self, MAGIC, RECORD_HEADER_LEN, op};

/// The number of consecutive plausible records that are required.
const CHAIN_RECORDS: usize = 3;

/// The number of bytes of the file that are searched at once for the next record.
const SEARCH_BYTES: usize = 4 << 20;

/// The number of bytes that are searched first for the end of a chunk.
const FIRST_SEARCH_BYTES: usize = 4 << 10;

/// The largest number of bytes of unknown fields after the compressed records of a chunk.
const MAX_EXTENSION: u64 = 1 << 12;

/// The number of bytes of a record that are inspected.
pub(crate) const INSPECTED_LEN: usize = 128;

/// Returns the first bytes of a record that are inspected.
pub(crate) fn inspected_bytes(bytes: &[u8]) -> &[u8] {
    bytes.get(..INSPECTED_LEN).unwrap_or(bytes)
}

/// Returns the length of the record at the start of `bytes`, if it is plausible. At most
/// `max_len` bytes remain from the start of the record; `bytes` are the first of them.
pub(crate) fn plausible_record_len(bytes: &[u8], max_len: u64) -> Option<u64> {
    let (op, len) = wire::record_header(bytes)?;
    let content = bytes.get(RECORD_HEADER_LEN..)?;
    let content = content.get(..content.len().min(usize::try_from(len).ok()?))?;
    let record_len = len
        .checked_add(RECORD_HEADER_LEN as u64)
        .filter(|record_len| *record_len <= max_len)?;
    let is_plausible = match op {
        op::HEADER | op::METADATA => len >= 8,
        op::FOOTER => len == 20,
        op::SCHEMA => len >= 14,
        op::CHANNEL => len >= 16,
        op::MESSAGE => len >= wire::MESSAGE_HEADER_LEN as u64,
        op::CHUNK => {
            let chunk = wire::Chunk::parse(content);
            chunk.is_some_and(|chunk| {
                let len_by_record = len.checked_sub(chunk.compressed_start() as u64);
                chunk.start_time <= chunk.end_time
                    && len_by_record == Some(chunk.compressed_len)
            })
        }
        op::MESSAGE_INDEX => has_array(content, len, 2, 16),
        op::CHUNK_INDEX => len >= 64,
        op::ATTACHMENT => len >= 36,
        op::ATTACHMENT_INDEX => len >= 48,
        op::STATISTICS => has_array(content, len, 42, 10),
        op::METADATA_INDEX => len >= 20,
        op::SUMMARY_OFFSET => len >= 17,
        op::DATA_END => len == 4,
        _ => false,
    };
    is_plausible.then_some(record_len)
}

/// Returns true if an array of items of `item_len` bytes can start at the offset `start`
/// of the content of a record. The content has `len` bytes and starts with `content`.
/// Fields that a later specification adds may follow the array.
fn has_array(content: &[u8], len: u64, start: usize, item_len: u32) -> bool {
    let array_len = content.get(start..).and_then(|array| ByteReader::new(array).u32());
    array_len.is_some_and(|array_len| {
        let end = (start + 4) as u64 + u64::from(array_len);
        array_len.is_multiple_of(item_len) && end <= len
    })
}

/// Returns the length of the chunk at the start of `bytes` if its known fields are
/// followed by unknown ones.
///
/// [`plausible_record_len`] rejects such a chunk, because either of its two lengths may
/// be damaged. In a chain of records, the next record confirms the length.
fn extended_chunk_len(bytes: &[u8], max_len: u64) -> Option<u64> {
    let (_, len) = wire::record_header(bytes).filter(|(op, _)| *op == op::CHUNK)?;
    let chunk = bytes.get(RECORD_HEADER_LEN..).and_then(wire::Chunk::parse)?;
    let known_len = chunk.compressed_len.checked_add(chunk.compressed_start() as u64)?;
    let is_extended =
        len.checked_sub(known_len).is_some_and(|extra_len| extra_len <= MAX_EXTENSION);
    let record_len = len
        .checked_add(RECORD_HEADER_LEN as u64)
        .filter(|record_len| *record_len <= max_len)?;
    (chunk.start_time <= chunk.end_time && is_extended).then_some(record_len)
}

/// Returns the length of the record at the start of `bytes`, if it is plausible in a chain
/// of records: its first text or list, too, must fit into it. Entries of a message index look
/// like records in which only this is wrong: a byte of a time, and an offset as the length.
fn chained_record_len(bytes: &[u8], max_len: u64) -> Option<u64> {
    let record_len = plausible_record_len(bytes, max_len)
        .or_else(|| extended_chunk_len(bytes, max_len))?;
    let (op, len) = wire::record_header(bytes)?;
    let first_text = match op {
        op::HEADER | op::METADATA => 0,
        op::SCHEMA => 2,
        op::CHANNEL => 4,
        op::ATTACHMENT | op::METADATA_INDEX => 16,
        op::CHUNK_INDEX => 32,
        op::ATTACHMENT_INDEX => 40,
        _ => return Some(record_len),
    };
    let content = bytes.get(RECORD_HEADER_LEN..)?;
    has_array(content, len, first_text, 1).then_some(record_len)
}

/// Returns the offset of the first chain of records in `bytes`. `is_last` means that
/// the records end with `bytes`.
pub(crate) fn find_in_bytes(bytes: &[u8], is_last: bool) -> Option<usize> {
    // Most bytes are no opcode, and only the end of a file has other bytes before it.
    let can_start = |byte: &u8| (1..=op::LAST).contains(byte) || *byte == MAGIC[0];
    let mut starts = (0..).zip(bytes).filter(|(_, byte)| can_start(byte));
    starts.find(|(start, _)| is_chain(bytes, *start, is_last)).map(|(start, _)| start)
}

/// Returns true if a chain of records starts at the offset `start` of `bytes`.
fn is_chain(bytes: &[u8], start: usize, is_last: bool) -> bool {
    let mut offset = start;
    for _ in 0..CHAIN_RECORDS {
        let remaining = bytes.get(offset..).unwrap_or_default();
        if is_last && (remaining.is_empty() || remaining == MAGIC) {
            return true;
        }
        let first_bytes = inspected_bytes(remaining);
        let max_len = if is_last { remaining.len() as u64 } else { u64::MAX };
        let Some(len) = chained_record_len(first_bytes, max_len) else {
            return false;
        };
        match usize::try_from(len).ok().and_then(|len| offset.checked_add(len)) {
            Some(end) if end <= bytes.len() => offset = end,
            // The next record is not available. Only a chunk has enough fields that must
            // be consistent to be plausible without it.
            _ => return !is_last && first_bytes.first() == Some(&op::CHUNK),
        }
    }
    true
}

/// Returns the offset of the first chain of records at `start` or after it, in a file of
/// `file_len` bytes.
pub(crate) fn find_in_file(
    window: &mut WindowReader<'_>,
    start: u64,
    file_len: u64,
) -> Result<Option<u64>> {
    let mut offset = start;
    while offset < file_len {
        let bytes = window.read_at(offset, SEARCH_BYTES)?;
        let bytes = bytes.slice(..bytes.len().min(SEARCH_BYTES));
        let is_last = bytes.is_empty() || offset + bytes.len() as u64 >= file_len;
        if let Some(position) = find_in_bytes(&bytes, is_last) {
            return Ok(Some(offset + position as u64));
        }
        if is_last {
            return Ok(None);
        }
        // Search the last quarter again: a chain that starts there may continue after the
        // available bytes.
        offset += (bytes.len() - bytes.len() / 4) as u64;
    }
    Ok(None)
}

/// Returns the offset of the first record in `range` that cannot lie in a chunk, in a file of
/// `file_len` bytes: another chunk, or a chain of records that begins with one of its index
/// or of the end of the file.
pub(crate) fn find_outside_chunk(
    window: &WindowReader<'_>,
    range: Range<u64>,
    file_len: u64,
) -> Result<Option<u64>> {
    let Range { mut start, end } = range;
    // Short at first, so that many such chunks do not read the rest of the file each time.
    let mut search_bytes = FIRST_SEARCH_BYTES;
    while start < end {
        let len = (end - start).min(search_bytes as u64) as usize;
        search_bytes = (2 * search_bytes).min(SEARCH_BYTES);
        let bytes = window.peek(start, len + INSPECTED_LEN)?;
        for skip in 0..len.min(bytes.len()) {
            let offset = start + skip as u64;
            let first_bytes = inspected_bytes(bytes.get(skip..).unwrap_or_default());
            if !may_lie_in_chunk(first_bytes)
                && plausible_record_len(first_bytes, file_len - offset).is_some()
                && is_chain_outside_chunk(window, offset, file_len)?
            {
                return Ok(Some(offset));
            }
        }
        start += len as u64;
    }
    Ok(None)
}

/// Returns true if the record that starts with `first_bytes` may lie in a chunk.
fn may_lie_in_chunk(first_bytes: &[u8]) -> bool {
    let op = first_bytes.first().copied().unwrap_or_default();
    matches!(op, 0 | op::HEADER | op::SCHEMA | op::CHANNEL | op::MESSAGE)
}

/// Returns true if a chain of records that cannot lie in a chunk starts at `offset`. A chunk
/// ends the chain: it has enough fields that must be consistent.
fn is_chain_outside_chunk(
    window: &WindowReader<'_>,
    mut offset: u64,
    file_len: u64,
) -> Result<bool> {
    let mut is_after_data = false;
    for _ in 0..CHAIN_RECORDS {
        let first_bytes = window.peek(offset, INSPECTED_LEN)?;
        let first_bytes = inspected_bytes(&first_bytes);
        if first_bytes.is_empty() || *first_bytes == MAGIC {
            return Ok(true);
        }
        let max_len = file_len.saturating_sub(offset);
        let Some(len) = chained_record_len(first_bytes, max_len) else {
            return Ok(false);
        };
        match first_bytes.first() {
            Some(&op::CHUNK) => return Ok(true),
            Some(&op::DATA_END) => is_after_data = true,
            // The summary repeats schemas and channels.
            _ if may_lie_in_chunk(first_bytes) && !is_after_data => return Ok(false),
            _ => {}
        }
        offset += len;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last bytes of the times look like opcodes, and the offsets like lengths, after which
    /// another entry follows.
    #[test]
    fn entries_of_a_message_index_are_not_a_chain() {
        let time = u64::from_le_bytes([7, 7, 7, 7, 7, 7, 7, op::METADATA_INDEX]);
        let entries: Vec<u8> =
            [time, 23].iter().flat_map(|field| field.to_le_bytes()).collect();
        assert_eq!(plausible_record_len(&entries.repeat(9)[7..], 1000), Some(32));
        assert_eq!(find_in_bytes(&entries.repeat(9), false), None);
    }
}
