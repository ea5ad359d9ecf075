//! Tests that definitions are interpreted as in ROS.

use logtool_core::{
    Block, Columns, Decoder as _, LayoutDecoder, LayoutKind, Primitive, Timestamp,
    TopicId, View, conformance,
};
use serde_json::Value;

use super::*;

/// Returns the definitions in the ROS packages of Debian: the name of the type, its MD5 sum in ROS,
/// and the text.
pub(super) fn debian() -> Vec<(String, String, String)> {
    let definitions = "rosbag/msgdefs/ros1_debian_msgdefs.jsonl";
    let Some(bytes) = conformance::sample(definitions) else { return vec![] };
    let text = str::from_utf8(&bytes).unwrap();
    let string = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let values = text.lines().map(|line| serde_json::from_str(line).unwrap());
    values
        .map(|v| (string(&v, "type"), string(&v, "md5"), string(&v, "text")))
        .collect()
}

#[test]
fn every_debian_definition_has_its_ros_sum() {
    for (type_name, sum, text) in debian() {
        assert_eq!(md5sum(&type_name, &text).unwrap(), sum, "{type_name}");
        let layout = compile(&type_name, &text).unwrap();
        assert_eq!(layout.name, type_name);
        LayoutDecoder::new(&layout, &Columns::default()).unwrap();
        // The text without comments has the same sum.
        let copy = Definition::parse(&type_name, &text).unwrap().text();
        assert_eq!(md5sum(&type_name, &copy).unwrap(), sum, "{type_name}");
        assert_eq!(compile(&type_name, &copy).unwrap(), layout);
    }
}

#[test]
fn common_types_are_found_by_their_sum() {
    let mut found_count = 0;
    for (type_name, sum, text) in debian() {
        let Some(definition) = Definition::by_md5sum(&type_name, &sum) else {
            assert!(
                ["GetMap", "LookupT", "roscpp"].iter().any(|t| type_name.contains(t))
            );
            continue;
        };
        assert_eq!(definition.md5sum().unwrap(), sum);
        assert_eq!(definition.layout().unwrap(), compile(&type_name, &text).unwrap());
        found_count += 1;
    }
    // Empty action types are among them: they have the sum of std_msgs/Empty. Without the sample
    // files there are no definitions.
    assert!(found_count >= 114 || found_count == 0);
    // The sum of sensor_msgs/Imu, in upper case.
    let imu = Definition::by_md5sum("my_msgs/Imu", "6A62C6DAAE103F4FF57A132D6F95CEC2")
        .unwrap();
    assert_eq!(imu.layout().unwrap().name, "my_msgs/Imu");
    assert_eq!(Definition::by_md5sum("a/B", "dddddddddddddddddddddddddddddddd"), None);
}

/// The definitions are those of the test bags `def_*.bag`, whose generator computed the sums.
#[test]
fn anomalous_definitions_have_their_sums() {
    let sep = "=".repeat(80);
    let cases = [
        ("ee3da94ff25d40069c9fb89eb62b66fd", format!(
            "B b\nB c\n{sep}\nMSG: pkg/B\nint32 x\n{sep}\nMSG: pkg/B\nint32 x\n")),
        ("516af97bfd6ed14bd5578f6e5fcb3812", format!(
            "int32 x\nHeader h\n{sep}\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n")),
        ("f6bd8713f7c7d84463700f0626e3b07a",
            "string A=#not a comment\nstring B= \"x # y\"  \nint32 C=5 # c\nuint8  D = 16\n\
             float32 E=1e3\nbool F=True\nint64 G=-9223372036854775808\nstring EMPTY=\n\
             int32[3] arr\nstring[] names\nbyte b\nchar c\nduration d\ntime t\n".to_owned()),
        ("d41d8cd98f00b204e9800998ecf8427e", String::new()),
    ];
    for (sum, text) in cases {
        assert_eq!(md5sum("pkg/A", &text).unwrap(), sum, "{text}");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(md5sum("pkg/A", &crlf).unwrap(), sum, "{crlf}");
    }
}

/// Returns the name, the kind and the number of elements of each field.
fn kinds(text: &str) -> Vec<(String, LayoutKind, Option<u32>)> {
    let layout = compile("pkg/A", text).unwrap();
    layout.fields.iter().map(|f| (f.name.clone(), f.kind.clone(), f.count)).collect()
}

fn list(kind: LayoutKind) -> LayoutKind {
    LayoutKind::List(kind.into())
}

#[test]
fn built_in_types_have_their_layout_kinds() {
    use LayoutKind::Primitive as Number;

    let text = "byte b\nchar c\nbyte[] bs\nchar[] cs\nuint8[] us\nuint8[4] u4\nbool[] t\n\
                string[] s\nstring[2] s2\ntime[] ts\nduration d\nint32[<=3] i\n\
                string<=10 n\nstring<=10[<=5] m";
    let expected = [
        ("b", Number(Primitive::I8), None),
        ("c", Number(Primitive::U8), None),
        ("bs", list(Number(Primitive::I8)), None),
        ("cs", LayoutKind::Bytes, None),
        ("us", LayoutKind::Bytes, None),
        ("u4", Number(Primitive::U8), Some(4)),
        ("t", list(Number(Primitive::Bool)), None),
        ("s", list(LayoutKind::Text), None),
        ("s2", LayoutKind::Text, Some(2)),
        ("ts", list(LayoutKind::Timestamp), None),
        ("d", LayoutKind::Duration, None),
        ("i", list(Number(Primitive::I32)), None),
        ("n", LayoutKind::Text, None),
        ("m", list(LayoutKind::Text), None),
    ];
    let expected = expected.map(|(name, kind, count)| (name.to_owned(), kind, count));
    assert_eq!(kinds(text), expected);
}

#[test]
fn tabs_short_separators_and_constants_of_all_kinds_are_read() {
    let text = "int32\t\tx\t# c\n\tstring   name\nuint8 H=0xff\nstring S=a=b # c\n\
                ==\nMSG: pkg/Unused\nint8 y";
    assert_eq!(kinds(text).len(), 2);
    let definition = Definition::parse("pkg/A", text).unwrap();
    let values: Vec<_> =
        definition.types[0].constants.iter().map(|c| c.value.as_str()).collect();
    assert_eq!(values, ["0xff", "a=b # c"]);
}

#[test]
fn type_name_is_resolved_in_its_package_before_other_packages() {
    let text = "P a\nb/P b\nb/Q q\nHeader h\nR r\n=====\nMSG: pkg/P\nint8 x\n=====\n\
                MSG: b/P\nint16 x\n=====\nMSG: b/Q\nP p\n=====\nMSG: roslib/Header\n\
                int64 x\n=====\nMSG: c/R\nint32 x";
    let sizes =
        compile("pkg/A", text).unwrap().fields.iter().map(|f| f.size()).collect();
    let sizes: Vec<Option<u32>> = sizes;
    assert_eq!(sizes, [1, 2, 2, 8, 4].map(Some));
}

#[test]
fn only_a_single_header_is_always_of_std_msgs() {
    let text = "Header[] hs\nmy/B b\n===\nMSG: my/Header\nuint8 q\n===\nMSG: my/B\n\
                Header header\n===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\n\
                string frame_id";
    // The sum that genmsg 0.6.0 computes, which resolves `hs` to a list of my/Header.
    assert_eq!(md5sum("my/A", text).unwrap(), "c9037f479933b654bf718292fb23696e");
    let text = "Header[2] hs\n===\nMSG: std_msgs/Header\nuint32 x\n===\n\
                MSG: b/Header\nint8 x";
    assert_eq!(compile("pkg/A", text).unwrap().fields[0].size(), Some(8));
}

#[test]
fn invalid_definition_is_an_error_with_a_reason() {
    let cases = [
        ("pkg2/Missing b", "pkg2/Missing"),
        ("R r\n===\nMSG: b/R\nint8 x\n===\nMSG: c/R\nint8 x", "\"R\""),
        ("B b\n===\nMSG: pkg/B\nA[] a", "itself"),
        ("A a", "itself"),
        ("int32", "int32"),
        ("int32 a b", "int32 a b"),
        ("int32[2][3] a", "int32[2][3] a"),
        ("int32[-1] a", "int32[-1] a"),
        (
            "B b\n===\nMSG: pkg/B\nint8 x\n===\nMSG: pkg/B\nint16 x",
            "\"pkg/B\" has two different definitions",
        ),
        ("int8 x\n===\nint8 y", "separator"),
        ("float64[4294967295] x", "4 MiB"),
    ];
    for (text, reason) in cases {
        let err = compile("pkg/A", text).unwrap_err().to_string();
        assert!(err.contains(reason), "{text}: {err}");
        if !text.contains("4294967295") {
            assert!(md5sum("pkg/A", text).is_err(), "{text}");
        }
    }
    assert!(compile("pkg/A", &"int8 x\n".repeat(1 << 20)).is_err());
}

#[test]
fn definition_is_resolved_by_its_text_its_sum_or_its_name() {
    let imu = "6a62c6daae103f4ff57a132d6f95cec2";
    let resolved = resolve_definition_for_table("sensor_msgs/Imu", imu, "").unwrap();
    assert_eq!(resolved.layout.fields.len(), 7);
    assert!(resolved.anomaly.unwrap().contains("empty"));
    let resolved =
        resolve_definition_for_table("sensor_msgs/Imu", "*", "Missing x").unwrap();
    assert_eq!(resolved.layout.fields.len(), 7);
    let resolved =
        resolve_definition_for_table("sensor_msgs/Imu", imu, "int8 x").unwrap();
    assert_eq!(resolved.layout.fields.len(), 7);
    let resolved = resolve_definition_for_table(
        "pkg/A",
        "dddddddddddddddddddddddddddddddd",
        "int8 x",
    )
    .unwrap();
    assert_eq!(resolved.layout.fields.len(), 1);
    assert!(resolved.anomaly.unwrap().contains("dddd"));
    let sum = md5sum("pkg/A", "int8 x").unwrap();
    assert_eq!(
        resolve_definition_for_table("pkg/A", &sum, "int8 x").unwrap().anomaly,
        None
    );
    assert_eq!(
        resolve_definition_for_table("pkg/A", "*", "int8 x").unwrap().anomaly,
        None
    );
    let empty = "d41d8cd98f00b204e9800998ecf8427e";
    assert_eq!(resolve_definition_for_table("pkg/A", empty, "").unwrap().anomaly, None);
    assert!(resolve_definition_for_table("pkg/A", &sum, "").is_err());
    assert!(resolve_definition_for_table("pkg/A", "*", "B b").is_err());
    let many =
        "B[] a\nB[] b\n===\nMSG: pkg/B\n".to_owned() + &"int8 x\n".repeat(1 << 15);
    assert!(resolve_definition_for_table("pkg/A", "*", &many).is_err());
}

fn labels(text: &str, field: &str) -> Vec<(i64, String)> {
    let labels = Definition::parse("pkg/A", text).unwrap().labels();
    labels.get("pkg/A", field).cloned().unwrap_or_default().into_iter().collect()
}

#[test]
fn constants_label_the_field_that_is_a_prefix_of_their_name() {
    let text = "int8 STATUS_NO_FIX=-1\nint8 STATUS_FIX=0\nint8 STATUS_X_Y=1\nint8 status\n\
                uint8 status_x\nuint16 SERVICE_GPS=1\nuint16 service\nint8 STATUS_BIG=200";
    assert_eq!(
        labels(text, "status"),
        [(-1, "STATUS_NO_FIX".into()), (0, "STATUS_FIX".into())]
    );
    assert_eq!(labels(text, "status_x"), [(1, "STATUS_X_Y".into())]);
    assert_eq!(labels(text, "service"), [(1, "SERVICE_GPS".into())]);
    // A value with two names has no label.
    let text = "uint8 mode\nuint8 MODE_A=1\nuint8 MODE_B=1\nuint8 MODE_C=0x02";
    assert_eq!(labels(text, "mode"), [(2, "MODE_C".into())]);
}

#[test]
fn enumeration_labels_the_only_field_of_its_type() {
    let log = "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte level\nstring name";
    assert_eq!(labels(log, "level").len(), 3);
    assert_eq!(labels("uint8 A=0\nuint8 B=1\nuint8 x\nuint8 y", "x"), []);
    assert_eq!(labels("uint8 VERSION=3\nuint8 x", "x"), []);
    assert_eq!(labels("uint8 VERSION=3\nuint8 MAX=10\nuint8 x", "x"), []);
}

/// Quadratic time would take minutes.
#[test]
fn many_fields_and_constants_are_processed_in_linear_time() {
    // Fields with this name are renamed in ROS 2.
    let fields = "float64 D\n".repeat(50_000);
    let definition = Definition::parse("sensor_msgs/CameraInfo", &fields).unwrap();
    assert!(definition.ros2_text().unwrap().starts_with("float64 d\nfloat64 d\n"));
    assert_eq!(definition.names_changed_for_ros2(), Vec::<String>::new());
    let constants = (0..50_000).map(|value| format!("int32 A_{value}={value}\n"));
    let text = "int32 a\n".to_owned() + &constants.collect::<String>();
    assert_eq!(labels(&text, "a").len(), 50_000);
}

#[test]
fn messages_are_decoded_to_the_columns_of_their_definition() {
    let text = "Header header\nuint8[] data\n===\nMSG: std_msgs/Header\nuint32 seq\n\
                time stamp\nstring frame_id";
    let layout = compile("pkg/A", text).unwrap();
    let payload = b"\x01\0\0\0\x02\0\0\0\x03\0\0\0\x01\0\0\0f\x02\0\0\0\xab\xcd";
    let mut block = Block::default();
    block.reset(payload.to_vec().into(), 0);
    block.push(TopicId(0), Timestamp::from_nanos(1), 0..payload.len());
    block.push(TopicId(0), Timestamp::from_nanos(2), 0..payload.len() - 1);
    let mut decoder = LayoutDecoder::new(&layout, &Columns::new(View::Flat)).unwrap();
    let mut damage = vec![];
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    assert_eq!((decoder.rows(), damage.len()), (1, 1));
    let batch = decoder.take().unwrap();
    let schema = batch.schema();
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(
        names,
        ["time", "header.seq", "header.stamp", "header.frame_id", "data"]
    );
}

#[test]
fn name_of_the_type_is_no_definition() {
    let name = "geometry_msgs/msg/Point";
    for text in [
        "",
        "# no definition found",
        "geometry_msgs/msg/Point",
        "geometry_msgs/Point",
        "MSG: geometry_msgs/msg/Point\n",
        "geometry_msgs::msg::Point",
        "geometry_msgs::msg::dds_::Point",
    ] {
        assert!(Definition::is_missing(name, text), "{text}");
    }
    for text in ["Point p", "float64 x", "MSG: geometry_msgs/msg/Point\nfloat64 x"] {
        assert!(!Definition::is_missing(name, text), "{text}");
    }
}

#[test]
fn msg_is_removed_only_from_names_of_three_parts() {
    let text = "int8 x\n==\nMSG: a/msg/B\nint8 y\n==\nMSG: c/msg/msg/D\nint8 z";
    let definition = Definition::parse("pkg/A", text).unwrap();
    let written = definition.text();
    assert!(written.contains("MSG: a/B\n") && written.contains("MSG: c/msg/msg/D\n"));
    assert_eq!(Definition::parse("pkg/A", &written).unwrap(), definition);
}
