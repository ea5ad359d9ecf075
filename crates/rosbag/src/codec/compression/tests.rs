//! Decompression of data from other encoders. The compressed bytes were made with Python's
//! `lz4.frame` 4.4.5 and `bz2`.

use std::io::Write as _;

use bytes::BytesMut;
use logtool_core::hex::Hex;

use super::*;

/// 160 bytes: independent blocks of 1 MiB, a content checksum, no content size (the profile of
/// ROS).
const LZ4: &str = "04224d186440a70e0000004f61626364040084506461626364000000000756cc43";
/// The same 160 bytes: linked blocks, block checksums, a content size.
const LZ4_LINKED: &str = "04224d187840a0000000000000005d0e0000004f616263640400845064616263\
                          64aa91b5a000000000";
/// 40 bytes.
const BZ2: &str = "425a6839314159265359e9f2ef1800000481003c00200020a500cd34e4c4d4e4f177\
                   245385090e9f2ef180";

fn bytes(digits: &str) -> Vec<u8> {
    let byte =
        |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(byte).collect()
}

fn decompress(
    compression: Compression,
    packed: &[u8],
    limit: usize,
) -> (BytesMut, FrameOutcome) {
    compression.decompress(packed, 0, limit, false, BytesMut::new())
}

#[test]
fn lz4_frames_of_all_kinds_are_decompressed() {
    for frame in [LZ4, LZ4_LINKED] {
        let (out, outcome) = decompress(Compression::Lz4, &bytes(frame), 1 << 20);
        assert_eq!(
            (out.as_ref(), outcome),
            (b"abcd".repeat(40).as_slice(), FrameOutcome::Whole)
        );
    }
}

#[test]
fn consecutive_lz4_frames_are_concatenated() {
    let skipped = [&[0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
    let packed = [bytes(LZ4), skipped, bytes(LZ4_LINKED)].concat();
    let (out, outcome) = decompress(Compression::Lz4, &packed, 1 << 20);
    assert_eq!(
        (out.as_ref(), outcome),
        (b"abcd".repeat(80).as_slice(), FrameOutcome::Whole)
    );
}

#[test]
fn consecutive_bz2_streams_are_concatenated() {
    let (out, outcome) = decompress(Compression::Bz2, &bytes(BZ2).repeat(3), 1 << 20);
    assert_eq!(
        (out.as_ref(), outcome),
        (b"abcd".repeat(30).as_slice(), FrameOutcome::Whole)
    );
}

#[test]
fn lz4_frame_with_wrong_checksum_is_doubtful() {
    for (frame, at) in [(LZ4, 32), (LZ4_LINKED, 33)] {
        let mut packed = bytes(frame);
        packed[at] ^= 1;
        let (out, outcome) = decompress(Compression::Lz4, &packed, 1 << 20);
        assert_eq!(
            (out.len(), outcome),
            (160, FrameOutcome::Doubtful),
            "{}",
            Hex(&packed)
        );
    }
}

#[test]
fn bz2_block_with_wrong_checksum_is_lost() {
    let mut packed = bytes(BZ2);
    packed[10] ^= 1; // the first byte of the checksum of the block
    let (out, outcome) = decompress(Compression::Bz2, &packed, 1 << 20);
    assert_eq!((out.len(), outcome), (0, FrameOutcome::Broken));
}

#[test]
fn bz2_blocks_before_a_damaged_block_are_decompressed() {
    // Level 1 has blocks of 100,000 bytes less 19. (The content has no run of four equal bytes,
    // which bzip2 would shorten.)
    const BLOCK_LEN: usize = 100_000 - 19;
    let byte = |i: u64| (i * i % 1009 % 128 + i % 2 * 128) as u8;
    let content: Vec<u8> = (0..350_000).map(byte).collect();
    let level = bzip2::Compression::fast();
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
    encoder.write_all(&content).unwrap();
    let packed = encoder.finish().unwrap();
    let (out, outcome) = decompress(Compression::Bz2, &packed, 1 << 20);
    assert_eq!((out.as_ref(), outcome), (content.as_slice(), FrameOutcome::Whole));
    // One byte is changed, after the given number of eighths of the stream. Only the blocks before
    // it are decompressed.
    for (eighths, blocks_before) in [(1, 0), (3, 1), (4, 1), (5, 2)] {
        let mut packed = packed.clone();
        let at = packed.len() * eighths / 8;
        packed[at] ^= 0x10;
        let (out, outcome) = decompress(Compression::Bz2, &packed, 1 << 20);
        assert_eq!(
            (out.len(), outcome),
            (blocks_before * BLOCK_LEN, FrameOutcome::Broken),
            "byte {at}"
        );
        assert!(content.starts_with(&out));
    }
    // Of two streams, only the second is damaged. The limit holds for both together.
    let mut two = [&packed[..], &packed].concat();
    two[packed.len() + packed.len() / 2] ^= 1;
    let (out, outcome) = decompress(Compression::Bz2, &two, 1 << 20);
    assert_eq!((out.len(), outcome), (content.len() + BLOCK_LEN, FrameOutcome::Broken));
    let (out, _) = decompress(Compression::Bz2, &two, content.len() + 10);
    assert!(out.len() <= content.len() + 10);
}

#[test]
fn truncated_data_decompress_to_a_prefix() {
    let content = b"abcd".repeat(40);
    // The decompressed length, and the length of the frame header (for bzip2, a value that is never
    // reached).
    let kinds = [
        (Compression::Lz4, LZ4, 160, 7),
        (Compression::Lz4, LZ4_LINKED, 160, 15),
        (Compression::Bz2, BZ2, 40, usize::MAX - 4),
    ];
    for (compression, packed, content_len, header_len) in kinds {
        let packed = bytes(packed);
        for len in 1..packed.len() {
            let (packed, buffer) = (&packed[..len], BytesMut::new());
            let (out, outcome) =
                compression.decompress(packed, 0, 1 << 20, true, buffer);
            assert!(content.starts_with(&out), "cut to {len}");
            // If the length of the first block is incomplete, no block has begun.
            let has_no_block = (header_len..header_len + 4).contains(&len);
            let are_blocks_complete = out.len() == content_len || has_no_block;
            let expected = if are_blocks_complete {
                FrameOutcome::Ended
            } else {
                FrameOutcome::Cut
            };
            assert_eq!(outcome, expected, "cut to {len}");
        }
    }
}

#[test]
fn decompression_stops_at_the_limit() {
    for (compression, packed) in [(Compression::Lz4, LZ4), (Compression::Bz2, BZ2)] {
        let (out, outcome) = decompress(compression, &bytes(packed), 39);
        assert_eq!((out.len(), outcome), (39, FrameOutcome::OverLimit));
    }
    let (out, outcome) = decompress(Compression::None, b"abcde", 4);
    assert_eq!((out.as_ref(), outcome), (&b"abcd"[..], FrameOutcome::OverLimit));
}

#[test]
fn declared_size_does_not_determine_the_allocation() {
    let packed = bytes(LZ4);
    let (out, outcome) =
        Compression::Lz4.decompress(&packed, u32::MAX, 1 << 20, false, BytesMut::new());
    assert_eq!((out.len(), outcome), (160, FrameOutcome::Whole));
    assert!(out.capacity() < 8 << 20);
}

#[test]
fn data_without_a_frame_are_broken() {
    for compression in [Compression::Lz4, Compression::Bz2] {
        let (out, outcome) = decompress(compression, b"this was never packed", 1 << 20);
        assert_eq!((out.len(), outcome), (0, FrameOutcome::Broken));
    }
}

#[test]
fn lz4_block_is_decompressed_up_to_its_damage() {
    // Four literals, and a match with the invalid distance 0.
    for (frame, offset) in [(LZ4, 16), (LZ4_LINKED, 24)] {
        let mut packed = bytes(frame);
        assert_eq!(packed[offset..offset + 2], [4, 0]);
        packed[offset] = 0;
        let (out, outcome) = decompress(Compression::Lz4, &packed, 1 << 20);
        assert_eq!((out.as_ref(), outcome), (&b"abcd"[..], FrameOutcome::Broken));
    }
}

#[test]
fn truncated_lz4_block_is_decompressed_up_to_its_end() {
    let content = b"abcd".repeat(40);
    for (frame, header_len) in [(LZ4, 7), (LZ4_LINKED, 15)] {
        let packed = bytes(frame);
        let cut_to = |len: usize, is_cut: bool| {
            let (packed, buffer) = (&packed[..len], BytesMut::new());
            Compression::Lz4.decompress(packed, 0, 1 << 20, is_cut, buffer)
        };
        // A token, four literals, the match distance, and two bytes of the match length:
        // 4 + 15 + 132.
        for (block_len, expected) in [(0, 0), (1, 0), (3, 2), (5, 4), (7, 4), (8, 155)]
        {
            let len = header_len + 4 + block_len;
            // If the file continues after the data, the block is corrupt.
            for (is_cut, kind) in
                [(true, FrameOutcome::Cut), (false, FrameOutcome::Broken)]
            {
                let (out, outcome) = cut_to(len, is_cut);
                assert_eq!((out.len(), outcome), (expected, kind), "cut to {len}");
                assert!(content.starts_with(&out));
            }
        }
    }
}
