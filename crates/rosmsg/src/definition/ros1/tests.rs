//! Tests that definitions of ROS 1 keep their MD5 sums when they are converted to ROS 2 and back,
//! and that definitions of ROS 2 are converted.

use logtool_core::ErrorKind;

use crate::{Definition, definition::tests::debian};

fn separator() -> String {
    "=".repeat(80)
}

#[test]
fn every_debian_definition_keeps_its_sum_via_ros2() {
    for (type_name, sum, text) in debian() {
        if type_name == "tf/tfMessage" {
            continue; // It is tf2_msgs/TFMessage in ROS 2.
        }
        let ros1 = Definition::parse(&type_name, &text).unwrap();
        let (name, text) = (ros1.ros2_name(), ros1.ros2_text().unwrap());
        let converted = Definition::ros1_from_ros2(&name, &text).unwrap();
        assert_eq!(converted.name(), type_name);
        assert_eq!(converted.md5sum().unwrap(), sum, "{type_name}");
    }
}

#[test]
fn ros2_type_becomes_the_common_ros1_type_with_any_constants() {
    // The definition of ROS 2 Jazzy, shortened, with an additional constant.
    let text = format!(
        "std_msgs/Header header\nNavSatStatus status\nfloat64 latitude\n\
         float64 longitude\nfloat64 altitude\nfloat64[9] position_covariance\n\
         uint8 COVARIANCE_TYPE_UNKNOWN = 0\nuint8 position_covariance_type\n\
         {0}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
         {0}\nMSG: sensor_msgs/NavSatStatus\nint8 STATUS_UNKNOWN=-2\n\
         int8 status -2\nuint16 service\n",
        separator()
    );
    let name = "sensor_msgs/msg/NavSatFix";
    let fix = Definition::ros1_from_ros2(name, &text).unwrap();
    assert_eq!(fix.name(), "sensor_msgs/NavSatFix");
    // The MD5 sum of the type in ROS 1.
    assert_eq!(fix.md5sum().unwrap(), "2d3a8cd499b9b4a0249fb98fd05cfa48");
    // A type with an additional field is not the common type.
    let added =
        Definition::ros1_from_ros2(name, &format!("uint8 more\n{text}")).unwrap();
    assert!(added.text().starts_with("uint8 COVARIANCE_TYPE_UNKNOWN=0\nuint8 more\n"));
}

#[test]
fn ros2_syntax_is_converted_to_ros1() {
    let text = format!(
        "builtin_interfaces/Time start\nbuiltin_interfaces/msg/Duration[<=2] ages\n\
         string<=5 name \"no\"\nstring<=5[<=3] names\nb_msgs/msg/Inner[2] inner\n\
         byte BIG=200\nbyte level 3\nbool YES=true\nstring HOW=\"so # so\"\nint32 X=-0x10\n\
         float32 F=1.5\nuint16 O=0o17\n\
         {0}\nMSG: b_msgs/Inner\nuint8 structure_needs_at_least_one_member\n",
        separator()
    );
    let expected = format!(
        "byte BIG=-56\nbool YES=True\nstring HOW=so # so\nint32 X=-16\nfloat32 F=1.5\n\
         uint16 O=15\ntime start\nduration[] ages\nstring name\nstring[] names\n\
         b_msgs/Inner[2] inner\nbyte level\n{0}\nMSG: b_msgs/Inner\n",
        separator()
    );
    let definition = Definition::ros1_from_ros2("a_msgs/msg/All", &text).unwrap();
    assert_eq!(definition.text(), expected);
}

#[test]
fn header_with_other_fields_is_unchanged_and_unused_types_are_dropped() {
    let text = format!(
        "std_msgs/Header header\n{0}\nMSG: std_msgs/Header\nint32 stamp\n\
         {0}\nMSG: b/Unused\nint8 x\n",
        separator()
    );
    let definition = Definition::ros1_from_ros2("a/msg/B", &text).unwrap();
    let expected = format!(
        "std_msgs/Header header\n{}\nMSG: std_msgs/Header\nint32 stamp\n",
        separator()
    );
    assert_eq!(definition.text(), expected);
}

#[test]
fn wide_string_is_refused_with_the_name_of_its_field() {
    let text =
        format!("Inner inner\n{}\nMSG: a/Inner\nwstring<=4[] wide\n", separator());
    let err = Definition::ros1_from_ros2("a/msg/B", &text).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Unsupported);
    assert_eq!(
        err.to_string(),
        "a/Inner.wide is a wstring, a type that ROS 1 does not have"
    );
}
