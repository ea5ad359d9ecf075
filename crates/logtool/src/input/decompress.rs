//! Logs inside gzip, xz or Zstandard: recognised by their first bytes, and unpacked
//! into a file without a name.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek as _, Write as _},
};

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use logtool_core::{Damage, DamageKind};

use crate::{
    error::{Error, Result},
    input::temporary_file,
    losses::loss::Finding,
};

/// How something is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// RFC 1952.
    Gzip,
    /// The .xz format, section 2.1.1.1.
    Xz,
    /// RFC 8878, section 3.1.1.
    Zstd,
}

/// Something that unpacks to more than so many times its size…
const MAX_RATIO: u64 = 1000;
/// …and this is made to fill the disk, and refused.
const SLACK: u64 = 64 << 20;

impl Packing {
    const ALL: [Self; 3] = [Self::Gzip, Self::Xz, Self::Zstd];

    /// How a file that begins with `head` is packed, if it is.
    pub fn of(head: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|packing| head.starts_with(packing.magic()))
    }

    /// How a file called `name` is packed, if it is called as such are, and what it is
    /// called without that end.
    pub fn of_name(name: &str) -> Option<(Self, &str)> {
        let (stem, end) = name.rsplit_once('.')?;
        let packing = Self::ALL
            .into_iter()
            .find(|packing| end.eq_ignore_ascii_case(packing.extension()))?;
        Some((packing, stem))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// What the names of such files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Xz => "xz",
            Self::Zstd => "zst",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => &[0x1f, 0x8b, 0x08],
            Self::Xz => &[0xfd, b'7', b'z', b'X', b'Z', 0],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        }
    }

    /// The first `most` bytes of what is packed in `file`, or those that can be had.
    pub(super) fn head(self, file: File, most: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let unpacker = self.unpacker(BufReader::new(file))?;
        match unpacker.take(most).read_to_end(&mut head) {
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
            Self::Xz => Box::new(XzDecoder::new_multi_decoder(packed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
        })
    }

    /// Unpacks `packed`, which has `len` bytes, as far as that is possible, and says what
    /// was lost.
    pub(super) fn unpack(
        self,
        packed: impl Read,
        len: u64,
    ) -> Result<(File, Option<Finding>)> {
        let limit = len.saturating_mul(MAX_RATIO).saturating_add(SLACK);
        let unpacker = self.unpacker(BufReader::with_capacity(1 << 17, packed))?;
        let mut unpacked = temporary_file()?;
        let (len, broken) = copy(unpacker, &mut unpacked, limit)?;
        unpacked.rewind()?;
        let loss = broken.map(|err| Finding {
            damage: Damage::new(DamageKind::Truncated, len..len),
            topic: None,
            text: format!(
                "the {} data is broken ({err}): nothing after the first {len} unpacked \
                 bytes can be read",
                self.name()
            ),
        });
        Ok((unpacked, loss))
    }
}

/// Copies `from` until it ends or breaks: says how much came, and how it broke.
fn copy(
    mut from: Box<dyn Read + '_>,
    to: &mut File,
    limit: u64,
) -> Result<(u64, Option<io::Error>)> {
    let (mut buffer, mut len) = (vec![0; 1 << 17], 0);
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok((len, None)),
            Ok(count) => count,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Ok((len, Some(err))),
        };
        len += count as u64;
        if len > limit {
            let what = format!("it unpacks to more than {limit} bytes");
            let hint = "if that is right, unpack it first";
            return Err(Error::failed(what).with_hint(hint));
        }
        to.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn unpacked(packing: Packing, bytes: &[u8]) -> (Vec<u8>, bool) {
        let (mut file, loss) =
            packing.unpack(file_of(bytes), bytes.len() as u64).unwrap();
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
    fn what_gzip_packed_is_unpacked() {
        assert_eq!(Packing::of(&GZIP), Some(Packing::Gzip));
        let (text, is_lost) = unpacked(Packing::Gzip, &GZIP);
        assert!(text == b"log" && !is_lost, "{text:?}");
    }

    #[test]
    fn two_packed_files_in_a_row_are_one() {
        let twice = [GZIP, GZIP].concat();
        assert_eq!(unpacked(Packing::Gzip, &twice), (b"loglog".to_vec(), false));
        let zstd = zstd::encode_all(&b"log"[..], 3).unwrap();
        let twice = [&zstd[..], &zstd].concat();
        assert_eq!(unpacked(Packing::Zstd, &twice), (b"loglog".to_vec(), false));
    }

    #[test]
    fn of_a_cut_file_all_that_is_there_is_kept() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let zstd = zstd::encode_all(&text[..], 3).unwrap();
        let (kept, is_lost) = unpacked(Packing::Zstd, &zstd[..zstd.len() / 2]);
        assert!(is_lost && kept.len() > 1000 && text.starts_with(&kept));
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut bomb = zstd::Encoder::new(Vec::new(), 3).unwrap();
        for _ in 0..70 {
            bomb.write_all(&[0; 1 << 20]).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 6000, "{}", bomb.len());
        let err = Packing::Zstd.unpack(&bomb[..], bomb.len() as u64).unwrap_err();
        assert!(err.to_string().contains("unpacks to more than"), "{err}");
    }
}
