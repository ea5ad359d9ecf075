//! Duplicate frames from the mirror port of a switch, and fragments of incomplete datagrams.

use bytes::Bytes;
use logtool_core::Log as _;

use crate::{count, frames, open_and_read, sample};

/// Returns the capture `bytes` with a duplicate of each frame, `micros` later.
fn with_duplicates(bytes: &[u8], micros: u32) -> Bytes {
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
        let (plain, packets_once) = open_and_read(bytes.clone());
        for micros in [0, 7] {
            let (log, packets_by_topic) =
                open_and_read(with_duplicates(&bytes, micros));
            assert!(packets_by_topic == packets_once, "{name}");
            assert_eq!(log.manifest().damage, [], "{name}");
            let lidars = |log: &dyn logtool_core::Log| {
                let topics = log.manifest().topics.iter();
                topics
                    .map(|topic| topic.metadata.get("lidar").cloned())
                    .collect::<Vec<_>>()
            };
            assert!(lidars(&plain).iter().any(Option::is_some), "{name}");
            assert_eq!(lidars(&log), lidars(&plain));
            match packets {
                // Duplicates of fragments are not counted as duplicate packets.
                Some(packets) => assert_eq!(count(&log, "packets"), packets),
                None => assert_eq!(
                    count(&log, "duplicate_packets"),
                    count(&plain, "packets") + count(&plain, "position_packets")
                ),
            }
        }
    }
}

/// Returns a frame of a pcap with the fragment `bytes` at `offset` of a UDP datagram.
pub(super) fn fragment(
    micros: u32,
    offset: u16,
    has_next: bool,
    bytes: &[u8],
) -> Vec<u8> {
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
    // A position packet of 512 bytes after the UDP header of 8 bytes (520 = 0x208), from and
    // to port 8308 (0x2074).
    let mut datagram = vec![0x20, 0x74, 0x20, 0x74, 2, 8, 0, 0];
    datagram.extend([0; 206 - 14]);
    datagram.extend([1; 14]);
    datagram.extend(b"$GPRMC");
    datagram.resize(520, 0);
    let (first, last) = datagram.split_at(256);
    let different_last = vec![9; last.len()];
    let file = [
        &[
            0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
            0, 0, 0,
        ][..],
        // Two fragments that are not from a lidar: no damage.
        &fragment(0, 256, false, last),
        &fragment(1, 49_152, false, &[3; 64]),
        // A different last fragment of the same datagram drops the previous fragments. It
        // may be from a packet, so it is damage when the next fragment drops it.
        &fragment(2, 256, false, &different_last),
        &fragment(3, 256, false, last),
        &fragment(4, 0, true, first),
    ]
    .concat();
    let (log, packets) = open_and_read(file.into());
    assert_eq!(log.manifest().damage.len(), 1);
    assert_eq!(packets["position"].len(), 1);
    assert_eq!(&*packets["position"][0].1, &datagram[8..]);
}
