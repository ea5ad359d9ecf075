//! Decompresses logs in gzip, bzip2, xz, Zstandard or LZ4 files, which are recognised by their first
//! bytes, into a temporary file.

mod lz4_frames;

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use logtool_core::{Damage, DamageKind};

use crate::{
    error::{Error, Result},
    source::{
        input::{decompress::lz4_frames::Lz4Frames, temporary_file},
        losses::loss::Finding,
    },
};

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCompression {
    /// RFC 1952.
    Gzip,
    /// Blocks of 100 to 900 kB, each with a checksum.
    Bzip2,
    /// The .xz format, section 2.1.1.1.
    Xz,
    /// RFC 8878, section 3.1.1.
    Zstd,
    /// LZ4 Frame Format Description 1.6.
    Lz4,
}

/// A file that decompresses to more than this many times its size, …
const MAX_RATIO: u64 = 1000;
/// … and to more than this many bytes, is a decompression bomb and rejected.
const MIN_BOMB_BYTES: u64 = 64 << 20;

impl FileCompression {
    const ALL: [Self; 5] = [Self::Gzip, Self::Bzip2, Self::Xz, Self::Zstd, Self::Lz4];

    /// The number of bytes that identify a compression, also after a short skippable frame.
    pub const HEAD_LEN: u64 = 64;

    /// Detects the compression of a file that starts with `head`.
    pub fn detect(head: &[u8]) -> Option<Self> {
        let frames = after_skippable_frames(head);
        Self::ALL.into_iter().find(|compression| {
            let head = if compression.has_skippable_frames() { frames } else { head };
            head.starts_with(compression.magic())
        })
    }

    /// Returns whether a file may have [skippable frames](after_skippable_frames).
    fn has_skippable_frames(self) -> bool {
        matches!(self, Self::Zstd | Self::Lz4)
    }

    /// Returns the compression that the extension of `name` shows, and the name without that
    /// extension.
    pub fn from_name(name: &str) -> Option<(Self, &str)> {
        let (stem, end) = name.rsplit_once('.')?;
        let compression = Self::ALL
            .into_iter()
            .find(|compression| end.eq_ignore_ascii_case(compression.extension()))?;
        Some((compression, stem))
    }

    /// Returns the name of the compression.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }

    /// Returns the extension of compressed files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
            Self::Zstd => "zst",
            Self::Lz4 => "lz4",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => &[0x1f, 0x8b, 0x08],
            Self::Bzip2 => b"BZh",
            Self::Xz => &[0xfd, b'7', b'z', b'X', b'Z', 0],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            Self::Lz4 => &[0x04, 0x22, 0x4d, 0x18],
        }
    }

    /// Returns up to `max_bytes` decompressed bytes from the start of `file`.
    pub(super) fn head(self, file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let unpacker = self.unpacker(BufReader::new(file))?;
        match unpacker.take(max_bytes).read_to_end(&mut head) {
            Err(err) if head.is_empty() => Err(err),
            _ => Ok(head),
        }
    }

    fn unpacker<'p>(
        self,
        packed: BufReader<impl Read + 'p>,
    ) -> io::Result<Box<dyn Read + 'p>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Self::Xz => Box::new(XzDecoder::new_multi_decoder(packed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
            Self::Lz4 => Box::new(Lz4Frames::new(packed)),
        })
    }

    /// Decompresses `packed`, which has `len` bytes, as far as possible. Returns the bytes, and the
    /// loss if the data is damaged.
    pub(super) fn unpack(
        self,
        packed: impl Read,
        len: u64,
    ) -> Result<(File, Option<Finding>)> {
        let mut unpacked = temporary_file()?;
        let loss = self.unpack_to(packed, len, &mut unpacked)?;
        Ok((unpacked.into_file()?, loss))
    }

    /// Decompresses `packed` like [`unpack`](Self::unpack), to `unpacked`.
    pub(super) fn unpack_to(
        self,
        packed: impl Read,
        len: u64,
        unpacked: &mut impl Write,
    ) -> Result<Option<Finding>> {
        let limit = len.saturating_mul(MAX_RATIO).saturating_add(MIN_BOMB_BYTES);
        let unpacker = self.unpacker(BufReader::with_capacity(1 << 17, packed))?;
        let (len, broken) = copy(unpacker, unpacked, limit)?;
        if let (0, Some(err)) = (len, &broken) {
            let name = self.name();
            let message = format!(
                "the {name} data is damaged ({err}): no byte can be decompressed"
            );
            return Err(Error::other(message));
        }
        Ok(broken.map(|err| Finding {
            damage: Damage::new(DamageKind::Truncated, len..len),
            topic: None,
            text: format!(
                "the {} data is damaged ({err}): everything after the first {len} decompressed \
                 bytes can be read",
                self.name()
            ),
        }))
    }
}

/// Returns the bytes after the skippable frames at the start of `head`, which Zstandard and LZ4 have in
/// common (RFC 8878, section 3.1.2): 0x184D2A50 to 0x184D2A5F and the length of the contents, each a
/// u32, and the contents. The program `pzstd` begins with one.
fn after_skippable_frames(mut head: &[u8]) -> &[u8] {
    while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, contents @ ..] = head {
        let len = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        head = contents.get(len..).unwrap_or_default();
    }
    head
}

/// Copies `input` until its end or an error. Returns the number of bytes, and the error.
fn copy(
    mut input: Box<dyn Read + '_>,
    output: &mut impl Write,
    limit: u64,
) -> Result<(u64, Option<io::Error>)> {
    let (mut buffer, mut len) = (vec![0; 1 << 17], 0);
    loop {
        let count = match input.read(&mut buffer) {
            Ok(0) => return Ok((len, None)),
            Ok(count) => count,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Ok((len, Some(err))),
        };
        len += count as u64;
        if len > limit {
            let message = format!("it decompresses to more than {limit} bytes");
            let hint = "if this is intended, decompress it first";
            return Err(Error::other(message).with_hint(hint));
        }
        output.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek as _;

    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn unpack_bytes(compression: FileCompression, bytes: &[u8]) -> (Vec<u8>, bool) {
        let (mut file, loss) =
            compression.unpack(file_of(bytes), bytes.len() as u64).unwrap();
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        (text, loss.is_some())
    }

    /// `printf log | gzip -n`
    const GZIP: [u8; 23] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0xc9, 0x4f, 7, 0, 0xc5, 0x68, 0x3f,
        0x8f, 3, 0, 0, 0,
    ];

    #[test]
    fn gzip_is_decompressed() {
        assert_eq!(FileCompression::detect(&GZIP), Some(FileCompression::Gzip));
        let (text, is_lost) = unpack_bytes(FileCompression::Gzip, &GZIP);
        assert!(text == b"log" && !is_lost, "{text:?}");
    }

    #[test]
    fn concatenated_streams_are_one_file() {
        let concatenated = [GZIP, GZIP].concat();
        assert_eq!(
            unpack_bytes(FileCompression::Gzip, &concatenated),
            (b"loglog".to_vec(), false)
        );
        let zstd = zstd::encode_all(&b"log"[..], 3).unwrap();
        let concatenated = [&zstd[..], &zstd].concat();
        assert_eq!(
            unpack_bytes(FileCompression::Zstd, &concatenated),
            (b"loglog".to_vec(), false)
        );
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let level = bzip2::Compression::fast();
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn lz4(text: &[u8]) -> Vec<u8> {
        let info = FrameInfo::new().block_size(BlockSize::Max64KB);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn truncated_stream_keeps_all_readable_bytes() {
        let text: Vec<u8> = (0..600_000_u32).flat_map(u32::to_le_bytes).collect();
        let packed = [
            (FileCompression::Zstd, zstd::encode_all(&text[..], 3).unwrap()),
            (FileCompression::Bzip2, bzip2(&text)),
            (FileCompression::Lz4, lz4(&text)),
        ];
        for (compression, packed) in packed {
            assert_eq!(FileCompression::detect(&packed), Some(compression));
            let (bytes, is_lost) = unpack_bytes(compression, &packed);
            assert!(!is_lost && bytes == text, "{compression:?}");
            let (bytes, is_lost) =
                unpack_bytes(compression, &packed[..packed.len() / 2]);
            assert!(is_lost && bytes.len() > 1000, "{compression:?}");
            assert!(text.starts_with(&bytes), "{compression:?}");
        }
    }

    /// `printf log | lz4 -1 -c | xxd` and `printf log | bzip2 -1 -c | xxd`
    #[test]
    fn streams_of_other_programs_are_decompressed() {
        let lz4 = [
            0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 3, 0, 0, 0x80, b'l', b'o', b'g',
            0, 0, 0, 0, 0x6b, 0xe6, 0, 0x96,
        ];
        let bzip2 = [
            0x42, 0x5a, 0x68, 0x31, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x62, 0x82,
            0x14, 0x2b, 0, 0, 0, 0x81, 0, 0, 0x84, 0xa0, 0, 0x21, 0x98, 0x19, 0x84,
            0x61, 0x77, 0x24, 0x53, 0x85, 0x09, 0x06, 0x28, 0x21, 0x42, 0xb0,
        ];
        for (compression, bytes) in
            [(FileCompression::Lz4, &lz4[..]), (FileCompression::Bzip2, &bzip2)]
        {
            assert_eq!(FileCompression::detect(bytes), Some(compression));
            let twice = [bytes, bytes].concat();
            assert_eq!(unpack_bytes(compression, &twice), (b"loglog".to_vec(), false));
        }
    }

    #[test]
    fn lz4_frame_that_ends_between_two_blocks_is_truncated() {
        let mut text = vec![0; 3 << 20];
        text.iter_mut().enumerate().for_each(|(i, byte)| *byte = ((i * i) >> 7) as u8);
        let mut packed = lz4(&text);
        // The end mark. (The encoder writes no checksum of the content.)
        packed.truncate(packed.len() - 4);
        let (bytes, is_lost) = unpack_bytes(FileCompression::Lz4, &packed);
        assert!(is_lost && bytes == text);
    }

    #[test]
    fn skippable_lz4_frames_are_skipped() {
        let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let packed = [&lz4(b"log")[..], &skippable, &lz4(b"book")].concat();
        assert_eq!(
            unpack_bytes(FileCompression::Lz4, &packed),
            (b"logbook".to_vec(), false)
        );
        let cut = &packed[..lz4(b"log").len() + 9];
        assert_eq!(unpack_bytes(FileCompression::Lz4, cut), (b"log".to_vec(), true));
    }

    #[test]
    fn file_may_begin_with_skippable_frames() {
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 9, 9, 9, 9];
        let zstd = zstd::encode_all(&b"log"[..], 3).unwrap();
        for (compression, frame) in
            [(FileCompression::Zstd, zstd), (FileCompression::Lz4, lz4(b"log"))]
        {
            let packed = [&skippable[..], &skippable, &frame].concat();
            assert_eq!(FileCompression::detect(&packed), Some(compression));
            assert_eq!(unpack_bytes(compression, &packed), (b"log".to_vec(), false));
        }
        assert_eq!(FileCompression::detect(&skippable), None);
    }

    #[test]
    fn damaged_data_without_a_readable_byte_is_an_error() {
        for (compression, packed) in [
            (FileCompression::Lz4, lz4(&[7; 50_000])),
            (FileCompression::Bzip2, bzip2(&[7; 50_000])),
        ] {
            let cut = &packed[..packed.len() - 12];
            let error = compression.unpack(cut, cut.len() as u64).unwrap_err();
            assert!(error.to_string().contains("data is damaged"), "{error}");
        }
    }

    #[test]
    fn decompression_bomb_is_rejected() {
        let mut bomb = zstd::Encoder::new(Vec::new(), 3).unwrap();
        for _ in 0..70 {
            bomb.write_all(&[0; 1 << 20]).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 6000, "{}", bomb.len());
        let err =
            FileCompression::Zstd.unpack(&bomb[..], bomb.len() as u64).unwrap_err();
        assert!(err.to_string().contains("decompresses to more than"), "{err}");
    }
}
