//! Parsing of hand-made records that follow the wiki.

use super::*;

/// Encodes a field.
fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = (name.len() as u32 + 1 + value.len() as u32).to_le_bytes().to_vec();
    bytes.extend([name.as_bytes(), b"=", value].concat());
    bytes
}

/// Encodes a record.
fn record(fields: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let fields = fields.concat();
    let lengths = [fields.len(), data.len()].map(|len| (len as u32).to_le_bytes());
    [&lengths[0], fields.as_slice(), &lengths[1], data].concat()
}

/// Parses the header of the record at the start of `bytes`.
fn parse_header(bytes: &[u8]) -> Option<Header<'_>> {
    let FrameMatch::Whole(frame) = frame(bytes) else { return None };
    header(fields(bytes, frame))
}

#[test]
fn first_line_states_version_and_line_ending() {
    let version_2 = Version { major: 2, minor: 0, line_len: 13, ends_well: true };
    assert_eq!(version(b"#ROSBAG V2.0\nE\0\0\0"), Some(version_2));
    let damaged = Version { ends_well: false, ..version_2 };
    assert_eq!(version(b"#ROSBAG V2.0\r\nE\0\0"), Some(damaged));
    let version_1 = Version { major: 1, minor: 2, line_len: 16, ends_well: true };
    assert_eq!(version(b"#ROSRECORD V1.2\n"), Some(version_1));
    assert_eq!(version(b"#ROSBAG V2"), None);
    assert_eq!(version(b"#ROSBAG 2.0\n"), None);
}

#[test]
fn fields_are_read_in_any_order_and_unknown_fields_are_skipped() {
    let fields = [
        field("time", &[1, 0, 0, 0, 5, 0, 0, 0]),
        field("x", b"a=b\0=c"),
        field("op", &[2]),
        field("", b""),
        field("conn", &[0, 0, 1, 0]),
    ];
    let time = Timestamp::from_nanos(1_000_000_005);
    let message = Header::Message { connection: 65536, time };
    assert_eq!(parse_header(&record(&fields, b"data")), Some(message));
}

#[test]
fn fast_path_and_general_parser_agree_on_messages() {
    let (connection, op) = (field("conn", &[7, 0, 0, 0]), field("op", &[2]));
    let time = field("time", &[255, 255, 255, 255, 255, 201, 154, 59]);
    let usual = [[&connection, &op, &time], [&op, &connection, &time]];
    for fields in usual {
        let bytes = record(&fields.map(Clone::clone), b"data");
        let FrameMatch::Whole(frame) = frame(&bytes) else { panic!("{bytes:?}") };
        let Some(Header::Message { connection, time }) = parse_header(&bytes) else {
            panic!("{bytes:?}")
        };
        assert_eq!(connection, 7);
        assert_eq!(time.as_nanos(), 4_294_967_295_999_999_999);
        assert_eq!(usual_message(&bytes), Some((connection, time, frame)));
        assert_eq!(usual_message(&bytes[..45]), None);
    }
    let time_first = [time.clone(), op.clone(), connection.clone()];
    assert_eq!(usual_message(&record(&time_first, b"data")), None);
    let other_op = field("op", &[5]);
    for fields in [[&connection, &other_op, &time], [&other_op, &connection, &time]] {
        assert_eq!(usual_message(&record(&fields.map(Clone::clone), b"data")), None);
    }
}

#[test]
fn header_without_a_required_field_is_rejected() {
    assert_eq!(parse_header(&record(&[field("op", &[2])], b"")), None);
    assert_eq!(
        parse_header(&record(&[field("op", &[5]), field("size", &[1])], b"")),
        None
    );
    let other = [field("op", &[0x42])];
    assert_eq!(parse_header(&record(&other, b"")), Some(Header::Other(0x42)));
}

#[test]
fn field_longer_than_its_header_is_rejected() {
    let mut bytes = record(&[field("op", &[0x42]), field("more", b"1")], b"");
    bytes[12] += 1; // the length of the second field
    assert_eq!(parse_header(&bytes), None);
}

#[test]
fn header_of_impossible_length_is_not_a_record() {
    assert_eq!(frame(&[0xff; 64]), FrameMatch::No);
    assert_eq!(frame(&[0; 64]), FrameMatch::No);
    assert_eq!(frame(&[9, 0, 0, 0, 1]), FrameMatch::Partial(17));
    assert_eq!(frame(&[9, 0]), FrameMatch::Partial(4));
}

#[test]
fn chunk_info_with_end_before_start_has_no_time() {
    let time_at = |secs: i64| Timestamp::from_nanos(secs * 1_000_000_000);
    let info = ChunkInfo {
        version: 1,
        chunk_at: 0,
        first: time_at(5),
        last: time_at(4),
        count: 0,
    };
    assert_eq!(info.time(), None);
    let time = ChunkInfo { last: time_at(5), ..info }.time().unwrap();
    assert!(time.contains(time_at(5)) && !time.contains(time_at(6)));
}
