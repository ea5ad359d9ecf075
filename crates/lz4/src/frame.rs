//! LZ4 frames: one or several in a chunk.
//!
//! ```text
//! frame   magic 04 22 4d 18 | flags u8 | block size u8 | [content size u64] |
//!         [dictionary u32] | header checksum u8 | blocks | 0 u32 | [content checksum u32]
//! block   size u32, the highest bit is set if uncompressed | bytes | [checksum u32]
//! ```
//!
//! (LZ4 Frame Format Description 1.6. ROS writes independent blocks of 1 MiB and a
//! content checksum, but no content size. Other programs write other frames.)

#![deny(clippy::indexing_slicing)]

mod prefix;

use logtool_core::ByteReader;
use lz4_flex::block::{decompress_into, decompress_into_with_dict};
use twox_hash::XxHash32;

use crate::{outcome::FrameOutcome, output::OutputBuffer};

const MAGIC: u32 = 0x184d_2204;
/// The first of 16 magics of skippable frames, which contain no data.
const SKIPPED: u32 = 0x184d_2a50;
/// The distance over which linked blocks refer back.
const WINDOW: usize = 64 << 10;

/// Decompresses all frames of `packed`, whose content has `declared` bytes. If a block is
/// corrupt or longer than the data, it is the last one, and is decompressed as far as
/// possible. `is_cut` states whether the data is known to be truncated: otherwise a block
/// that is too long is corrupt, because bytes are missing in it or its length is wrong.
pub fn unpack(
    packed: &[u8],
    declared: usize,
    limit: usize,
    is_cut: bool,
    out: &mut OutputBuffer,
) -> FrameOutcome {
    let mut cut = ByteReader::new(packed);
    let mut is_doubtful = false;
    let mut frames = 0;
    loop {
        let mut next = cut;
        match next.u32() {
            Some(MAGIC) => {
                cut = next;
                match frame(&mut cut, declared, limit, is_cut, out)
                    .unwrap_or(FrameOutcome::Cut)
                {
                    FrameOutcome::Whole => {}
                    FrameOutcome::Doubtful => is_doubtful = true,
                    outcome => return outcome,
                }
            }
            Some(magic) if magic & !15 == SKIPPED => {
                let len = next.u32().unwrap_or(u32::MAX);
                if next.bytes(len as usize).is_none() {
                    return FrameOutcome::Cut;
                }
                cut = next;
            }
            None if frames == 0 => return FrameOutcome::Cut,
            Some(_) if frames == 0 => return FrameOutcome::Broken,
            // Bytes after the frames are ignored.
            _ if is_doubtful => return FrameOutcome::Doubtful,
            _ => return FrameOutcome::Whole,
        }
        frames += 1;
    }
}

/// Returns whether `frame`, which follows a magic, starts a frame. Its header has a
/// checksum.
pub fn is_frame(frame: &[u8]) -> bool {
    let Some(flags) = frame.first() else { return false };
    let len = 2 + usize::from(flags >> 3 & 1) * 8 + usize::from(flags & 1) * 4;
    let header = frame.split_at_checked(len);
    let Some((header, [sum, ..])) = header else { return false };
    flags >> 6 == 1 && *sum == (XxHash32::oneshot(0, header) >> 8) as u8
}

/// Decompresses a frame after its magic. Returns `None` if it is truncated.
fn frame(
    cut: &mut ByteReader<'_>,
    declared: usize,
    limit: usize,
    is_cut: bool,
    out: &mut OutputBuffer,
) -> Option<FrameOutcome> {
    let (flags, sizes) = (cut.u8()?, cut.u8()?);
    let has_flag = |bit: u8| flags & bit != 0;
    let (is_linked, has_block_checksums) = (!has_flag(0x20), has_flag(0x10));
    let (has_content_size, has_content_checksum, has_dictionary) =
        (has_flag(0x08), has_flag(0x04), has_flag(0x01));
    let block_len: usize = match sizes >> 4 & 7 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        7 => 4 << 20,
        _ => return Some(FrameOutcome::Broken),
    };
    if flags >> 6 != 1 {
        return Some(FrameOutcome::Broken); // an unknown version
    }
    cut.bytes(if has_content_size { 8 } else { 0 })?;
    cut.bytes(if has_dictionary { 4 } else { 0 })?;
    cut.u8()?;

    let start = out.used;
    let mut is_doubtful = false;
    loop {
        let Some(size) = cut.u32() else { return Some(end_outcome(is_doubtful)) };
        if size == 0 {
            break;
        }
        let (len, is_packed) = ((size & 0x7fff_ffff) as usize, size >> 31 == 0);
        if len > block_len {
            return Some(FrameOutcome::Broken);
        }
        let window = if is_linked { start } else { out.used };
        let window = window.max(out.used.saturating_sub(WINDOW));
        let room = block_len.min(limit.saturating_sub(out.used));
        if len > cut.remaining().len() {
            match is_packed {
                true => packed_prefix(cut.remaining(), room, window, out),
                false => copied_prefix(cut.remaining(), room, out),
            }
            let outcome = if is_cut { FrameOutcome::Cut } else { FrameOutcome::Broken };
            return Some(outcome);
        }
        let block = cut.bytes(len)?;
        if has_block_checksums {
            is_doubtful |= cut.u32()? != XxHash32::oneshot(0, block);
        }
        // No more space than the chunk declares, if that is enough.
        let declared_left = declared.saturating_sub(out.used).clamp(1, block_len);
        let len = match is_packed {
            true => packed_block(block, declared_left, window, out)
                .or_else(|| packed_block(block, block_len, window, out)),
            false => {
                out.make_room(len);
                let room = out.buffer.get_mut(out.used..)?;
                room.get_mut(..len)?.copy_from_slice(block);
                Some(len)
            }
        };
        let Some(len) = len else {
            packed_prefix(block, room, window, out);
            return Some(FrameOutcome::Broken);
        };
        out.used += len;
        if out.used > limit {
            out.used = limit;
            return Some(FrameOutcome::OverLimit);
        }
    }
    if has_content_checksum {
        let content = out.buffer.get(start..out.used)?;
        let Some(sum) = cut.u32() else { return Some(end_outcome(is_doubtful)) };
        is_doubtful |= sum != XxHash32::oneshot(0, content);
    }
    Some(if is_doubtful { FrameOutcome::Doubtful } else { FrameOutcome::Whole })
}

/// Returns the result for a frame that ends between two blocks or after the last one.
fn end_outcome(is_doubtful: bool) -> FrameOutcome {
    if is_doubtful { FrameOutcome::Cut } else { FrameOutcome::Ended }
}

/// Decompresses the first sequences of a truncated or corrupt block into up to `room`
/// bytes of free space.
fn packed_prefix(block: &[u8], room: usize, window: usize, out: &mut OutputBuffer) {
    out.make_room(room);
    let content = out.buffer.get_mut(window..out.used + room).unwrap_or_default();
    out.used += prefix::unpack(block, out.used - window, content);
}

/// Copies the first bytes of an uncompressed block into up to `room` bytes of free space.
fn copied_prefix(block: &[u8], room: usize, out: &mut OutputBuffer) {
    let len = block.len().min(room);
    out.make_room(len);
    let content = out.buffer.get_mut(out.used..out.used + len).unwrap_or_default();
    content.copy_from_slice(block.get(..content.len()).unwrap_or_default());
    out.used += content.len();
}

/// Decompresses a block into `room` bytes of free space. It can refer back to the bytes
/// from `window` on. Returns the number of bytes, if they fit and the block is sound.
fn packed_block(
    block: &[u8],
    room: usize,
    window: usize,
    out: &mut OutputBuffer,
) -> Option<usize> {
    out.make_room(room);
    let (before, rest) = out.buffer.split_at_mut_checked(out.used)?;
    let rest = rest.get_mut(..room)?;
    match before.get(window..)? {
        [] => decompress_into(block, rest).ok(),
        window => decompress_into_with_dict(block, rest, window).ok(),
    }
}
