use std::sync::Arc;

use logtool_core::{
    FieldRole, Layout, LayoutField, LayoutKind, Primitive, RecordProperties,
    TrailingBytes,
};

use super::*;

fn field(name: &str, kind: LayoutKind, count: Option<u32>) -> LayoutField {
    let (name, role) = (name.to_owned(), FieldRole::Plain);
    LayoutField { name, kind, count, offset: 0, role }
}

fn number(name: &str, primitive: Primitive, count: Option<u32>) -> LayoutField {
    field(name, LayoutKind::Primitive(primitive), count)
}

fn padding(count: u32) -> LayoutField {
    let field = number("_padding0", Primitive::U8, Some(count));
    LayoutField { role: FieldRole::Hidden, ..field }
}

fn layout(name: &str, fields: Vec<LayoutField>) -> Layout {
    Layout::from_fields(name.to_owned(), fields).unwrap()
}

/// The message is made by hand, from the ROS wiki ("msg") and the specification of ULog.
#[test]
fn message_has_the_encoding_of_ros1() {
    let fields = vec![
        number("speed", Primitive::I16, None),
        number("state", Primitive::Bool, None),
        padding(1),
    ];
    let inner = Arc::new(layout("esc_report", fields));
    let layout = layout(
        "esc_status",
        vec![
            number("timestamp", Primitive::U64, None),
            field("esc", LayoutKind::Nested(inner), Some(2)),
            number("name", Primitive::Char, Some(3)),
            number("gains", Primitive::F32, Some(2)),
            padding(2),
        ],
    );
    let messages = LayoutMessages::new(&layout, "ulog").unwrap();
    assert_eq!(messages.type_name, "ulog/EscStatus");
    let expected = format!(
        "uint64 timestamp\nulog/EscReport[2] esc\nstring name\nfloat32[2] gains\n\
         {}\nMSG: ulog/EscReport\nint16 speed\nbool state\n",
        "=".repeat(80)
    );
    assert_eq!(messages.definition.text(), expected);
    let payload =
        b"\x01\0\0\0\0\0\0\0\x02\0\xff\xee\x03\0\0\xeeab\0\0\0\x80\x3f\0\0\0\x40";
    let expected =
        b"\x01\0\0\0\0\0\0\0\x02\0\x01\x03\0\0\x02\0\0\0ab\0\0\x80\x3f\0\0\0\x40";
    // The padding at the end is complete, partial, or missing.
    for trailing in [&b""[..], b"\xee", b"\xee\xee"] {
        let mut out = vec![9];
        assert!(messages.append_message(&[payload, trailing].concat(), &mut out));
        assert_eq!(out[1..], expected[..]);
    }
    let too_long = [&payload[..], b"\xee\xee\xee"].concat();
    assert!(!messages.append_message(&too_long, &mut Vec::new()));
    for len in 0..payload.len() {
        let mut out = vec![9];
        assert!(!messages.append_message(&payload[..len], &mut out), "{len} bytes");
        assert_eq!(out, [9]);
    }
}

/// The messages can be decoded with their definition.
#[test]
fn definition_has_the_size_of_the_written_messages() {
    let layout = layout(
        "all",
        vec![
            number("a", Primitive::I8, None),
            number("b", Primitive::U64, Some(2)),
            number("c", Primitive::F64, None),
            number("d", Primitive::Bool, Some(3)),
        ],
    );
    let messages = LayoutMessages::new(&layout, "p").unwrap();
    let mut out = Vec::new();
    assert!(messages.append_message(&[1; 28], &mut out));
    assert_eq!(messages.definition.layout().unwrap().size as usize, out.len());
}

#[test]
fn trailing_bytes_are_rejected_unless_the_layout_allows_them() {
    let properties =
        RecordProperties { time_unit: "ns", trailing_bytes: TrailingBytes::Nothing };
    let layout = layout("t", vec![number("x", Primitive::U16, None)])
        .with_record_properties(properties);
    let messages = LayoutMessages::new(&layout, "p").unwrap();
    assert!(messages.append_message(&[1, 2], &mut Vec::new()));
    assert!(!messages.append_message(&[1, 2, 3], &mut Vec::new()));
}

#[test]
fn names_are_made_valid_and_unique() {
    let fields = vec![
        number("1st", Primitive::U8, None),
        number("a-b", Primitive::U8, None),
        number("a b", Primitive::U8, None),
    ];
    let messages = LayoutMessages::new(&layout("3d_fix", fields), "p").unwrap();
    assert_eq!(messages.type_name, "p/x3dFix");
    assert_eq!(messages.definition.text(), "uint8 x1st\nuint8 a_b\nuint8 a_b_x2\n");
}

#[test]
fn strings_of_any_length_are_refused() {
    let layout = layout("t", vec![field("text", LayoutKind::Text, None)]);
    assert!(LayoutMessages::new(&layout, "p").is_err());
}

#[test]
fn arrays_of_values_without_bytes_are_left_out() {
    let many = |name: &str, inner| {
        let kind = LayoutKind::Nested(Arc::new(inner));
        layout(name, vec![field("many", kind, Some(1 << 20))])
    };
    let empty = layout("empty", Vec::new());
    let trillion = LayoutKind::Nested(Arc::new(many("b", many("a", empty))));
    let fields =
        vec![field("no_bytes", trillion, Some(1)), number("x", Primitive::U8, None)];
    let messages = LayoutMessages::new(&layout("t", fields), "p").unwrap();
    assert_eq!(messages.definition.text(), "uint8 x\n");
    let mut out = Vec::new();
    assert!(messages.append_message(&[7], &mut out));
    assert_eq!(out, [7]);
}
