//! Chunks of PNG files.

/// The end of the first chunk, `IHDR`: 8 bytes of signature, and the length, name and
/// checksum around its 13 bytes.
const HEADER_END: usize = 8 + 4 + 4 + 13 + 4;

/// Inserts a chunk called `name` after the first chunk of the file `png`.
pub(crate) fn insert(png: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let Ok(len) = u32::try_from(content.len()) else { return };
    if png.len() < HEADER_END {
        return;
    }
    let named = [name, content].concat();
    let chunk =
        [&len.to_be_bytes()[..], &named, &crc32fast::hash(&named).to_be_bytes()];
    png.splice(HEADER_END..HEADER_END, chunk.concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_a_checksum_and_follows_on_the_header() {
        let mut png = vec![7; HEADER_END + 1];
        insert(&mut png, b"iTXt", b"a\0\0\0\0\0\xc3\xa9");
        // The checksum is from Python's zlib.crc32.
        let chunk = b"\x00\x00\x00\x08iTXta\0\0\0\0\0\xc3\xa9RYU\xd1";
        assert_eq!(png[HEADER_END..][..chunk.len()], *chunk);
        assert_eq!(png.len(), HEADER_END + chunk.len() + 1);
        let mut none = b"no".to_vec();
        insert(&mut none, b"iTXt", b"");
        assert_eq!(none, b"no");
    }
}
