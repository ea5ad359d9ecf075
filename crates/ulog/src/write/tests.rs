//! Tests with expected bytes that were assembled by hand from the specification.

mod append;

use super::*;
use crate::level::Level;

const START: u64 = 0x0102_0304_0506_0708;

/// The header and the flag bits of a log that starts at [`START`].
fn head(compat: u8) -> Vec<u8> {
    let mut bytes = b"\x55\x4C\x6F\x67\x01\x12\x35\x01".to_vec();
    bytes.extend(b"\x08\x07\x06\x05\x04\x03\x02\x01");
    bytes.extend(b"\x28\x00B");
    bytes.push(compat);
    bytes.extend([0; 39]);
    bytes
}

fn written(write: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<()>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), START);
    write(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn kind_of<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn empty_log_has_header_and_flag_bits() {
    assert_eq!(written(|_| Ok(())), head(0));
}

#[test]
fn definitions_match_specification() {
    let bytes = written(|log| {
        log.format("a", "uint64_t timestamp;float[3] x;")?;
        log.info_text("sys", "PX4")?;
        log.info_u32("rel", 0x010e_04ff)?;
        log.info_i32("utc", -2)?;
        log.parameter("N", 7)?;
        log.parameter("F", 0.5)
    });
    let mut expected = head(0);
    expected.extend(b"\x20\x00Fa:uint64_t timestamp;float[3] x;");
    expected.extend(b"\x0F\x00I\x0Bchar[3] sysPX4");
    expected.extend(b"\x11\x00I\x0Cuint32_t rel\xFF\x04\x0E\x01");
    expected.extend(b"\x10\x00I\x0Bint32_t utc\xFE\xFF\xFF\xFF");
    expected.extend(b"\x0E\x00P\x09int32_t N\x07\x00\x00\x00");
    expected.extend(b"\x0C\x00P\x07float F\x00\x00\x00\x3F");
    assert_eq!(bytes, expected);
}

#[test]
fn default_parameter_sets_compatible_flag() {
    let bytes = written(|log| {
        log.default_parameter("N", 1, DefaultScope::System)?;
        log.default_parameter("N", 2, DefaultScope::Configuration)?;
        log.default_parameter("N", 3, DefaultScope::Both)
    });
    let mut expected = head(1);
    expected.extend(b"\x0F\x00Q\x01\x09int32_t N\x01\x00\x00\x00");
    expected.extend(b"\x0F\x00Q\x02\x09int32_t N\x02\x00\x00\x00");
    expected.extend(b"\x0F\x00Q\x03\x09int32_t N\x03\x00\x00\x00");
    assert_eq!(bytes, expected);
}

#[test]
fn data_messages_match_specification() {
    let bytes = written(|log| {
        log.format("t", "uint64_t timestamp;uint8_t v;")?;
        let first = log.subscribe(Subscription::new("t"))?;
        let second = log.subscribe(Subscription::new("t").instance(5))?;
        log.data(second, 0x10, b"\x10\0\0\0\0\0\0\0\x2A")?;
        log.data(first, 0x11, b"\x11\0\0\0\0\0\0\0\x2B")?;
        log.string(Level::WARNING, 0x12, "oh")?;
        log.tagged_string(Level::new(0), 0x0102, 0x13, "no")?;
        log.dropout(300)?;
        log.parameter_change("N", 7)?;
        log.sync()
    });
    let sync = b"\x08\x00S\x2F\x73\x13\x20\x25\x0C\xBB\x12";
    let mut expected = head(0);
    expected.extend(b"\x1F\x00Ft:uint64_t timestamp;uint8_t v;");
    expected.extend(b"\x04\x00A\x00\x00\x00t\x04\x00A\x05\x01\x00t");
    expected.extend(sync);
    expected.extend(b"\x0B\x00D\x01\x00\x10\0\0\0\0\0\0\0\x2A");
    expected.extend(b"\x0B\x00D\x00\x00\x11\0\0\0\0\0\0\0\x2B");
    expected.extend(b"\x0B\x00L4\x12\0\0\0\0\0\0\0oh");
    expected.extend(b"\x0D\x00C0\x02\x01\x13\0\0\0\0\0\0\0no");
    expected.extend(b"\x02\x00O\x2C\x01");
    expected.extend(b"\x0E\x00P\x09int32_t N\x07\x00\x00\x00");
    expected.extend(sync);
    assert_eq!(bytes, expected);
}

#[test]
fn parameter_change_before_data_is_rejected() {
    let mut log = Writer::new(Vec::new(), 0);
    log.format("t", "uint8_t v;").unwrap();
    assert_eq!(kind_of(log.parameter_change("N", 7)), ErrorKind::Unsupported);
    log.dropout(1).unwrap();
    assert_eq!(kind_of(log.parameter_change("N", 7)), ErrorKind::Unsupported);
    log.subscribe(Subscription::new("t")).unwrap();
    log.parameter_change("N", 7).unwrap();
}

#[test]
fn long_text_is_split_between_characters() {
    // 1,023 letters, followed by a 2-byte character across the end of the first 1,024
    // bytes.
    let text = format!("{}\u{e9}!", "x".repeat(1_023));
    let bytes = written(|log| log.info_multiple_text("boot", &text));
    let mut expected = head(0);
    expected.extend(b"\x10\x04M\x00\x0Fchar[1023] boot");
    expected.extend("x".repeat(1_023).bytes());
    expected.extend(b"\x11\x00M\x01\x0Cchar[3] boot\xC3\xA9!");
    assert_eq!(bytes, expected);
}

#[test]
fn long_bytes_are_split_anywhere_and_empty_value_is_one_part() {
    let bytes = written(|log| {
        log.info_multiple_bytes("b", &[0xC3; 1_025])?;
        log.info_multiple_bytes("b", &[])
    });
    let mut expected = head(0);
    expected.extend(b"\x11\x04M\x00\x0Fuint8_t[1024] b");
    expected.extend([0xC3; 1_024]);
    expected.extend(b"\x0F\x00M\x01\x0Cuint8_t[1] b\xC3");
    expected.extend(b"\x0E\x00M\x00\x0Cuint8_t[0] b");
    assert_eq!(bytes, expected);
}

#[test]
fn sync_messages_are_written_at_most_twice_per_second() {
    let bytes = written(|log| {
        for time in (0..2_000_000).step_by(10_000) {
            log.string(Level::DEBUG, time, "")?;
        }
        Ok(())
    });
    let magic = [0x2F, 0x73, 0x13, 0x20, 0x25, 0x0C, 0xBB, 0x12];
    assert_eq!(bytes.windows(8).filter(|window| *window == magic).count(), 4);
}

#[test]
fn record_before_minimum_interval_is_skipped() {
    let mut log = Writer::new(Vec::new(), 0);
    log.format("t", "uint8_t v;").unwrap();
    let topic = Subscription::new("t").at_most_every_micros(100);
    let topic = log.subscribe(topic).unwrap();
    let times = [1_000, 1_099, 1_100, 1_150, 1_199, 1_200, 900, 999];
    let written = times.map(|time| log.data(topic, time, &[0]).unwrap());
    assert_eq!(written, [true, false, true, false, false, true, true, false]);
}

#[test]
fn optional_topic_is_subscribed_with_first_record() {
    let bytes = written(|log| {
        log.format("t", "uint8_t v;")?;
        let rare = log.subscribe(Subscription::new("t").omit_if_empty())?;
        log.subscribe(Subscription::new("t").instance(1).omit_if_empty())?;
        log.format("u", "uint8_t v;")?;
        log.subscribe(Subscription::new("u"))?;
        log.data(rare, 0, &[7])?;
        Ok(())
    });
    let mut expected = head(0);
    expected.extend(b"\x0C\x00Ft:uint8_t v;\x0C\x00Fu:uint8_t v;");
    expected.extend(b"\x04\x00A\x00\x00\x00u\x04\x00A\x00\x01\x00t");
    expected.extend(b"\x08\x00S\x2F\x73\x13\x20\x25\x0C\xBB\x12");
    expected.extend(b"\x03\x00D\x01\x00\x07");
    assert_eq!(bytes, expected);
}

#[test]
fn payload_may_omit_only_trailing_padding() {
    let mut log = Writer::new(Vec::new(), 0);
    // 1 + 3 + 2 × (4 + 1) = 14 bytes, and 2 + 1 of padding.
    log.format(
        "t",
        "bool a;uint8_t[3] _padding0;in[2] b;uint8_t[2] _padding1;bool _padding2;",
    )
    .unwrap();
    log.format("in", "float x;uint8_t _padding0;").unwrap();
    let topic = log.subscribe(Subscription::new("t")).unwrap();
    for len in 0..30 {
        let result = log.data(topic, 0, &vec![0; len]);
        if (14..=17).contains(&len) {
            assert!(result.unwrap());
        } else {
            assert_eq!(kind_of(result), ErrorKind::Malformed);
        }
    }
}

#[test]
fn topic_of_undefined_or_recursive_type_is_rejected() {
    let mut log = Writer::new(Vec::new(), 0);
    log.format("a", "b x;").unwrap();
    log.format("b", "a[0] x;").unwrap();
    log.format("c", "missing x;").unwrap();
    log.format("long", "uint8_t[65534] x;").unwrap();
    log.format("longest", "uint8_t[65533] x;").unwrap();
    log.format("huge", "huge2[4294967295] x;").unwrap();
    log.format("huge2", "double[9999] x;").unwrap();
    let mut kind = |name| kind_of(log.subscribe(Subscription::new(name)));
    for name in ["a", "c", "missing", "long", "huge"] {
        assert_eq!(kind(name), ErrorKind::Malformed, "{name}");
    }
    let longest = log.subscribe(Subscription::new("longest")).unwrap();
    assert!(log.data(longest, 0, &[0; 65_533]).unwrap());
    let result = log.subscribe(Subscription::new("longest"));
    assert_eq!(kind_of(result), ErrorKind::Unsupported);
}

#[test]
fn layout_of_shared_type_is_computed_once() {
    let mut log = Writer::new(Vec::new(), 0);
    for depth in 0..15 {
        let fields = format!("t{}[0] x;", depth + 1).repeat(50);
        log.format(&format!("t{depth}"), &fields).unwrap();
    }
    log.format("t15", "uint8_t v;").unwrap();
    log.subscribe(Subscription::new("t0")).unwrap();
}

#[test]
fn invalid_format_is_rejected() {
    let mut log = Writer::new(Vec::new(), 0);
    log.format("twice", "uint8_t v;").unwrap();
    for (name, fields) in [
        ("", "uint8_t v;"),
        ("a:b", "uint8_t v;"),
        ("float", "uint8_t v;"),
        ("twice", "uint8_t v;"),
        ("none", ""),
        ("none", ";"),
        ("none", "uint8_t"),
        ("none", "uint8_t ;"),
        ("none", "uint8_t[ v;"),
        ("none", "uint8_t[-1] v;"),
        ("none", "uint8_t[4294967296] v;"),
        ("none", "[3] v;"),
        ("none", "uint8_t v;;"),
        ("none", "uint8_t v w;"),
    ] {
        let result = log.format(name, fields);
        assert_eq!(kind_of(result), ErrorKind::Malformed, "{name:?} {fields:?}");
    }
    assert_eq!(log.finish().unwrap().len(), 16 + 43 + 3 + 16);
}

#[test]
fn message_that_is_too_long_is_not_written() {
    let bytes = written(|log| {
        let (key, text) = ("k".repeat(250), "x".repeat(65_536));
        assert_eq!(kind_of(log.info_text(&key, "")), ErrorKind::Limit);
        assert_eq!(kind_of(log.info_text("t", &text)), ErrorKind::Limit);
        assert_eq!(kind_of(log.parameter(&key, 1)), ErrorKind::Limit);
        assert_eq!(kind_of(log.format("t", &text)), ErrorKind::Limit);
        assert_eq!(kind_of(log.string(Level::DEBUG, 0, &text)), ErrorKind::Limit);
        assert_eq!(kind_of(log.message(b'x', text.as_bytes())), ErrorKind::Limit);
        Ok(())
    });
    assert_eq!(bytes, head(0));
}

#[test]
fn inconsistent_values_are_rejected() {
    let mut log = Writer::new(Vec::new(), 0);
    let info = log.info("uint32_t n", &[1, 2, 3]);
    assert_eq!(kind_of(info), ErrorKind::Malformed);
    assert_eq!(kind_of(log.info("uint32_t", &[0; 4])), ErrorKind::Malformed);
    assert_eq!(kind_of(log.info("thing x", &[0; 4])), ErrorKind::Malformed);
    assert_eq!(kind_of(log.parameter("", 1)), ErrorKind::Malformed);
    let line = log.string(Level::new(8), 0, "");
    assert_eq!(kind_of(line), ErrorKind::Unsupported);
    let mut other = Writer::new(Vec::new(), 0);
    let handle = other.topic_by_id(3);
    assert_eq!(kind_of(log.data(handle, 0, &[])), ErrorKind::NoSuch);
}

#[test]
fn definition_after_definitions_section_is_rejected() {
    let mut log = Writer::new(Vec::new(), 0);
    log.string(Level::DEBUG, 0, "").unwrap();
    let unsupported = ErrorKind::Unsupported;
    assert_eq!(kind_of(log.format("t", "uint8_t v;")), unsupported);
    assert_eq!(kind_of(log.parameter("N", 1)), unsupported);
    let default = log.default_parameter("N", 1, DefaultScope::Both);
    assert_eq!(kind_of(default), unsupported);
    log.info_text("late", "information").unwrap();
}

#[test]
fn raw_messages_are_written_to_their_section() {
    let bytes = written(|log| {
        log.message(b'F', b"t:uint8_t v;")?;
        log.message(b'z', b"?")?;
        log.message(b'Q', b"")?;
        log.message(b'A', b"\x00\x09\x00t")?;
        log.message(b'F', b"late")?;
        let topic = log.topic_by_id(9);
        log.data(topic, 0, &[3])?;
        assert_eq!(kind_of(log.message(b'B', &[0; 40])), ErrorKind::Unsupported);
        Ok(())
    });
    let mut expected = head(1);
    expected.extend(b"\x0C\x00Ft:uint8_t v;\x01\x00z?\x00\x00Q");
    expected.extend(b"\x04\x00A\x00\x09\x00t\x04\x00Flate");
    expected.extend(b"\x08\x00S\x2F\x73\x13\x20\x25\x0C\xBB\x12");
    expected.extend(b"\x03\x00D\x09\x00\x03");
    assert_eq!(bytes, expected);
}
