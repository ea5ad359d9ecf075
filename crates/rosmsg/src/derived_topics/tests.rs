use super::*;
use crate::sensor::packets::ScanLayout;

/// Returns the layout of `velodyne_msgs/VelodyneScan`.
fn scan_layout() -> ScanLayout {
    let definition = crate::Definition::by_name("velodyne_msgs/VelodyneScan").unwrap();
    ScanLayout::new(&definition.layout().unwrap()).unwrap()
}

#[test]
fn time_of_a_packet_is_its_stamp_if_plausible_else_the_time_of_its_message() {
    let mut scan = crate::sensor::testing::Message::with_header(100, 0).u32(3);
    for (seconds, nanos) in [(99, 900_000_000), (98, 900_000_000), (100, 1)] {
        scan = scan.u32(seconds).u32(nanos).raw(&[0; 1206]);
    }
    let mut times = Vec::new();
    let time = Timestamp::from_nanos(100_000_000_000);
    for_each_packet(&scan.0, &scan_layout(), Encoding::Ros1, time, |time, _| {
        times.push(time.as_nanos())
    });
    assert_eq!(times, [99_900_000_000, 100_000_000_000, 100_000_000_001]);
}

#[test]
fn invalid_scan_is_one_record() {
    let mut packets = Vec::new();
    for_each_packet(
        b"no scan",
        &scan_layout(),
        Encoding::Ros1,
        Timestamp::from_nanos(5),
        |time, range| {
            packets.push((time.as_nanos(), range));
        },
    );
    assert_eq!(packets, [(5, 0..7)]);
}

#[test]
fn packets_in_cdr_are_located_after_padding() {
    let mut scan = crate::sensor::testing::Message::with_header(100, 0).u32(2);
    for packet in [3, 4] {
        scan = scan.u32(100).u32(packet).raw(&[packet as u8; 1206]);
    }
    let scan_type = crate::Definition::by_name("velodyne_msgs/VelodyneScan").unwrap();
    let layout = scan_type.layout().unwrap();
    let transcoder = crate::Transcoder::for_ros1_layout(&layout).unwrap();
    let mut cdr = Vec::new();
    assert!(transcoder.to_cdr(&scan.0, &mut cdr));
    let mut packets = Vec::new();
    let time = Timestamp::from_nanos(100_000_000_000);
    // The header of ROS 2 has no sequence number.
    let text = scan_type.ros2_text().unwrap();
    let ros2_type =
        crate::Definition::parse_ros2("velodyne_msgs/msg/VelodyneScan", &text);
    let layout = ScanLayout::new(&ros2_type.unwrap().layout().unwrap()).unwrap();
    for_each_packet(&cdr, &layout, Encoding::Cdr, time, |time, range| {
        packets.push((time.as_nanos() - 100_000_000_000, cdr[range].to_vec()));
    });
    assert_eq!(packets, [(3, vec![3; 1206]), (4, vec![4; 1206])]);
}

#[test]
fn other_type_with_the_name_of_a_cloud_is_not_a_cloud() {
    let schema = logtool_core::raw_schema("ns");
    let mut topic = Topic::new("/a", schema);
    topic.encoding = "cdr".to_owned();
    topic.type_name = "velodyne_msgs/msg/VelodyneScan".to_owned();
    let definition = crate::Definition::by_name("velodyne_msgs/VelodyneScan");
    topic.definition = definition.unwrap().ros2_text().unwrap();
    assert!(Derivation::from_topic(&topic).is_some());
    topic.definition = topic.definition.replace("1206", "1207");
    assert!(Derivation::from_topic(&topic).is_none());
}

/// The types of foxglove-sdk (`schemas/ros1`), without comments and the fields after the data.
const FOXGLOVE_CLOUD: &str = "time timestamp\nstring frame_id\ngeometry_msgs/Pose pose\n\
    uint32 point_stride\nfoxglove_msgs/PackedElementField[] fields\nuint8[] data\n===\n\
    MSG: foxglove_msgs/PackedElementField\nstring name\nuint32 offset\nuint8 FLOAT32=7\n\
    uint8 type\n";
const FOXGLOVE_SCAN: &str = "time timestamp\nstring frame_id\ngeometry_msgs/Pose pose\n\
    float64 start_angle\nfloat64 end_angle\nfloat64[] ranges\nfloat64[] intensities\n\
    string uuid\n";
const POSE: &str = "===\nMSG: geometry_msgs/Pose\ngeometry_msgs/Point position\n\
    geometry_msgs/Quaternion orientation\n===\nMSG: geometry_msgs/Point\nfloat64 x\n\
    float64 y\nfloat64 z\n===\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\n\
    float64 z\nfloat64 w\n";

/// Returns the rows of the points in `message` of this type of Foxglove: in the encoding of ROS 1,
/// and in CDR.
fn foxglove_points(name: &str, text: &str, message: &[u8]) -> [Vec<String>; 2] {
    let definition =
        crate::Definition::parse(&format!("foxglove_msgs/{name}"), text).unwrap();
    let layout = definition.layout().unwrap();
    let transcoder = crate::Transcoder::for_ros1_layout(&layout).unwrap();
    let mut cdr = Vec::new();
    assert!(transcoder.to_cdr(message, &mut cdr));
    let ros2_text = definition.ros2_text().unwrap();
    [
        (Encoding::Ros1, format!("foxglove_msgs/{name}"), text, message),
        (Encoding::Cdr, format!("foxglove_msgs/msg/{name}"), &ros2_text, &cdr),
    ]
    .map(|(encoding, type_name, definition, message)| {
        let topic = Topic {
            encoding: encoding.name().to_owned(),
            type_name,
            definition: definition.to_owned(),
            ..Topic::new("/points", Arc::new(arrow_schema::Schema::empty()))
        };
        let derivation = Derivation::from_topic(&topic).unwrap();
        let DerivedKind::Points(source) = derivation.kind else { unreachable!() };
        let schema = derivation.point_schema_of(message).unwrap();
        let columns = crate::sensor::testing::nested_columns();
        let decoder =
            PointDecoder::new(source, encoding, Arc::new(schema), &columns).unwrap();
        let (batch, damaged) = crate::sensor::testing::decode(decoder, &[message]);
        assert_eq!(damaged, 0);
        crate::sensor::testing::rows(&batch)
    })
}

/// Starts a message with a stamp of 1.5 s, and a pose that rotates x to y and then moves by 1, 2, 3.
fn foxglove_message() -> crate::sensor::testing::Message {
    let message = crate::sensor::testing::Message::default();
    let message = message.u32(1).u32(500_000_000).text("base");
    doubles(message, &[1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 1.0])
}

fn doubles(
    message: crate::sensor::testing::Message,
    numbers: &[f64],
) -> crate::sensor::testing::Message {
    numbers.iter().fold(message, |message, number| message.raw(&number.to_le_bytes()))
}

#[test]
fn types_of_foxglove_in_encodings_of_ros_have_points() {
    let mut cloud = foxglove_message().u32(12).u32(3);
    for (name, offset) in [("x", 0), ("y", 4), ("z", 8)] {
        cloud = cloud.text(name).u32(offset).u8(7);
    }
    let data = [4.0_f32, 0.0, 0.5].map(f32::to_le_bytes).concat();
    let text = [FOXGLOVE_CLOUD, POSE].concat();
    for rows in foxglove_points("PointCloud", &text, &cloud.text(data).0) {
        assert_eq!(rows, ["1500000000 0 1 6 3.5"]);
    }
    let scan = doubles(foxglove_message(), &[0.0, 0.0]).u32(1);
    let scan = doubles(doubles(scan, &[2.0]).u32(1), &[9.0]).text("id");
    let text = [FOXGLOVE_SCAN, POSE].concat();
    for rows in foxglove_points("LaserScan", &text, &scan.0) {
        // Range, intensity, angle, x, y, z.
        assert_eq!(rows, ["1500000000 0 2 9 0 1 4 3"]);
    }
    let other =
        [FOXGLOVE_SCAN.replace("float64[]", "float32[]").as_str(), POSE].concat();
    let topic = Topic {
        encoding: "ros1".to_owned(),
        type_name: "foxglove_msgs/LaserScan".to_owned(),
        definition: other,
        ..Topic::new("/scan", Arc::new(arrow_schema::Schema::empty()))
    };
    assert_eq!(Derivation::from_topic(&topic), None);
}
