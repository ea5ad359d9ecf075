use super::*;
use crate::{Definition, sensor::testing::Message};

/// Returns the stamps of the packets in `payload`, and the ranges of their bytes.
fn packets(payload: &[u8], encoding: Encoding) -> Option<Vec<(i64, Range<usize>)>> {
    let definition = Definition::by_name("velodyne_msgs/VelodyneScan").unwrap();
    let layout = ScanLayout::new(&definition.layout().unwrap()).unwrap();
    let packets = layout.packets(payload, encoding)?.into_iter();
    Some(packets.map(|packet| (packet.stamp.unwrap(), packet.bytes)).collect())
}

/// Returns the layout of messages with this ROS 1 definition.
fn layout_of(text: &str) -> Option<ScanLayout> {
    let definition = Definition::parse("driver_msgs/Scan", text).unwrap();
    ScanLayout::new(&definition.layout().unwrap())
}

#[test]
fn packets_are_found_whatever_the_names_of_types_and_fields() {
    let layout = layout_of(
        "string lidar\nuint8 model\nfloat32[] temperatures\nRaw[] raw\nuint64 basetime\n\
         ================\nMSG: driver_msgs/Raw\nuint16 length\nuint8[1206] bytes\n\
         time received\nstring note",
    );
    let mut message = Message::default().text("top").u8(3).floats(&[1.0, 2.0]).u32(2);
    for packet in [5, 6] {
        message = message.raw(&[0xb6, 4]).raw(&[packet; 1206]);
        message = message.u32(7).u32(u32::from(packet)).text("x");
    }
    let message = message.raw(&[9; 8]).0;
    let packets = layout.unwrap().packets(&message, Encoding::Ros1).unwrap();
    let found: Vec<_> = packets
        .iter()
        .map(|packet| (packet.stamp, message[packet.bytes.clone()].to_vec()))
        .collect();
    assert_eq!(
        found,
        [(Some(7_000_000_005), vec![5; 1206]), (Some(7_000_000_006), vec![6; 1206])]
    );
}

#[test]
fn packets_without_a_stamp_have_none() {
    let layout = layout_of(
        "Raw[] raw\n================\nMSG: driver_msgs/Raw\nuint8[1206] data",
    );
    let message = Message::default().u32(1).raw(&[4; 1206]).0;
    let packets = layout.unwrap().packets(&message, Encoding::Ros1).unwrap();
    assert_eq!((packets[0].stamp, packets[0].bytes.clone()), (None, 4..1210));
}

#[test]
fn frame_id_is_read_wherever_it_is_before_the_packets() {
    const PACKETS: &str = "================\nMSG: driver_msgs/Raw\nuint8[1206] data";
    const HEADER: &str = "================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
    let frame_id = |fields: &str, message: &[u8]| {
        let layout = layout_of(&format!("{fields}\n{HEADER}{PACKETS}")).unwrap();
        let reader = layout.frame_id_reader(Encoding::Ros1)?;
        Some(reader.frame_id(message).map(<[u8]>::to_vec))
    };
    let top = Some(Some(b"top".to_vec()));
    let header = Message::default().u32(1).u32(7).u32(0).text("top");
    assert_eq!(frame_id("Header header\nRaw[] raw", &header.0), top);
    let message = Message::default().text("VLP16").u32(1).u32(7).u32(0).text("top");
    assert_eq!(frame_id("string model\nHeader header\nRaw[] raw", &message.0), top);
    let message = Message::default().u32(9).text("top");
    assert_eq!(frame_id("uint32 model\nstring frame_id\nRaw[] raw", &message.0), top);
    // The text is longer than the message.
    assert_eq!(frame_id("Header header\nRaw[] raw", &header.0[..18]), Some(None));
    assert_eq!(frame_id("string model\nRaw[] raw", &message.0), None);
    assert_eq!(frame_id("Raw[] raw\nHeader header", &header.0), None);
}

#[test]
fn frame_id_in_cdr_ends_before_its_nul() {
    let text = "std_msgs/Header header\nRaw[] raw\n================\n\
                MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
                ================\nMSG: driver_msgs/Raw\nuint8[1206] data";
    let definition = Definition::parse_ros2("driver_msgs/msg/Scan", text).unwrap();
    let layout = ScanLayout::new(&definition.layout().unwrap()).unwrap();
    let reader = layout.frame_id_reader(Encoding::Cdr).unwrap();
    let little = [&[0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0][..], b"top\0"];
    assert_eq!(reader.frame_id(&little.concat()), Some(&b"top"[..]));
    let big = [&[0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 4][..], b"top\0"];
    assert_eq!(reader.frame_id(&big.concat()), Some(&b"top"[..]));
    assert_eq!(reader.frame_id(&little.concat()[..19]), None);
}

#[test]
fn messages_without_packets_have_no_layout() {
    for text in [
        "uint8[1206] data",
        "Raw[] raw\n================\nMSG: driver_msgs/Raw\nuint8[1248] data",
        "Raw[] raw\n================\nMSG: driver_msgs/Raw\nuint16[1206] data",
        "Raw[2] raw\n================\nMSG: driver_msgs/Raw\nuint8[1206] data",
    ] {
        assert_eq!(layout_of(text), None, "{text}");
    }
}

fn scan(count: u32, packets: u8) -> Vec<u8> {
    let mut message = Message::with_header(7, 0).u32(count);
    for packet in 0..packets {
        message = message.u32(7).u32(u32::from(packet)).raw(&[packet; 1206]);
    }
    message.0
}

#[test]
fn scan_has_its_packets_with_their_stamps() {
    let message = scan(2, 2);
    let packets = packets(&message, Encoding::Ros1).unwrap();
    // A header of 4 + 8 + 4 + 4 bytes, the count, and the stamp of the packet.
    assert_eq!(packets, [(7_000_000_000, 32..1238), (7_000_000_001, 1246..2452)]);
    assert!(message[packets[1].1.clone()].iter().all(|byte| *byte == 1));
}

#[test]
fn truncated_scan_is_rejected() {
    assert!(packets(&scan(3, 2), Encoding::Ros1).is_none());
    assert_eq!(packets(&scan(1, 2), Encoding::Ros1).unwrap().len(), 1);
    assert!(packets(&scan(u32::MAX, 2), Encoding::Ros1).is_none());
    assert!(packets(&scan(2, 2)[..30], Encoding::Ros1).is_none());
    assert_eq!(packets(&scan(0, 0), Encoding::Ros1).unwrap().len(), 0);
}
