//! Tests that definitions of ROS 1 are converted to ROS 2, and that definitions of ROS 2 are
//! parsed.
//!
//! The expected texts have the form that rosbags 0.11.9 writes for ROS 2 (`generate_msgdef` with
//! `ros_version=2`), except for `seq`, `char`, and the types and fields that ROS 2 renames.

use logtool_core::{LayoutKind, Primitive};

use crate::{CdrRemainder, Definition, Transcoder, definition::tests::debian};

fn separator() -> String {
    "=".repeat(80)
}

/// A `sensor_msgs/CameraInfo` of ROS 1, with fewer fields.
fn camera() -> String {
    format!(
        "# comment\nHeader header\nuint32 height\nfloat64[] D\nfloat64[9] K\n\
         sensor_msgs/RegionOfInterest roi\n{0}\nMSG: std_msgs/Header\nuint32 seq\n\
         time stamp\nstring frame_id\n{0}\nMSG: sensor_msgs/RegionOfInterest\n\
         char c\nbyte LOW=-1\nbyte b\nchar X=7\nduration[2] d\nstring NOTE=a # b\n",
        separator()
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
        separator()
    );
    assert_eq!(definition.ros2_text().unwrap(), expected);
}

#[test]
fn names_that_ros2_renames_or_does_not_allow_are_changed() {
    let text = |type_name: &str, text: &str| {
        Definition::parse(type_name, text).unwrap().ros2_text().unwrap()
    };
    assert_eq!(text("my_msgs/CameraInfo", "float64 d"), "float64 d\n");
    assert_eq!(text("my_msgs/Pose", "float64 timeStamp"), "float64 time_stamp\n");
    // Two fields, and two types, never get one name.
    assert_eq!(
        text("my_msgs/Pose", "int8 timeStamp\nint8 time_stamp\nint8 TimeStamp"),
        "int8 time_stamp_2\nint8 time_stamp\nint8 time_stamp_3\n"
    );
    let line = "=".repeat(80);
    let types =
        format!("a b\nA c\n{line}\nMSG: p/a\nint8 x\n{line}\nMSG: p/A\nint8 y\n");
    assert_eq!(
        text("p/B", &types),
        format!("p/A2 b\np/A c\n{line}\nMSG: p/A2\nint8 x\n{line}\nMSG: p/A\nint8 y\n")
    );
    assert_eq!(
        text("p/B", "int8 maxSpeed=5\nint8 X=1"),
        "int8 MAX_SPEED=5\nint8 X=1\n"
    );
    assert_eq!(text("stereo_msgs/DisparityImage", "float32 T"), "float32 t\n");
    let definition = "float64 D\nfloat64 d\n";
    let renamed = "float64 d_2\nfloat64 d\n";
    assert_eq!(text("sensor_msgs/CameraInfo", definition), renamed);
    let tf = Definition::parse("tf/tfMessage", "int8 x").unwrap();
    assert_eq!(tf.ros2_name(), "tf2_msgs/msg/TFMessage");
    let odd = Definition::parse("My_Pkg/odd_type", "int8 x").unwrap();
    assert_eq!(odd.ros2_name(), "my_pkg/msg/OddType");
    let without_package = Definition::parse("A", "int8 x").unwrap();
    assert_eq!(without_package.ros2_name(), "A");
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
    // The syntax that only ROS 2 has (docs.ros.org, "Interfaces"): bounds and defaults.
    let text = format!(
        "std_msgs/Header header\nint32 x 5\nstring<=10 name \"a=b # c\"\nint32[<=3] few\n\
         int32 MAX = 7 # most\nbyte b\nbyte[] raw\nbuiltin_interfaces/msg/Duration d\n\
         std_msgs/Empty empty\nfloat32[] list [1.0, 2.0]\n\
         {0}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
         {0}\nMSG: std_msgs/Empty\nuint8 structure_needs_at_least_one_member\n\
         {0}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
         {0}\nMSG: builtin_interfaces/msg/Duration\nint32 sec\nuint32 nanosec\n",
        separator()
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
    let LayoutKind::Nested(empty) = kind(7) else { panic!("{:?}", kind(7)) };
    assert!(empty.fields.is_empty());
    // ROS 1 has no defaults.
    assert!(Definition::parse("my_msgs/All", "int32 x 5").is_err());
}

#[test]
fn type_with_the_name_of_a_time_and_other_fields_is_unchanged() {
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
    assert_eq!(message, "\"a/B\" has a field of type wstring, which is not supported");
}

/// A message of zeros is converted to CDR with the ROS 1 definition, and back with the converted
/// definition.
#[test]
fn every_debian_definition_has_the_same_layout_via_ros2_except_for_seq() {
    let is_header = |name: &str| name == "std_msgs/Header";
    for (type_name, _, text) in debian() {
        let ros1 = Definition::parse(&type_name, &text).unwrap();
        if ros1.is_log()
            || ["std_msgs/Time", "std_msgs/Duration"].contains(&&*type_name)
        {
            continue; // ROS 2 has types with other fields instead.
        }
        let ros2_text = ros1.ros2_text().unwrap();
        let ros2 = Definition::parse_ros2(&ros1.ros2_name(), &ros2_text).unwrap();
        let (ros1_layout, ros2_layout) =
            (ros1.layout().unwrap(), ros2.layout().unwrap());
        let common_count =
            ros1_layout.fields.len() - usize::from(is_header(&type_name));
        let added_count = if type_name == "visualization_msgs/Marker" { 4 } else { 0 };
        assert_eq!(ros2_layout.fields.len(), common_count + added_count, "{ros2_text}");
        let to_cdr =
            Transcoder::for_ros1_layout_with_added_fields(&ros1_layout).unwrap();
        let from_cdr = Transcoder::for_ros2_layout(&ros2_layout).unwrap();
        let (mut cdr, mut packed) = (Vec::new(), Vec::new());
        let zeros = vec![0; ros1_layout.size as usize];
        assert!(to_cdr.to_cdr(&zeros, &mut cdr), "{ros2_text}");
        assert_eq!(
            from_cdr.from_cdr(&cdr, &mut packed),
            Some(CdrRemainder::default()),
            "{ros2_text}"
        );
        assert_eq!(packed, vec![0; ros2_layout.size as usize], "{ros2_text}");
    }
}

/// The expected fields are copied from `visualization_msgs/msg/Marker.msg` of ROS 2 Humble and
/// Jazzy.
#[test]
fn markers_have_the_fields_of_ros2() {
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
    // The conversion back to ROS 1 drops the fields that ROS 2 adds.
    let ros1 = marker.layout().unwrap();
    let transcoder = Transcoder::for_ros1_layout_with_added_fields(&ros1).unwrap();
    let (mut cdr, mut back) = (Vec::new(), Vec::new());
    let mut message = vec![0; ros1.size as usize];
    *message.last_mut().unwrap() = 1; // mesh_use_embedded_materials
    assert!(transcoder.to_cdr(&message, &mut cdr));
    assert_eq!(transcoder.from_cdr(&cdr, &mut back), Some(CdrRemainder::default()));
    assert_eq!(back, message);
    // ROS 1 cannot store a mesh file. Here it gets 4 bytes: the last fields in CDR are the length
    // of the file, which is 0, and whether materials are embedded.
    let file_len = cdr.len() - 5;
    assert_eq!(cdr[file_len..], [0, 0, 0, 0, 1]);
    cdr.splice(file_len..file_len + 4, *b"\x04\0\0\0mesh");
    back.clear();
    let remainder = CdrRemainder { unrepresentable_times: 0, extra_bytes: 4 };
    assert_eq!(transcoder.from_cdr(&cdr, &mut back), Some(remainder));
    assert_eq!(back, message);
    // A type with this name and other fields is unchanged.
    let other =
        Definition::parse("visualization_msgs/Marker", "string colors").unwrap();
    assert_eq!(other.ros2_text().unwrap(), "string colors\n");
}

#[test]
fn unique_ids_of_ros2_become_those_of_ros1() {
    let separator = separator();
    for base in ["unique_identifier_msgs/UUID", "unique_identifier_msgs/msg/UUID"] {
        let text = format!(
            "{base} id\n{base}[] more\n{separator}\nMSG: unique_identifier_msgs/UUID\nuint8[16] uuid\n"
        );
        let ros1 = Definition::ros1_from_ros2("a/msg/B", &text).unwrap().text();
        let expected = format!(
            "uuid_msgs/UniqueID id\nuuid_msgs/UniqueID[] more\n{separator}\n\
             MSG: uuid_msgs/UniqueID\nuint8[16] uuid\n"
        );
        assert_eq!(ros1, expected);
    }
    let converted_name = |text| {
        let name = "unique_identifier_msgs/msg/UUID";
        Definition::ros1_from_ros2(name, text).unwrap().name().to_owned()
    };
    assert_eq!(converted_name("uint8[16] uuid\n"), "uuid_msgs/UniqueID");
    // A type with this name and other fields keeps its name.
    assert_eq!(converted_name("string uuid\n"), "unique_identifier_msgs/UUID");
}

/// The expected names are those of the mapping rules for ros1_bridge in packages of ROS 2.
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
        "uuid_msgs/UniqueID[] ids\nstd_msgs/Time stamp\n{0}\nMSG: uuid_msgs/UniqueID\n\
         uint8[16] uuid\n{0}\nMSG: std_msgs/Time\ntime data\n",
        separator()
    );
    let nested = Definition::parse("a/B", &text).unwrap();
    let expected = format!(
        "unique_identifier_msgs/UUID[] ids\nbuiltin_interfaces/Time stamp\n{0}\n\
         MSG: unique_identifier_msgs/UUID\nuint8[16] uuid\n{0}\n\
         MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n",
        separator()
    );
    assert_eq!(nested.ros2_text().unwrap(), expected);
    // A type with the same name and other fields keeps its name.
    let other = Definition::parse("rosgraph_msgs/Log", "string msg").unwrap();
    assert_eq!(other.ros2_name(), "rosgraph_msgs/msg/Log");
    let log = Definition::by_name("rosgraph_msgs/Log").unwrap();
    let text = log.ros2_text().unwrap();
    let ros1 = Definition::ros1_from_ros2("rcl_interfaces/msg/Log", &text).unwrap();
    assert_eq!(ros1, log);
}
