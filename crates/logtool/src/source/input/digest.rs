//! The identity of a file: the BLAKE3 hash of its bytes.
//!
//! BLAKE3 is a tree of hashes, so that all cores work on one file; a gigabyte takes a
//! fraction of a second. `b3sum FILE` prints the same digits.

use std::io;

use logtool_core::Source;

/// The number of bytes that are read at a time: enough for all cores.
const WINDOW_BYTES: u64 = 8 << 20;

/// Returns the digest of all bytes of `source`: `blake3:` and 64 hexadecimal digits. Memory is
/// limited to 8 MiB.
///
/// # Errors
/// Read errors, and `UnexpectedEof` if the source has fewer bytes than its length.
pub fn digest_of(source: &dyn Source) -> io::Result<String> {
    let (len, mut hasher, mut offset) = (source.len(), blake3::Hasher::new(), 0);
    while offset < len {
        let range = offset..len.min(offset + WINDOW_BYTES);
        let bytes = source.read_at(range.clone())?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update_rayon(&bytes);
        offset += bytes.len() as u64;
        source.release(range);
    }
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use bytes::Bytes;

    use super::*;

    /// From `test_vectors.json` of the reference implementation: bytes that count from 0 to 250
    /// repeatedly, and the first 32 bytes of their hash.
    const VECTORS: [(usize, &str); 4] = [
        (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
        (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
        (1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
        (102_400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"),
    ];

    fn counting_bytes(len: usize) -> Vec<u8> {
        (0..=250).cycle().take(len).collect()
    }

    #[test]
    fn digests_agree_with_the_reference_implementation() -> Result<(), Box<dyn Error>> {
        for (len, digits) in VECTORS {
            let digest = digest_of(&Bytes::from(counting_bytes(len)))?;
            assert_eq!(digest, format!("blake3:{digits}"), "{len} bytes");
        }
        Ok(())
    }

    #[test]
    fn bytes_of_several_windows_have_one_digest() -> Result<(), Box<dyn Error>> {
        let bytes = counting_bytes(2 * WINDOW_BYTES as usize + 12_345);
        let whole = format!("blake3:{}", blake3::hash(&bytes).to_hex());
        assert_eq!(digest_of(&Bytes::from(bytes))?, whole);
        Ok(())
    }
}
