//! Adds GPS tags to the Exif data of a photo.
//!
//! ```text
//! TIFF   "II" or "MM" | 42 u16 | offset of IFD 0 u32
//! IFD    count u16 | entries, sorted by tag | offset of the next IFD u32
//! entry  tag u16 | type u16 | count u32 | value, or its offset if it is longer than 4 bytes
//! ```
//! (TIFF 6.0, section 2; Exif 2.32, section 4.6.6 for the GPS tags.) The new IFDs are appended, and
//! all other bytes stay where they are, so that offsets remain valid, also those in maker notes,
//! which only the maker knows.

use jiff::tz::TimeZone;

use crate::{
    error::{Error, ErrorKind, Result},
    jobs::geotag::shots::Position,
};

/// The tag in IFD 0 with the offset of the GPS IFD.
const GPS_IFD: u16 = 0x8825;

const ENTRY: usize = 12;

const BYTE: u16 = 1;
const ASCII: u16 = 2;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;

/// The values of the GPS tags of a photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GpsTags {
    pub(super) position: Position,
    /// The time of the position, in nanoseconds of Unix time.
    pub(super) utc: Option<i64>,
    /// The direction of the image, in degrees from true north.
    pub(super) direction: Option<f64>,
}

/// Returns `tiff`, the Exif data of a photo, with `tags` instead of its own GPS tags.
///
/// # Errors
/// `Malformed`, with the offset of the byte, if `tiff` is not a TIFF structure.
pub(super) fn with_gps(tiff: Option<&[u8]>, tags: &GpsTags) -> Result<Vec<u8>> {
    const EMPTY: &[u8] = b"II*\0\x08\0\0\0\0\0\0\0\0\0";
    let tiff = tiff.unwrap_or(EMPTY);
    let order = match tiff.get(..4) {
        Some(b"II*\0") => ByteOrder::Little,
        Some(b"MM\0*") => ByteOrder::Big,
        _ => return Err(malformed("the Exif data are not a TIFF structure", 0)),
    };
    let bytes = |start: usize, len: usize| {
        let end = start.checked_add(len);
        let bytes = end.and_then(|end| tiff.get(start..end));
        bytes.ok_or_else(|| malformed("the Exif data end before an IFD does", start))
    };
    let ifd_offset = order.number(bytes(4, 4)?);
    let count = order.number(bytes(ifd_offset, 2)?);
    let start = ifd_offset.saturating_add(2);
    let entries = bytes(start, count * ENTRY)?;
    let next = bytes(start.saturating_add(count * ENTRY), 4)?;

    let mut new = tiff.to_vec();
    if !new.len().is_multiple_of(2) {
        new.push(0); // IFDs start at even offsets
    }
    let ifd = new.len();
    let others = entries.chunks_exact(ENTRY);
    let tag = |entry: &[u8]| entry.get(..2).map_or(0, |tag| order.number(tag));
    let mut entries: Vec<Vec<u8>> = others
        .filter(|entry| tag(entry) != usize::from(GPS_IFD))
        .map(<[u8]>::to_vec)
        .collect();
    let gps = ifd + 2 + (entries.len() + 1) * ENTRY + 4;
    let value = order.u32(gps as u32);
    let head = [order.u16(GPS_IFD), order.u16(LONG)].concat();
    entries.push([&head[..], &order.u32(1), &value].concat());
    entries.sort_by_key(|entry| tag(entry));
    let count = u16::try_from(entries.len());
    let count =
        count.map_err(|_| malformed("the IFD has too many entries", ifd_offset))?;
    new.extend(order.u16(count));
    new.extend(entries.concat());
    new.extend(next);
    append_gps(&mut new, order, tags);
    if let Some(offset) = new.get_mut(4..8) {
        offset.copy_from_slice(&order.u32(ifd as u32));
    }
    Ok(new)
}

/// Appends the GPS IFD and its values.
fn append_gps(new: &mut Vec<u8>, order: ByteOrder, tags: &GpsTags) {
    let Position { latitude, longitude, altitude } = tags.position;
    let rationals = |pairs: &[(u64, u32)]| {
        let number = |number: u64| order.u32(u32::try_from(number).unwrap_or(u32::MAX));
        let pairs = pairs.iter().flat_map(|(a, b)| [number(*a), order.u32(*b)]);
        pairs.collect::<Vec<_>>().concat()
    };
    let degrees = |degrees: f64| {
        let micros = (degrees.abs() * 3_600e6).round() as u64;
        let (minutes, micros) = (micros / 60_000_000, micros % 60_000_000);
        rationals(&[(minutes / 60, 1), (minutes % 60, 1), (micros, 1_000_000)])
    };
    let text = |text: &str| [text.as_bytes(), b"\0"].concat();
    let side = |value: f64, positive, negative| {
        text(if value < 0.0 { negative } else { positive })
    };
    let mut values: Vec<(u16, u16, Vec<u8>)> = vec![
        (0, BYTE, vec![2, 3, 0, 0]),
        (1, ASCII, side(latitude, "N", "S")),
        (2, RATIONAL, degrees(latitude)),
        (3, ASCII, side(longitude, "E", "W")),
        (4, RATIONAL, degrees(longitude)),
    ];
    if let Some(altitude) = altitude {
        let millimetres = (altitude.abs() * 1e3).round() as u64;
        values.push((5, BYTE, vec![u8::from(altitude < 0.0)]));
        values.push((6, RATIONAL, rationals(&[(millimetres, 1_000)])));
    }
    let utc = tags.utc.and_then(|nanos| {
        let time = jiff::Timestamp::from_nanosecond(i128::from(nanos)).ok()?;
        Some(time.to_zoned(TimeZone::UTC).datetime())
    });
    if let Some(utc) = utc {
        let part = |number: i8| u64::from(number.unsigned_abs());
        let micros = part(utc.second()) * 1_000_000
            + u64::from(utc.subsec_nanosecond().unsigned_abs()) / 1_000;
        let time =
            [(part(utc.hour()), 1), (part(utc.minute()), 1), (micros, 1_000_000)];
        values.push((7, RATIONAL, rationals(&time)));
    }
    if let Some(direction) = tags.direction {
        let hundredths = (direction.rem_euclid(360.0) * 100.0).round() as u64 % 36_000;
        values.push((16, ASCII, text("T")));
        values.push((17, RATIONAL, rationals(&[(hundredths, 100)])));
    }
    values.push((18, ASCII, text("WGS-84")));
    if let Some(utc) = utc {
        values.push((29, ASCII, text(&utc.strftime("%Y:%m:%d").to_string())));
    }

    let mut value_offset = new.len() + 2 + values.len() * ENTRY + 4;
    let mut long = Vec::new();
    new.extend(order.u16(values.len() as u16));
    for (tag, kind, value) in values {
        let size = if kind == RATIONAL { 8 } else { 1 };
        new.extend(order.u16(tag));
        new.extend(order.u16(kind));
        new.extend(order.u32((value.len() / size) as u32));
        if value.len() <= 4 {
            new.extend(value.iter().copied().chain([0; 4]).take(4));
        } else {
            new.extend(order.u32(value_offset as u32));
            value_offset += value.len();
            long.extend(&value);
            if !value.len().is_multiple_of(2) {
                long.push(0);
                value_offset += 1;
            }
        }
    }
    new.extend(order.u32(0));
    new.extend(long);
}

/// The order of the bytes of numbers.
#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Returns an unsigned number of at most 4 bytes.
    fn number(self, bytes: &[u8]) -> usize {
        let add = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
        match self {
            Self::Little => bytes.iter().rev().fold(0, add),
            Self::Big => bytes.iter().fold(0, add),
        }
    }

    fn u16(self, number: u16) -> Vec<u8> {
        match self {
            Self::Little => number.to_le_bytes().to_vec(),
            Self::Big => number.to_be_bytes().to_vec(),
        }
    }

    fn u32(self, number: u32) -> Vec<u8> {
        match self {
            Self::Little => number.to_le_bytes().to_vec(),
            Self::Big => number.to_be_bytes().to_vec(),
        }
    }
}

fn malformed(message: &str, offset: usize) -> Error {
    Error::new(ErrorKind::Malformed, format!("{message}, at byte {offset} of them"))
}

#[cfg(test)]
mod tests {
    use exif::{In, Reader, Tag, Value};

    use super::*;

    const TAGS: GpsTags = GpsTags {
        position: Position {
            latitude: -33.856_784,
            longitude: 151.215_297,
            altitude: Some(-12.5),
        },
        utc: Some(1_717_236_000_250_000_000), // 2024-06-01T10:00:00.25Z
        direction: Some(-90.0),
    };

    fn read(tiff: Vec<u8>) -> exif::Exif {
        Reader::new().read_raw(tiff).unwrap()
    }

    fn text(exif: &exif::Exif, tag: Tag) -> String {
        exif.get_field(tag, In::PRIMARY).unwrap().display_value().to_string()
    }

    #[test]
    fn another_reader_finds_the_values() {
        let exif = read(with_gps(None, &TAGS).unwrap());
        assert_eq!(text(&exif, Tag::GPSLatitude), "33 deg 51 min 24.4224 sec");
        assert_eq!(text(&exif, Tag::GPSLatitudeRef), "S");
        assert_eq!(text(&exif, Tag::GPSLongitude), "151 deg 12 min 55.0692 sec");
        assert_eq!(text(&exif, Tag::GPSLongitudeRef), "E");
        assert_eq!(text(&exif, Tag::GPSAltitude), "12.5");
        assert_eq!(text(&exif, Tag::GPSAltitudeRef), "below sea level");
        assert_eq!(text(&exif, Tag::GPSTimeStamp), "10:00:00.25");
        assert_eq!(text(&exif, Tag::GPSDateStamp), "2024-06-01");
        assert_eq!(text(&exif, Tag::GPSImgDirection), "270");
    }

    #[test]
    fn other_tags_stay_and_old_gps_tags_go_in_both_byte_orders() {
        // IFD 0 with the make "ab" (in place) and a GPS IFD at 38, which has one tag.
        let little = b"II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x03\0\0\0ab\0\0\x25\x88\x04\0\x01\0\0\0\x26\0\0\0\0\0\0\0\x01\0\x06\0\x05\0\x01\0\0\0\0\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x02\x01\x0f\0\x02\0\0\0\x03ab\0\0\x88\x25\0\x04\0\0\0\x01\0\0\0\x26\0\0\0\0\0\x01\0\x06\0\x05\0\0\0\x01\0\0\0\0\0\0\0\0";
        let tags = GpsTags {
            position: Position { altitude: None, ..TAGS.position },
            utc: None,
            direction: None,
        };
        for old in [&little[..], &big[..]] {
            let new = with_gps(Some(old), &tags).unwrap();
            assert_eq!(new.get(8..old.len()), old.get(8..), "all bytes stay in place");
            let exif = read(new);
            let make = &exif.get_field(Tag::Make, In::PRIMARY).unwrap().value;
            assert!(matches!(make, Value::Ascii(text) if text[0] == b"ab"));
            assert!(exif.get_field(Tag::GPSAltitude, In::PRIMARY).is_none());
            assert_eq!(text(&exif, Tag::GPSLatitude), "33 deg 51 min 24.4224 sec");
        }
    }

    #[test]
    fn broken_structure_is_an_error_and_never_a_panic() {
        let good = with_gps(None, &TAGS).unwrap();
        for len in 0..14 {
            assert!(with_gps(good.get(..len), &TAGS).is_err(), "{len}");
        }
        let far = b"II*\0\xff\xff\xff\xff\0\0\0\0\0\0";
        assert!(with_gps(Some(far), &TAGS).is_err());
        let many = b"II*\0\x08\0\0\0\xff\xff\0\0\0\0";
        assert!(with_gps(Some(many), &TAGS).is_err());
    }
}
