//! Tests with handwritten definitions. The expected texts are those of libevents'
//! Python parser (pyulog 1.3.0, profile `dev`) for the same definitions and bytes,
//! except for the choices listed in the documentation of the module.

use logtool_core::{ErrorKind, Value};

use crate::events::{Catalog, Event, RawEvent};

const DEFINITIONS: &str = r#"{ "version": 2, "translation": {}, "components": {
    "1": { "namespace": "one", "supported_protocols": ["x"],
        "enums": { "small_t": { "type": "int8_t", "entries": {
            "-1": { "name": "minus", "description": "Minus one" },
            "2": { "name": "two", "description": "Two" } } } },
        "event_groups": {
            "default": { "events": {
                "1": { "name": "types", "message": "{1} {2} {3} {4} {5} {6} {7} {8}",
                    "arguments": [
                        { "name": "a", "type": "int8_t" }, { "name": "b", "type": "uint8_t" },
                        { "name": "c", "type": "int16_t" }, { "name": "d", "type": "uint16_t" },
                        { "name": "e", "type": "int32_t" }, { "name": "f", "type": "uint32_t" },
                        { "name": "g", "type": "float" }, { "name": "h", "type": "int16_t" } ] },
                "2": { "name": "wide", "message": "{1} {2}", "arguments": [
                        { "name": "a", "type": "int64_t" }, { "name": "b", "type": "uint64_t" } ] },
                "3": { "name": "labels", "message": "{1}, {2}, {3}", "arguments": [
                        { "name": "a", "type": "small_t" }, { "name": "b", "type": "one::small_t" },
                        { "name": "c", "type": "two::bits_t" } ] },
                "4": { "name": "unknown", "message": "{1}: {2} {3:.1m}", "arguments": [
                        { "name": "a", "type": "uint8_t" }, { "name": "b", "type": "three::none_t" },
                        { "name": "c", "type": "float" } ] },
                "16777215": { "name": "last", "message": "The last" },
                "16777216": { "name": "beyond", "message": "No such number" } } },
            "empty": {} } },
    "255": { "namespace": "two",
        "enums": { "bits_t": { "type": "uint16_t", "is_bitfield": true, "separator": ", ",
            "entries": { "1": { "name": "first", "description": "First" },
                "32768": { "name": "last", "description": "Last" } } } },
        "event_groups": { "health": { "events": {
            "1": { "name": "summary", "type": "summary", "message": "Sum" } } } } } } }"#;

fn raw(id: u32, arguments: &[u8]) -> RawEvent<'_> {
    RawEvent { id, sequence: 7, arguments, log_levels: 0x64 }
}

fn message(event: u32, arguments: &[u8]) -> String {
    let catalog = Catalog::from_json(DEFINITIONS.as_bytes()).unwrap();
    catalog.describe(&raw(1 << 24 | event, arguments)).unwrap().message
}

/// Renders an event with three arguments: the float 2.125, the 16-bit number 300, and a
/// label.
fn render(template: &str) -> String {
    let json = serde_json::json!({ "version": 1, "components": { "0": {
        "namespace": "n",
        "enums": { "e_t": { "type": "uint8_t", "entries": {
            "9": { "name": "nine", "description": "Nine <a>{1}</a>" } } } },
        "event_groups": { "g": { "events": { "0": {
            "name": "x", "message": template, "arguments": [
                { "name": "a", "type": "float" }, { "name": "b", "type": "uint16_t" },
                { "name": "c", "type": "e_t" } ] } } } } } } });
    let catalog = Catalog::from_json(json.to_string().as_bytes()).unwrap();
    let bytes = [0x00, 0x00, 0x08, 0x40, 0x2c, 0x01, 9];
    catalog.describe(&raw(0, &bytes)).unwrap().message
}

#[test]
fn event_has_names_levels_and_arguments() {
    let catalog = Catalog::from_json(DEFINITIONS.as_bytes()).unwrap();
    assert_eq!(catalog.len(), 6);
    let event = catalog.describe(&raw(0xff00_0001, &[])).unwrap();
    let Event { namespace, group, name, kind, sequence, .. } = event;
    assert_eq!((namespace, group, name, kind), ("two", "health", "summary", "summary"));
    assert_eq!((sequence, event.level.name().as_ref()), (7, "warning"));
    assert_eq!(event.internal_level.name(), "info");
    assert_eq!((event.message.as_str(), event.description), ("Sum", None));

    let event = catalog.describe(&raw(0x0100_0003, &[2, 0xff, 1, 0])).unwrap();
    let [first, second, third] = &event.arguments[..] else { panic!("{event:?}") };
    assert_eq!((first.name, &first.value), ("a", &Some(Value::Int(2))));
    assert_eq!((second.text.as_str(), second.is_label), ("Minus one", true));
    assert_eq!(third.value, Some(Value::UInt(1)));
}

#[test]
fn unknown_id_is_not_described() {
    let catalog = Catalog::from_json(DEFINITIONS.as_bytes()).unwrap();
    assert_eq!(catalog.describe(&raw(0x01ff_ffff, &[])).unwrap().message, "The last");
    for id in [1, 0x0200_0000, 0x0200_0001, 0x0100_0000, u32::MAX] {
        assert_eq!(catalog.describe(&raw(id, &[])), None);
    }
}

#[test]
fn packed_numbers_of_every_type_are_decoded() {
    let bytes = [
        0xfd, 0xfd, 0xfe, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff,
        0xff, 0xcd, 0xcc, 0xcc, 0x3d, 0x00, 0x80,
    ];
    assert_eq!(message(1, &bytes), "-3 253 -2 65534 2147483647 4294967295 0.1 -32768");
    let bytes = [[0x00, 0, 0, 0, 0, 0, 0, 0x80], [0xff; 8]].concat();
    assert_eq!(message(2, &bytes), "-9223372036854775808 18446744073709551615");
}

#[test]
fn floats_are_formatted_like_python() {
    let float = |value: f32| {
        let mut bytes = vec![0; 14];
        bytes.extend(value.to_le_bytes());
        message(1, &bytes).split(' ').nth(6).unwrap().to_owned()
    };
    // python: [repr(float(str(numpy.float32(x)))) for x in (...)]
    assert_eq!(float(3.0), "3.0");
    assert_eq!(float(-0.0), "-0.0");
    assert_eq!(float(1e-4), "0.0001");
    assert_eq!(float(1.5e-5), "1.5e-05");
    assert_eq!(float(1e15), "1000000000000000.0");
    assert_eq!(float(1e16), "1e+16");
    assert_eq!(float(1e-40), "1e-40");
    assert_eq!(float(f32::NAN), "nan");
    assert_eq!(float(f32::NEG_INFINITY), "-inf");
}

#[test]
fn enumeration_values_and_bits_have_labels() {
    assert_eq!(message(3, &[0xff, 2, 0x01, 0x80]), "Minus one, Two, First, Last");
    assert_eq!(message(3, &[3, 0xfe, 0, 0]), "(unknown: 3), (unknown: -2),");
    assert_eq!(message(3, &[2, 2, 0x03, 0]), "Two, Two, First, (unknown: 3)");
}

#[test]
fn arguments_without_bytes_or_type_have_placeholders() {
    assert_eq!(message(3, &[2]), "Two, (missing), (missing)");
    assert_eq!(message(2, &[0; 15]), "0 (missing)");
    assert_eq!(message(4, &[5, 1, 2, 3, 4, 5]), "5: (unknown type) (missing) m");
}

#[test]
fn placeholders_take_decimals_and_units() {
    assert_eq!(
        render("{1} {1:} {1:.0} {1:.1} {1:.2} {1:.5}"),
        "2.125 2.125 2 2.1 2.12 2.12500"
    );
    assert_eq!(
        render("{1m} {1:.1m_v} {1:m^2} {2m/s} {2:.1C}"),
        "2.125 m 2.1 m 2.125 m^2 300 m/s 300.0 C"
    );
    assert_eq!(render("{3:.1} {3m}"), "Nine <a>{1}</a> Nine <a>{1}</a> m");
    assert_eq!(render("{1:.999999999999}").len(), 2 + 64);
}

#[test]
fn invalid_placeholder_is_unchanged() {
    for text in [
        "{0} {4} {} {x} { 1} {1 } {1.2} {1:.} {1:2} {1km} {-1}",
        "{1",
        "}{",
        "{99999999999999999999999999}",
        "a { b {1 c",
    ] {
        assert_eq!(render(text), text);
    }
    assert_eq!(render("{{2}}"), "{300}");
}

#[test]
fn tags_are_replaced_by_their_text() {
    assert_eq!(render("<a>b {1}</a> <a href=\"u\">c\\</a>"), "b {1} c\\");
    assert_eq!(render("<param>X_Y</param>: {2}"), "X_Y: 300");
    assert_eq!(render("a<b>c</b>d<b x=\"y\">c</b>"), "ad");
    assert_eq!(
        render("<profile name=\"dev\">{2} <param>P</param></profile>."),
        "300 P."
    );
    assert_eq!(render("<profile name=\"normal\">{2}</profile>."), ".");
    assert_eq!(render("<profile name=\"!normal\">x</profile>y"), "xy");
    assert_eq!(render("<profile name=\"!dev\">x</profile>y"), "y");
    assert_eq!(render("<profile>x</profile>y"), "y");
    let nested = "<profile name=\"dev\">1<profile name=\"dev\">2</profile>3</profile>4";
    assert_eq!(render(nested), "1234");
}

#[test]
fn invalid_tag_is_unchanged() {
    for text in [
        "a < b > c",
        "<a>b",
        "<>x</>",
        "<A>x</A>",
        "<a  href=\"u\">x</a>",
        "<a href=u>x</a>",
        "<",
        "a<b",
    ] {
        assert_eq!(render(text), text);
    }
}

#[test]
fn backslash_escapes_next_character() {
    assert_eq!(render(r"\{1\} \<a>x\</a> \\ \é \"), r"{1} <a>x</a> \ é");
    assert_eq!(render(" \n x \t"), "x");
    assert_eq!(render(""), "");
}

#[test]
fn long_texts_are_truncated() {
    let len = render(&"é".repeat(20_000)).len();
    assert_eq!(len, 4 << 10);
    let json = serde_json::json!({ "version": 1, "components": { "0": {
        "namespace": "n",
        "enums": { "e_t": { "type": "uint8_t", "entries": {
            "0": { "name": "", "description": "a".repeat(100_000) } } } },
        "event_groups": { "g": { "events": { "0": {
            "name": "x", "message": "{1}".repeat(5_000),
            "arguments": vec![serde_json::json!({ "name": "a", "type": "e_t" }); 1_000]
        } } } } } } });
    let catalog = Catalog::from_json(json.to_string().as_bytes()).unwrap();
    let event = catalog.describe(&raw(0, &[0; 2_000])).unwrap();
    assert_eq!((event.message.len(), event.arguments.len()), (16 << 10, 25));
}

#[test]
fn joined_labels_are_truncated() {
    let entries: serde_json::Map<String, serde_json::Value> = (0..64)
        .map(|bit| {
            let label = serde_json::json!({ "description": "d".repeat(1_000) });
            ((1_u64 << bit).to_string(), label)
        })
        .collect();
    let json = serde_json::json!({ "version": 1, "components": { "0": {
        "namespace": "n",
        "enums": { "e_t": { "type": "uint64_t", "is_bitfield": true, "entries": entries } },
        "event_groups": { "g": { "events": { "0": {
            "name": "x", "message": "", "arguments": [{ "name": "a", "type": "e_t" }]
        } } } } } } });
    let catalog = Catalog::from_json(json.to_string().as_bytes()).unwrap();
    let event = catalog.describe(&raw(0, &[0xff; 8])).unwrap();
    assert_eq!(event.arguments[0].text.len(), 4 << 10);
}

#[test]
fn unclosed_tags_have_bounded_cost() {
    let start = std::time::Instant::now();
    for open in ["<a>", "<profile name=\"dev\">", "{", "{1"] {
        for _ in 0..100 {
            render(&open.repeat(16_000 / open.len()));
        }
    }
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn invalid_definitions_are_malformed() {
    for json in
        ["", "{", "[]", "{}", "{\"version\":0}", "{\"version\":1,\"components\":[]}"]
    {
        let err = Catalog::from_json(json.as_bytes()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Malformed, "{json}");
    }
    assert!(Catalog::from_json(b"{\"version\":1}").unwrap().is_empty());
    let json =
        r#"{"version":1,"components":{"256":{"namespace":"a"},"x":{"namespace":"b"}}}"#;
    assert!(Catalog::from_json(json.as_bytes()).unwrap().is_empty());
    assert!(Catalog::from_xz(b"not xz").is_err());
}

#[test]
fn definitions_with_changed_bytes_do_not_panic() {
    let bytes: Vec<u8> = (0..25).collect();
    for at in 0..DEFINITIONS.len() {
        for change in [0x01, 0x20, 0x80] {
            let mut json = DEFINITIONS.as_bytes().to_vec();
            json[at] ^= change;
            let Ok(catalog) = Catalog::from_json(&json) else { continue };
            for id in catalog.ids() {
                for len in [0, 3, 25] {
                    assert!(catalog.describe(&raw(id, &bytes[..len])).is_some());
                }
            }
        }
    }
}
