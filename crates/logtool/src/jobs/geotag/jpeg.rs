//! Finds the Exif segment of a JPEG, and writes copies with another one.
//!
//! ```text
//! file      FF D8 | segments | FF DA, the image
//! segment   FF, marker u8, length u16 big-endian (with itself), payload
//! APP1      FF E1, length, "Exif" 00 00, a TIFF structure
//! ```
//! (ITU-T T.81, annex B; Exif 2.32, section 4.7.) All other bytes of a copy are those of the
//! photo, also those after the image.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
};

use crate::error::{Error, ErrorKind, Result};

const EXIF: &[u8; 6] = b"Exif\0\0";

/// The longest TIFF structure that a segment can hold: its length includes the length itself and
/// the identifier.
const MAX_TIFF: usize = u16::MAX as usize - 2 - EXIF.len();

const START_OF_IMAGE: [u8; 2] = [0xff, 0xd8];
const APP0: u8 = 0xe0;
const APP1: u8 = 0xe1;
const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: u8 = 0xd9;

/// The position of the Exif segment in a JPEG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExifPosition {
    /// The bytes of the segment. The range is empty if the file has no such segment, and is then
    /// where it belongs: at the start, after the segments of JFIF.
    pub(super) segment: Range<u64>,
    /// The TIFF structure in it.
    pub(super) tiff: Option<Vec<u8>>,
}

/// Finds the Exif segment of `file`.
///
/// # Errors
/// `Malformed`, with the offset of the byte, if it is not a JPEG or has no image.
pub(super) fn find_exif(file: &mut (impl Read + Seek)) -> Result<ExifPosition> {
    let mut start = [0; 2];
    if file.read_exact(&mut start).is_err() || start != START_OF_IMAGE {
        return Err(malformed("it does not start as a JPEG", 0));
    }
    let (mut offset, mut free) = (2_u64, 2_u64);
    loop {
        let segment = offset;
        if read_byte(file, &mut offset)? != 0xff {
            return Err(malformed("there is no marker", segment));
        }
        // Any number of fill bytes may precede a marker.
        let mut marker = read_byte(file, &mut offset)?;
        while marker == 0xff {
            marker = read_byte(file, &mut offset)?;
        }
        if marker == START_OF_SCAN || marker == END_OF_IMAGE {
            return Ok(ExifPosition { segment: free..free, tiff: None });
        }
        if marker == 0x01 || (0xd0..=0xd7).contains(&marker) {
            continue; // without a length
        }
        let len = [read_byte(file, &mut offset)?, read_byte(file, &mut offset)?];
        let Some(len) = u16::from_be_bytes(len).checked_sub(2) else {
            return Err(malformed("the length of the segment is too short", segment));
        };
        let end = offset + u64::from(len);
        if marker == APP1 {
            let mut payload = Vec::new();
            Read::take(&mut *file, u64::from(len)).read_to_end(&mut payload)?;
            if payload.len() < usize::from(len) {
                return Err(malformed("the file ends within a segment", segment));
            }
            if let Some(tiff) = payload.strip_prefix(EXIF) {
                let tiff = Some(tiff.to_vec());
                return Ok(ExifPosition { segment: segment..end, tiff });
            }
        } else {
            file.seek(SeekFrom::Start(end))?;
        }
        if marker == APP0 && free == segment {
            free = end;
        }
        offset = end;
    }
}

/// Checks that `tiff` fits into a segment.
///
/// # Errors
/// `Limit` if it does not.
pub(super) fn check_len(tiff: &[u8]) -> Result<u16> {
    let len = u16::try_from(2 + EXIF.len() + tiff.len());
    len.map_err(|_| {
        let message = format!(
            "its Exif data would have {} bytes with the position, and at most {MAX_TIFF} fit",
            tiff.len()
        );
        Error::new(ErrorKind::Limit, message)
    })
}

/// Writes `file` to `out`, with `tiff` in the segment at `position`.
///
/// # Errors
/// `Limit` if `tiff` does not fit into a segment; `Io` if reading or writing fails.
pub(super) fn write_copy(
    file: &mut (impl Read + Seek),
    position: &ExifPosition,
    tiff: &[u8],
    out: &mut impl Write,
) -> Result<()> {
    let len = check_len(tiff)?;
    file.seek(SeekFrom::Start(0))?;
    let start = position.segment.start;
    if io::copy(&mut Read::take(&mut *file, start), out)? != start {
        return Err(Error::other("the file became shorter while it was read"));
    }
    out.write_all(&[0xff, APP1])?;
    out.write_all(&len.to_be_bytes())?;
    out.write_all(EXIF)?;
    out.write_all(tiff)?;
    file.seek(SeekFrom::Start(position.segment.end))?;
    io::copy(file, out)?;
    Ok(())
}

fn read_byte(file: &mut impl Read, offset: &mut u64) -> Result<u8> {
    let mut byte = [0];
    match file.read_exact(&mut byte) {
        Ok(()) => {
            *offset += 1;
            let [byte] = byte;
            Ok(byte)
        }
        Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => {
            Err(malformed("the file ends before the image", *offset))
        }
        Err(err) => Err(err.into()),
    }
}

fn malformed(message: &str, offset: u64) -> Error {
    Error::new(ErrorKind::Malformed, format!("{message} at byte {offset}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const IMAGE: &[u8] = b"\xff\xda\x00\x02scan\xff\xd9after the image";
    const JFIF: &[u8] = b"\xff\xe0\x00\x07JFIF\0";

    fn copy(photo: &[u8], tiff: &[u8]) -> Result<Vec<u8>> {
        let mut file = Cursor::new(photo);
        let position = find_exif(&mut file)?;
        let mut out = Vec::new();
        write_copy(&mut file, &position, tiff, &mut out)?;
        Ok(out)
    }

    #[test]
    fn segment_is_inserted_after_jfif() {
        let photo = [b"\xff\xd8", JFIF, b"\xff\xfe\x00\x04hi", IMAGE].concat();
        let exif = b"\xff\xe1\x00\x0cExif\0\0TIFF";
        let want = [b"\xff\xd8", JFIF, exif, b"\xff\xfe\x00\x04hi", IMAGE].concat();
        assert_eq!(copy(&photo, b"TIFF").unwrap(), want);
    }

    #[test]
    fn segment_is_replaced_where_it_is() {
        let xmp = b"\xff\xe1\x00\x06http";
        let old = b"\xff\xff\xe1\x00\x09Exif\0\0a";
        let new = b"\xff\xe1\x00\x0aExif\0\0bc";
        let photo = [b"\xff\xd8", &xmp[..], old, IMAGE].concat();
        let want = [b"\xff\xd8", &xmp[..], new, IMAGE].concat();
        assert_eq!(copy(&photo, b"bc").unwrap(), want);
        let position = find_exif(&mut Cursor::new(&photo)).unwrap();
        assert_eq!(position.tiff.as_deref(), Some(&b"a"[..]));
    }

    #[test]
    fn broken_photo_is_an_error_with_its_offset() {
        let cases: [(&[u8], &str); 5] = [
            (b"\x89PNG", "does not start as a JPEG at byte 0"),
            (b"\xff\xd8\x00", "no marker at byte 2"),
            (b"\xff\xd8\xff\xe0\x00\x01", "too short at byte 2"),
            (b"\xff\xd8\xff\xe1\x00\x09Exif", "ends within a segment at byte 2"),
            (b"\xff\xd8\xff\xe0\x00\x07JFIF\0", "ends before the image at byte 11"),
        ];
        for (photo, want) in cases {
            let error = find_exif(&mut Cursor::new(photo)).unwrap_err();
            assert!(error.to_string().contains(want), "{error}");
            assert_eq!(error.kind(), ErrorKind::Malformed);
        }
    }

    #[test]
    fn segment_that_is_too_long_is_an_error() {
        let photo = [b"\xff\xd8", IMAGE].concat();
        assert!(copy(&photo, &vec![0; MAX_TIFF]).is_ok());
        let error = copy(&photo, &vec![0; MAX_TIFF + 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
