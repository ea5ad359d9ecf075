//! Decompresses event definitions, which are an xz stream.

use std::io::Read;

use liblzma::{read::XzDecoder, stream::Stream};
use logtool_core::{Error, ErrorKind, Result};

/// The first bytes of an xz stream.
pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The maximum size of decompressed definitions; those of PX4 have about 160 KiB.
const MAX_UNPACKED_BYTES: u64 = 16 << 20;

/// The memory limit of the decoder; files of `xz -9` need 65 MiB.
const MAX_DECODER_BYTES: u64 = 96 << 20;

/// Decompresses one xz stream. Bytes after the stream are ignored.
pub(super) fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let stream = Stream::new_stream_decoder(MAX_DECODER_BYTES, 0).map_err(|err| {
        Error::new(ErrorKind::Limit, "decompressing event definitions").with_source(err)
    })?;
    let mut unpacked = Vec::new();
    XzDecoder::new_stream(bytes, stream)
        .take(MAX_UNPACKED_BYTES + 1)
        .read_to_end(&mut unpacked)
        .map_err(|err| {
            Error::new(ErrorKind::Malformed, "event definitions cannot be decompressed")
                .with_source(err)
        })?;
    if unpacked.len() as u64 > MAX_UNPACKED_BYTES {
        let message =
            format!("event definitions of more than {MAX_UNPACKED_BYTES} bytes");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf '{"version":1}' | xz | xxd -i`
    const PACKED: [u8; 72] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
        0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00,
        0x0c, 0x7b, 0x22, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x22, 0x3a, 0x31,
        0x7d, 0x00, 0x00, 0x00, 0x00, 0xda, 0x80, 0x0c, 0x60, 0x60, 0x93, 0x4c, 0x76,
        0x00, 0x01, 0x25, 0x0d, 0x71, 0x19, 0xc4, 0xb6, 0x1f, 0xb6, 0xf3, 0x7d, 0x01,
        0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];

    #[test]
    fn stream_of_xz_tool_is_decompressed() {
        assert_eq!(decompress(&PACKED).unwrap(), br#"{"version":1}"#);
    }

    #[test]
    fn truncated_stream_is_malformed() {
        for len in 0..PACKED.len() {
            let err = decompress(&PACKED[..len]).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Malformed, "cut at {len}");
        }
    }

    #[test]
    fn decompression_bomb_is_rejected() {
        let mut bomb = Vec::new();
        let zeros = std::io::repeat(0).take(MAX_UNPACKED_BYTES + 1);
        liblzma::read::XzEncoder::new(zeros, 1).read_to_end(&mut bomb).unwrap();
        assert!(bomb.len() < 10_000);
        assert_eq!(decompress(&bomb).unwrap_err().kind(), ErrorKind::Limit);
    }
}
