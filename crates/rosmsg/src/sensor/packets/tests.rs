use super::*;
use crate::sensor::testing::Message;

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
