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
