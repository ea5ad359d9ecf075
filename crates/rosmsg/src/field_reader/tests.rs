use super::*;

#[test]
fn ros1_headers_have_a_sequence_number_and_numbers_are_not_aligned() {
    let mut message = Vec::new();
    for number in [7_u32, 3, 9, 2] {
        message.extend(number.to_le_bytes()); // seq, seconds, nanoseconds, length
    }
    message.extend(b"ab\x05\x01\0\0\0");
    let mut reader = FieldReader::new(&message, Encoding::Ros1).unwrap();
    let header = reader.header().unwrap();
    assert_eq!((header.stamp, header.frame), (3_000_000_009, &b"ab"[..]));
    assert_eq!((reader.u8(), reader.extra_bytes()), (Some(5), 4));
    assert_eq!((reader.u32(), reader.extra_bytes()), (Some(1), 0));
    assert_eq!(reader.u8(), None);
}

#[test]
fn cdr_aligns_numbers_and_terminates_strings() {
    // DDS-XTypes 1.3, 7.4.1: 3.000000009 s, "ab", a byte, a gap, 1.5, a list of two floats.
    let little_endian = b"\0\x01\0\0\x03\0\0\0\x09\0\0\0\x03\0\0\0ab\0\x05\0\0\xC0\x3F\
                   \x02\0\0\0\0\0\x80\x3F\0\0\0\x40";
    let big_endian = b"\0\0\0\0\0\0\0\x03\0\0\0\x09\0\0\0\x03ab\0\x05\x3F\xC0\0\0\
                \0\0\0\x02\x3F\x80\0\0\x40\0\0\0";
    for message in [&little_endian[..], &big_endian[..]] {
        let mut reader = FieldReader::new(message, Encoding::Cdr).unwrap();
        assert_eq!(reader.is_big(), message[1] == 0);
        let header = reader.header().unwrap();
        assert_eq!((header.stamp, header.frame), (3_000_000_009, &b"ab"[..]));
        assert_eq!((reader.u8(), reader.f32()), (Some(5), Some(1.5)));
        assert_eq!(reader.numbers(4).map(<[u8]>::len), Some(8));
        assert_eq!(reader.extra_bytes(), 0);
    }
    let other = FieldReader::new(b"\0\x02\0\0", Encoding::Cdr);
    assert!(other.is_none(), "parameter lists are not supported");
}

#[test]
fn skipped_ranges_are_positions_in_the_payload() {
    let message = b"\0\x01\0\0\x05\0\0\0\x01\0\0\0xy";
    let mut reader = FieldReader::new(message, Encoding::Cdr).unwrap();
    assert_eq!((reader.u8(), reader.u32()), (Some(5), Some(1)));
    let range = reader.skip_range(2).unwrap();
    assert_eq!(&message[range.clone()], b"xy", "{range:?}");
    assert!(reader.skip_range(1).is_none());
}

#[test]
fn lists_of_version_2_have_a_length_unless_they_contain_numbers() {
    let message = b"\0\x07\0\0\x08\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0z";
    let mut reader = FieldReader::new(message, Encoding::Cdr).unwrap();
    assert_eq!((reader.count(), reader.u32()), (Some(1), Some(2)));
    assert_eq!(reader.numbers(1), Some(&b"z"[..]));
}

#[test]
fn times_before_1970_are_negative_in_cdr_only() {
    let time = b"\xff\xff\xff\xff\x00\xca\x9a\x3b"; // -1 s, 1e9 ns
    let cdr = [b"\0\x01\0\0", &time[..]].concat();
    let stamp = |payload, encoding| FieldReader::new(payload, encoding)?.stamp();
    assert_eq!(stamp(&cdr, Encoding::Cdr), Some(0));
    assert_eq!(stamp(time, Encoding::Ros1), Some(4_294_967_296_000_000_000));
}
