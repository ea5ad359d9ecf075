//! Definitions in the form that rosbags 0.11.9 writes for ROS 2 (`generate_msgdef` with
//! `ros_version=2`), except for `seq`, `char` and renamed types and fields of ROS 2; and
//! definitions of ROS 2.

use logtool_core::{LayoutKind, Primitive};

use crate::{CdrRemainder, Definition, Transcoder, definition::tests::debian};

fn sep() -> String {
    "=".repeat(80)
}

/// A `sensor_msgs/CameraInfo` of ROS 1, with fewer fields.
fn camera() -> String {
    format!(
        "# comment\nHeader header\nuint32 height\nfloat64[] D\nfloat64[9] K\n\
         sensor_msgs/RegionOfInterest roi\n{0}\nMSG: std_msgs/Header\nuint32 seq\n\
         time stamp\nstring frame_id\n{0}\nMSG: sensor_msgs/RegionOfInterest\n\
         char c\nbyte LOW=-1\nbyte b\nchar X=7\nduration[2] d\nstring NOTE=a # b\n",
        sep()
    )
}

#[test]
fn types_have_full_names_and_times_are_of_builtin_interfaces() {
    let definition = Definition::parse("sensor_msgs/CameraInfo", &camera()).unwrap();
    assert_eq!(definition.ros2_name(), "sensor_msgs/msg/CameraInfo");
    let expected = format!(
        "std_msgs/Header header\nuint32 height\nfloat64[] d\nfloat64[9] k\n\
         sensor_msgs/RegionOfInterest roi\n{0}\nMSG: std_msgs/Header\n\
         builtin_interfaces/Time stamp\nstring frame_id\n\
         {0}\nMSG: sensor_msgs/RegionOfInterest\n\
         byte LOW=255\nuint8 X=7\nstring NOTE=a # b\nuint8 c\nbyte b\n\
         builtin_interfaces/Duration[2] d\n\
         {0}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
         {0}\nMSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
        sep()
    );
    assert_eq!(definition.ros2_text().unwrap(), expected);
}

#[test]
fn field_names_are_kept_unless_ros2_renamed_them() {
    let text = |type_name: &str, text: &str| {
        Definition::parse(type_name, text).unwrap().ros2_text().unwrap()
    };
    assert_eq!(text("my_msgs/CameraInfo", "float64 D"), "float64 D\n");
    assert_eq!(text("stereo_msgs/DisparityImage", "float32 T"), "float32 t\n");
    let definition = "float64 D\nfloat64 d\n";
    assert_eq!(text("sensor_msgs/CameraInfo", definition), definition);
    let tf = Definition::parse("tf/tfMessage", "int8 x").unwrap();
    assert_eq!(tf.ros2_name(), "tf2_msgs/msg/TFMessage");
    assert_eq!(Definition::parse("Odd", "int8 x").unwrap().ros2_name(), "Odd");
}

#[test]
fn missing_type_is_an_error() {
    let definition = Definition::parse("a/B", "C c").unwrap();
    let err = definition.ros2_text().unwrap_err();
    assert_eq!(
        err.to_string(),
        "malformed log: \"a/B\" needs the type \"C\", which is not defined"
    );
}

#[test]
fn ros2_definitions_are_parsed() {
    // With the additional syntax of ROS 2 (docs.ros.org, "Interfaces"): bounds and defaults.
    let text = format!(
        "std_msgs/Header header\nint32 x 5\nstring<=10 name \"a=b # c\"\nint32[<=3] few\n\
         int32 MAX = 7 # most\nbyte b\nbyte[] raw\nbuiltin_interfaces/msg/Duration d\n\
         std_msgs/Empty empty\nfloat32[] list [1.0, 2.0]\n\
         {0}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
         {0}\nMSG: std_msgs/Empty\nuint8 structure_needs_at_least_one_member\n\
         {0}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
         {0}\nMSG: builtin_interfaces/msg/Duration\nint32 sec\nuint32 nanosec\n",
        sep()
    );
    let definition = Definition::parse_ros2("my_msgs/msg/All", &text).unwrap();
    let layout = definition.layout().unwrap();
    let names: Vec<&str> = layout.fields.iter().map(|f| f.name.as_str()).collect();
    let all = ["header", "x", "name", "few", "b", "raw", "d", "empty", "list"];
    assert_eq!(names, all);
    let kind = |index: usize| &layout.fields[index].kind;
    let LayoutKind::Nested(header) = kind(0) else { panic!("{:?}", kind(0)) };
    assert_eq!(header.fields[0].kind, LayoutKind::SignedTimestamp);
    assert_eq!(kind(1), &LayoutKind::Primitive(Primitive::I32));
    assert_eq!(kind(2), &LayoutKind::Text);
    assert!(matches!(kind(3), LayoutKind::List(_)));
    assert_eq!(kind(4), &LayoutKind::Primitive(Primitive::U8));
    assert_eq!(kind(5), &LayoutKind::Bytes);
    assert_eq!(kind(6), &LayoutKind::Duration);
    assert_eq!(kind(7), &LayoutKind::Nested(empty(&layout.fields[7].kind)));
    // Defaults are not fields of ROS 1.
    assert!(Definition::parse("my_msgs/All", "int32 x 5").is_err());
}

fn empty(kind: &LayoutKind) -> std::sync::Arc<logtool_core::Layout> {
    let LayoutKind::Nested(layout) = kind else { panic!("{kind:?}") };
    assert!(layout.fields.is_empty());
    layout.clone()
}

#[test]
fn other_type_with_the_name_of_a_time_is_kept() {
    let text =
        "builtin_interfaces/Time t\n===\nMSG: builtin_interfaces/Time\nint64 ns\n";
    let layout = Definition::parse_ros2("a/msg/B", text).unwrap().layout().unwrap();
    assert_eq!((layout.size, layout.fields[0].kind.size()), (8, 8));
    assert!(matches!(layout.fields[0].kind, LayoutKind::Nested(_)));
}

#[test]
fn wide_strings_are_refused() {
    let definition = Definition::parse_ros2("a/msg/B", "wstring s").unwrap();
    let message = definition.layout().unwrap_err().to_string();
    assert_eq!(message, "\"a/B\" has a wstring, which is not supported");
}

/// Zero messages are converted to ROS 2 and back by the converted definition.
#[test]
fn every_debian_definition_has_the_same_layout_via_ros2_except_for_seq() {
    let is_header = |name: &str| name == "std_msgs/Header";
    for (type_name, _, text) in debian() {
        let ros1 = Definition::parse(&type_name, &text).unwrap();
        if ros1.is_log()
            || ["std_msgs/Time", "std_msgs/Duration"].contains(&&*type_name)
        {
            continue; // They have other fields in ROS 2.
        }
        let in_ros2 = ros1.ros2_text().unwrap();
        let ros2 = Definition::parse_ros2(&ros1.ros2_name(), &in_ros2).unwrap();
        let (before, after) = (ros1.layout().unwrap(), ros2.layout().unwrap());
        let remaining = before.fields.len() - usize::from(is_header(&type_name));
        let added_count = if type_name == "visualization_msgs/Marker" { 4 } else { 0 };
        assert_eq!(after.fields.len(), remaining + added_count, "{in_ros2}");
        let to = Transcoder::to_ros2(&before).unwrap();
        let from = Transcoder::of_ros2(&after).unwrap();
        let (mut cdr, mut packed) = (Vec::new(), Vec::new());
        assert!(to.to_cdr(&vec![0; before.size as usize], &mut cdr), "{in_ros2}");
        assert_eq!(
            from.from_cdr(&cdr, &mut packed),
            Some(CdrRemainder::default()),
            "{in_ros2}"
        );
        assert_eq!(packed, vec![0; after.size as usize], "{in_ros2}");
    }
}

/// The fields of ROS 2 Humble and Jazzy, by hand after `visualization_msgs/msg/Marker.msg`.
#[test]
fn markers_have_the_fields_of_ros_2() {
    let marker = Definition::by_name("visualization_msgs/Marker").unwrap();
    let text = marker.ros2_text().unwrap();
    let layout = Definition::parse_ros2("visualization_msgs/msg/Marker", &text)
        .unwrap()
        .layout();
    let layout = layout.unwrap();
    let names: Vec<&str> = layout.fields.iter().map(|f| f.name.as_str()).collect();
    let expected = "header ns id type action pose scale color lifetime frame_locked points colors \
                  texture_resource texture uv_coordinates text mesh_resource mesh_file \
                  mesh_use_embedded_materials";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    // Back to ROS 1: the fields that ROS 2 adds are dropped.
    let ros1 = marker.layout().unwrap();
    let to = Transcoder::to_ros2(&ros1).unwrap();
    let (mut cdr, mut back) = (Vec::new(), Vec::new());
    let mut message = vec![0; ros1.size as usize];
    let embedded = message.len() - 1;
    message[embedded] = 1;
    assert!(to.to_cdr(&message, &mut cdr));
    assert_eq!(to.from_cdr(&cdr, &mut back), Some(CdrRemainder::default()));
    assert_eq!(back, message);
    // ROS 1 cannot store a mesh file. The last bytes are the lengths 1 (a NUL) of its name and 0 of
    // its bytes, and whether materials are embedded; here it gets 4 bytes.
    let end = cdr.len() - 5;
    assert_eq!(cdr[end..], [0, 0, 0, 0, 1]);
    cdr.splice(end..end + 4, *b"\x04\0\0\0mesh");
    let (extra_bytes, unrepresentable_times) = (4, 0);
    back.clear();
    let remainder = CdrRemainder { unrepresentable_times, extra_bytes };
    assert_eq!(to.from_cdr(&cdr, &mut back), Some(remainder));
    assert_eq!(back, message);
    // A type with this name and other fields is unchanged.
    let other =
        Definition::parse("visualization_msgs/Marker", "string colors").unwrap();
    assert_eq!(other.ros2_text().unwrap(), "string colors\n");
}

#[test]
fn ros2_ids_become_those_of_ros1() {
    let sep = "=".repeat(80);
    for base in ["unique_identifier_msgs/UUID", "unique_identifier_msgs/msg/UUID"] {
        let text = format!(
            "{base} id\n{base}[] more\n{sep}\nMSG: unique_identifier_msgs/UUID\nuint8[16] uuid\n"
        );
        let ros1 = Definition::ros1_from_ros2("a/msg/B", &text).unwrap().text();
        let expected = format!(
            "uuid_msgs/UniqueID id\nuuid_msgs/UniqueID[] more\n{sep}\n\
             MSG: uuid_msgs/UniqueID\nuint8[16] uuid\n"
        );
        assert_eq!(ros1, expected);
    }
    let root = |text| {
        let name = "unique_identifier_msgs/msg/UUID";
        Definition::ros1_from_ros2(name, text).unwrap().name().to_owned()
    };
    assert_eq!(root("uint8[16] uuid\n"), "uuid_msgs/UniqueID");
    // A type with this name and other fields keeps its name.
    assert_eq!(root("string uuid\n"), "unique_identifier_msgs/UUID");
}

/// By the mapping rules for ros1_bridge in packages of ROS 2.
#[test]
fn types_with_another_name_in_ros2_are_renamed_everywhere() {
    for (ros1, ros2) in [
        ("rosgraph_msgs/Log", "rcl_interfaces/msg/Log"),
        ("std_msgs/Time", "builtin_interfaces/msg/Time"),
        ("std_msgs/Duration", "builtin_interfaces/msg/Duration"),
        ("tf2_msgs/TFMessage", "tf2_msgs/msg/TFMessage"),
        ("sensor_msgs/Imu", "sensor_msgs/msg/Imu"),
    ] {
        assert_eq!(Definition::by_name(ros1).unwrap().ros2_name(), ros2);
    }
    let uuid = Definition::parse("uuid_msgs/UniqueID", "uint8[16] uuid").unwrap();
    assert_eq!(uuid.ros2_name(), "unique_identifier_msgs/msg/UUID");
    let text = format!(
        "uuid_msgs/UniqueID[] ids\nstd_msgs/Time at\n{0}\nMSG: uuid_msgs/UniqueID\n\
         uint8[16] uuid\n{0}\nMSG: std_msgs/Time\ntime data\n",
        sep()
    );
    let nested = Definition::parse("a/B", &text).unwrap();
    let expected = format!(
        "unique_identifier_msgs/UUID[] ids\nbuiltin_interfaces/Time at\n{0}\n\
         MSG: unique_identifier_msgs/UUID\nuint8[16] uuid\n{0}\n\
         MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n",
        sep()
    );
    assert_eq!(nested.ros2_text().unwrap(), expected);
    // A type with the same name and other fields keeps its name.
    let other = Definition::parse("rosgraph_msgs/Log", "string msg").unwrap();
    assert_eq!(other.ros2_name(), "rosgraph_msgs/msg/Log");
    let log = Definition::by_name("rosgraph_msgs/Log").unwrap();
    let text = log.ros2_text().unwrap();
    let back = Definition::ros1_from_ros2("rcl_interfaces/msg/Log", &text).unwrap();
    assert_eq!(back, log);
}
