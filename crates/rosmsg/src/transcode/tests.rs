//! Conversion of messages in both directions.

mod random;

use std::sync::Arc;

use super::*;
use crate::{Definition, compile};

/// Parses hexadecimal digits; other characters are ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn from_ros1_text(text: &str) -> Transcoder {
    Transcoder::for_ros1_layout(&compile("pkg/All", text).unwrap()).unwrap()
}

fn from_ros2_text(text: &str) -> Transcoder {
    let definition = Definition::parse_ros2("pkg/msg/All", text).unwrap();
    Transcoder::for_ros2_layout(&definition.layout().unwrap()).unwrap()
}

fn to_cdr(transcoder: &Transcoder, payload: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0xee; 3]; // existing bytes do not affect the alignment
    let matches = transcoder.to_cdr(payload, &mut out);
    assert_eq!(out[..3], [0xee; 3]);
    assert!(matches || out.len() == 3);
    matches.then(|| out.split_off(3))
}

fn from_cdr(transcoder: &Transcoder, payload: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0xee; 3];
    let matches = transcoder.from_cdr(payload, &mut out).is_some();
    assert_eq!(out[..3], [0xee; 3]);
    assert!(matches || out.len() == 3);
    matches.then(|| out.split_off(3))
}

/// Returns the definition of a type with all kinds of fields.
fn definition_of_all_kinds() -> String {
    let sep = "=".repeat(80);
    format!(
        "Header header\nuint8 a\nfloat64 b\nstring[] names\nfloat64[] empty\n\
         uint32 after\nInner[] inners\ntime[2] times\nduration d\nchar c\n\
         bool[3] flags\nuint8[] blob\nNothing nothing\nint16 last\n\
         {sep}\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n\
         {sep}\nMSG: pkg/Inner\nint8 x\nint64 y\n{sep}\nMSG: pkg/Nothing\n"
    )
}

/// A message of that type, encoded by the Python package rosbags 0.11.9: with `serialize_ros1`, and
/// with `serialize_cdr` without `seq`, in both byte orders.
const ROS1: &str = "070000000a00000014000000030000006d617005000000000000f83f0200000000\
    00000002000000686900000000efbeadde02000000fffeffffffffffffff030400000000000000010000\
    00020000000300000004000000ffffffff05000000410100010300000078797af7ff";
const LITTLE: &str = "000100000a00000014000000040000006d6170000500000000000000000000000000\
    f83f020000000100000000000000030000006869000000000000efbeadde02000000ff00000000000000\
    feffffffffffffff03000000000000000400000000000000010000000200000003000000040000\
    00ffffffff05000000410100010300000078797a00f7ff";
const BIG: &str = "000000000000000a00000014000000046d61700005000000000000003ff8000000000000\
    000000020000000100000000000000036869000000000000deadbeef00000002ff00000000000000ffff\
    fffffffffffe03000000000000000000000000000004000000010000000200000003000000\
    04ffffffff00000005410100010000000378797a00fff7";

#[test]
fn message_is_converted_like_in_rosbags() {
    let transcoder = from_ros1_text(&definition_of_all_kinds());
    assert_eq!(to_cdr(&transcoder, &bytes(ROS1)).unwrap(), bytes(LITTLE));
}

#[test]
fn cdr_of_both_byte_orders_becomes_ros1_with_a_zero_seq() {
    let transcoder = from_ros1_text(&definition_of_all_kinds());
    let mut expected = bytes(ROS1);
    expected[0] = 0;
    assert_eq!(from_cdr(&transcoder, &bytes(LITTLE)).unwrap(), expected);
    assert_eq!(from_cdr(&transcoder, &bytes(BIG)).unwrap(), expected);
    // The definition of the type in ROS 2 has no `seq`.
    let text = Definition::parse("pkg/All", &definition_of_all_kinds())
        .unwrap()
        .ros2_text()
        .unwrap();
    assert_eq!(from_cdr(&from_ros2_text(&text), &bytes(BIG)).unwrap(), expected[4..]);
}

#[test]
fn times_are_normalized_as_in_ros2() {
    // builtin_interfaces/Duration: int32 sec, uint32 nanosec in [0, 1e9).
    let transcoder = from_ros1_text("duration d\ntime t");
    let message = |duration: [i32; 2], time: [u32; 2]| {
        let [duration_secs, duration_nanos] = duration.map(i32::to_le_bytes);
        let [secs, nanos] = time.map(u32::to_le_bytes);
        [duration_secs, duration_nanos, secs, nanos].concat()
    };
    for (in_ros1, in_ros2) in [
        (([-1, -5], [1, 2]), ([-2, 999_999_995], [1, 2])),
        (([0, -1], [1, 1_000_000_000]), ([-1, 999_999_999], [2, 0])),
        (([7, -1], [0x7fff_ffff, 9]), ([6, 999_999_999], [0x7fff_ffff, 9])),
    ] {
        let input = message(in_ros1.0, in_ros1.1);
        let expected = message(in_ros2.0, in_ros2.1);
        assert_eq!(to_cdr(&transcoder, &input).unwrap()[4..], expected);
    }
    assert_eq!(transcoder.times_after_2038(), 0);
    let late = message([0, 0], [0x8000_0000, 7]);
    assert_eq!(to_cdr(&transcoder, &late).unwrap()[4..], late);
    assert_eq!(transcoder.times_after_2038(), 1);
}

#[test]
fn truncated_messages_and_trailing_bytes_in_ros1_are_rejected() {
    let transcoder = from_ros1_text(&definition_of_all_kinds());
    let (ros1, cdr) = (bytes(ROS1), bytes(LITTLE));
    for len in 0..ros1.len() {
        assert_eq!(to_cdr(&transcoder, &ros1[..len]), None);
    }
    assert_eq!(to_cdr(&transcoder, &[&ros1[..], &[0]].concat()), None);
    for len in 0..cdr.len() {
        assert_eq!(from_cdr(&transcoder, &cdr[..len]), None);
    }
}

#[test]
fn bytes_after_the_last_field_are_counted_except_padding() {
    let transcoder = from_ros2_text("int32 x");
    let extra_bytes = |trailing: &[u8]| {
        let (payload, mut out) =
            ([&bytes("00010000 05000000"), trailing].concat(), vec![]);
        let remainder = transcoder.from_cdr(&payload, &mut out).unwrap();
        assert_eq!(out, [5, 0, 0, 0], "the field of the layout is read");
        remainder.extra_bytes
    };
    // Writers pad to 4 bytes, or to 8 with zeros.
    for len in 0..8 {
        assert_eq!(extra_bytes(&vec![0; len]), 0, "{len} zeros");
        assert_eq!(extra_bytes(&vec![0xab; len]), if len < 4 { 0 } else { len });
    }
    for len in [8, 12, 1000] {
        assert_eq!(
            (extra_bytes(&vec![0; len]), extra_bytes(&vec![0xab; len])),
            (len, len)
        );
    }
}

#[test]
fn version_2_aligns_to_4_bytes_and_has_lengths_except_for_numbers() {
    // Made by hand from DDS-XTypes 1.3, 7.4.3.5: lists of strings and of structures begin with a
    // length, and lists of numbers do not.
    let transcoder = from_ros2_text("uint8 a\nfloat64 b\nfloat64[] c\nstring[] d");
    let cdr = "00070000 01000000 000000000000f03f 01000000 0000000000000040\
               0c000000 01000000 03000000 6f6b00";
    let expected =
        "01 000000000000f03f 01000000 0000000000000040 01000000 02000000 6f6b";
    assert_eq!(from_cdr(&transcoder, &bytes(cdr)).unwrap(), bytes(expected));
    let big = "00060000 01000000 3ff0000000000000 00000001 4000000000000000\
               0000000c 00000001 00000003 6f6b00";
    assert_eq!(from_cdr(&transcoder, &bytes(big)).unwrap(), bytes(expected));
}

/// DDS-XTypes 1.3, 7.4.3.4: PLAIN_CDR2 is `00 11`, and numbers of 8 bytes are aligned to 4.
#[test]
fn both_identifiers_of_version_2_are_the_same_encoding() {
    let transcoder = from_ros2_text("int32 x\nint64 y\nstring s");
    let fields = "05000000 0600000000000000 03000000 686900";
    let expected = bytes("05000000 0600000000000000 02000000 6869");
    for identifier in ["0007", "0011"] {
        let message = bytes(&format!("{identifier} 0000 {fields}"));
        assert_eq!(from_cdr(&transcoder, &message).unwrap(), expected, "{identifier}");
    }
}

#[test]
fn other_encapsulations_are_rejected() {
    let transcoder = from_ros2_text("uint8 a");
    for (encapsulation, is_supported) in [
        ([0, 0], true),
        ([0, 1], true),
        ([0, 2], false), // parameter lists
        ([0, 3], false),
        ([0, 6], true),
        ([0, 7], true),
        ([0, 9], false), // delimited
        ([0, 16], true),
        ([0, 17], true),
        ([0, 19], false),
        ([0, 21], false),
        ([1, 1], false),
    ] {
        let payload = [&encapsulation[..], &[0, 0, 5]].concat();
        let expected = is_supported.then(|| vec![5]);
        assert_eq!(from_cdr(&transcoder, &payload), expected, "{encapsulation:?}");
    }
}

#[test]
fn string_without_its_nul_is_rejected_unless_it_is_empty() {
    let transcoder = from_ros2_text("string s");
    let read = |hex: &str| from_cdr(&transcoder, &bytes(hex));
    assert_eq!(read("00010000 00000000"), Some(bytes("00000000")));
    assert_eq!(read("00010000 01000000 00"), Some(bytes("00000000")));
    assert_eq!(read("00010000 02000000 6100"), Some(bytes("01000000 61")));
    assert_eq!(read("00010000 02000000 6162"), None);
    assert_eq!(read("00010000 ffffffff 6100"), None);
}

#[test]
fn message_without_fields_is_a_byte_in_cdr() {
    let transcoder = from_ros1_text("");
    assert_eq!(to_cdr(&transcoder, &[]).unwrap(), [0, 1, 0, 0, 0]);
    assert_eq!(from_cdr(&transcoder, &[0, 1, 0, 0, 0]), Some(vec![]));
    assert_eq!(from_cdr(&transcoder, &[0, 1, 0, 0]), None);
}

#[test]
fn too_large_counts_cost_neither_memory_nor_time() {
    let sep = "=".repeat(80);
    let nothing = format!("{sep}\nMSG: pkg/Nothing\n");
    let no_bytes = format!("{sep}\nMSG: pkg/NoBytes\nfloat64[0] none\n");
    let header = format!(
        "{sep}\nMSG: std_msgs/Header\nuint32 seq\nfloat64[0] none\n{sep}\nMSG: a/B\nint8 x\n"
    );
    for text in [
        "float64[] x".to_owned(),
        "string[] x".to_owned(),
        format!("Nothing[] x\n{nothing}"),
        format!("Header[] x\n{header}"),
        format!("Nothing[1000000] x\n{nothing}"),
    ] {
        let transcoder = from_ros1_text(&text);
        let mut out = Vec::new();
        let counts = [0xff; 12];
        assert!(!transcoder.to_cdr(&counts, &mut out), "{text}");
        let payload = [&[0, 1, 0, 0], &counts[..]].concat();
        assert_eq!(transcoder.from_cdr(&payload, &mut out), None);
        assert!(out.capacity() < 5 << 20, "{text}: {}", out.capacity());
    }
    // Elements without bytes are not iterated.
    let transcoder = from_ros1_text(&format!("NoBytes[] x\n{no_bytes}"));
    assert_eq!(to_cdr(&transcoder, &[0xff; 4]), Some(bytes("00010000 ffffffff")));
    assert_eq!(from_cdr(&transcoder, &bytes("00010000 ffffffff")), Some(vec![0xff; 4]));
}

#[test]
fn type_with_too_many_parts_is_refused() {
    let sep = "=".repeat(80);
    let mut text = "T0 a\nT0 b\n".to_owned();
    for depth in 0..40 {
        let next = depth + 1;
        text.push_str(&format!("{sep}\nMSG: pkg/T{depth}\nT{next} a\nT{next} b\n"));
    }
    text.push_str(&format!("{sep}\nMSG: pkg/T40\n"));
    let layout = compile("pkg/All", &text).unwrap();
    let err = Transcoder::for_ros1_layout(&layout).unwrap_err();
    assert_eq!(err.kind(), logtool_core::ErrorKind::Limit);
}

#[test]
fn adjacent_numbers_of_one_size_are_one_step() {
    let text = "float64[3] a\nfloat64 b\nuint32 t\nint32 d\nfloat32 c";
    let layout: Arc<Layout> = compile("pkg/All", text).unwrap();
    let program = Program::compile(&layout, Conversion::Ros1).unwrap();
    assert_eq!(program.steps.len(), 2, "{program:?}");
}

/// In ROS 1, the seconds of a time are unsigned, and the nanoseconds of a duration are signed.
#[test]
fn times_that_ros1_cannot_represent_are_counted() {
    let transcoder = from_ros1_text("time t\nduration d\nduration[] more\n");
    let unrepresentable = |hex: &str| {
        let remainder = transcoder.from_cdr(&bytes(hex), &mut Vec::new())?;
        Some(remainder.unrepresentable_times)
    };
    let zero = "00000000";
    let head = "00010000"; // the encapsulation
    for (text, count) in [
        (format!("{head} ffffff7f ffc99a3b ffffffff ffc99a3b {zero}"), 0),
        (format!("{head} ffffffff 00000000 {zero} {zero} {zero}"), 1),
        (format!("{head} {zero} {zero} {zero} 00000080 {zero}"), 1),
        (format!("{head} 00000080 {zero} {zero} ffffffff 01000000 {zero} 000000ff"), 3),
    ] {
        assert_eq!(unrepresentable(&text), Some(count), "{text}");
    }
    // Big-endian.
    let big = "00000000 ffffffff 00000000 00000000 00000000 00000000";
    assert_eq!(unrepresentable(big), Some(1));
}

/// The messages are made by hand from the definitions of `rosgraph_msgs/Log` (ROS Noetic) and
/// `rcl_interfaces/msg/Log` (ROS 2 Humble).
#[test]
fn log_messages_have_other_fields_and_levels_in_ros2() {
    let transcoder = Transcoder::for_log_messages();
    let ros1 = |level: &str, frame: &str, topics: &str| {
        bytes(&format!(
            "07000000 05000000 06000000 {frame} {level} 02000000 2f6e 01000000 6d \
             00000000 01000000 67 2a000000 {topics}"
        ))
    };
    for (level, in_ros2) in [
        ("01", "0a"),
        ("02", "14"),
        ("04", "1e"),
        ("08", "28"),
        ("10", "32"),
        ("07", "07"),
    ] {
        let cdr = bytes(&format!(
            "00010000 05000000 06000000 {in_ros2} 000000 03000000 2f6e00 00 02000000 6d00 \
             0000 01000000 00 000000 02000000 6700 0000 2a000000"
        ));
        let full = ros1(level, "01000000 66", "01000000 02000000 2f74");
        assert_eq!(to_cdr(&transcoder, &full).unwrap(), cdr, "{level}");
        let back = from_cdr(&transcoder, &cdr).unwrap();
        // Without the sequence number, the frame and the topics.
        let mut expected = ros1(level, "00000000", "00000000");
        expected[..4].fill(0);
        assert_eq!(back, expected, "{level}");
        for len in 0..full.len() {
            assert_eq!(to_cdr(&transcoder, &full[..len]), None);
        }
    }
}
