//! Duplicate frames from the mirror port of a switch, and fragments without the rest of
//! their datagrams.

use bytes::Bytes;
use logtool_core::Log as _;

use crate::{count, frames, opened, sample};

/// Returns the capture with each frame duplicated, `micros` later.
fn mirrored(bytes: &[u8], micros: u32) -> Bytes {
    let mut out = bytes[..24].to_vec();
    for frame in frames(bytes) {
        let frame = &bytes[frame];
        out.extend(frame);
        let fraction = u32::from_le_bytes(frame[4..8].try_into().unwrap()) + micros;
        out.extend(&frame[..4]);
        out.extend(fraction.to_le_bytes());
        out.extend(&frame[8..]);
    }
    out.into()
}

#[test]
fn duplicate_packets_are_read_once() {
    for (name, packets) in [
        ("hdl64e_atwallshort.pcap", None),
        ("hdl32e_rustlidarutils_example.pcap", None),
        ("pcap_variants/ipfrag.pcap", Some(60)),
    ] {
        let Some(bytes) = sample(name) else { continue };
        let bytes = bytes.slice(..frames(&bytes).last().unwrap().end);
        let (plain, once) = opened(bytes.clone());
        for micros in [0, 7] {
            let (log, packets_by_topic) = opened(mirrored(&bytes, micros));
            assert!(packets_by_topic == once, "{name}");
            assert_eq!(log.manifest().damage, [], "{name}");
            let sensor = |log: &dyn logtool_core::Log| {
                let topics = log.manifest().topics.iter();
                topics
                    .map(|topic| topic.metadata.get("model").cloned())
                    .collect::<Vec<_>>()
            };
            assert_eq!(sensor(&log), sensor(&plain));
            match packets {
                Some(packets) => assert_eq!(count(&log, "packets"), packets),
                None => assert_eq!(
                    count(&log, "packets_that_came_twice"),
                    count(&plain, "packets") + count(&plain, "position_packets")
                ),
            }
        }
    }
}

/// Returns a frame with the fragment `bytes` at `offset` of a UDP datagram.
pub(super) fn piece(micros: u32, offset: u16, has_next: bool, bytes: &[u8]) -> Vec<u8> {
    let len = 14 + 20 + bytes.len();
    let mut out = vec![];
    for word in [1, micros, len as u32, len as u32] {
        out.extend(word.to_le_bytes());
    }
    out.extend([0; 12]);
    out.extend([8, 0, 0x45, 0]);
    out.extend((20 + bytes.len() as u16).to_be_bytes());
    out.extend([0, 77]);
    out.extend((offset / 8 + if has_next { 0x2000 } else { 0 }).to_be_bytes());
    out.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    out.extend(bytes);
    out
}

#[test]
fn lost_fragments_do_not_affect_later_datagrams() {
    // A position packet of 512 bytes after 8 of UDP (520 = 0x208), to port 8308 (0x2074).
    let mut whole = vec![0x20, 0x74, 0x20, 0x74, 2, 8, 0, 0];
    whole.extend([0; 206 - 14]);
    whole.extend([1; 14]);
    whole.extend(b"$GPRMC");
    whole.resize(520, 0);
    let (first, last) = whole.split_at(256);
    let other = vec![9; last.len()];
    let file = [
        &[
            0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
            0, 0, 0,
        ][..],
        // Two fragments that are not from a lidar: no damage.
        &piece(0, 256, false, last),
        &piece(1, 49_152, false, &[3; 64]),
        // Another last fragment of the same datagram drops the previous ones. It may be
        // from a packet, and becomes damage when it is dropped in turn.
        &piece(2, 256, false, &other),
        &piece(3, 256, false, last),
        &piece(4, 0, true, first),
    ]
    .concat();
    let (log, packets) = opened(file.into());
    assert_eq!(log.manifest().damage.len(), 1);
    assert_eq!(packets["position"].len(), 1);
    assert_eq!(&*packets["position"][0].1, &whole[8..]);
}
