//! Packets of lidars in made layers: tunnels, fragments, damaged headers.

use bytes::Bytes;
use logtool_core::{DamageKind, Log as _};
use logtool_velodyne::capture::CaptureLog;

use crate::{PacketsByTopic, count, open_and_read};

/// Makes a frame of an IP packet, of a datagram, or of a packet of a lidar.
pub(super) type Wrap<'w> = &'w dyn Fn(&[u8]) -> Vec<u8>;

/// The number of packets in each made capture.
pub(super) const PACKETS: usize = 20;

/// The link type of Ethernet.
pub(super) const ETHERNET: u32 = 1;

pub(super) const MAC: [u8; 6] = [0x60, 0x76, 0x88, 0, 0, 1];
pub(super) const OUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Returns the data packet with this number: blocks of one bank, the time, and the last bytes
/// of a VLP-16 with the strongest return.
pub(super) fn data_packet(number: usize) -> Vec<u8> {
    let mut packet = vec![7; 1_206];
    for (index, block) in packet.chunks_exact_mut(100).enumerate() {
        let azimuth = (480 * number + 40 * index) as u16;
        block[..2].copy_from_slice(&[0xff, 0xee]);
        block[2..4].copy_from_slice(&azimuth.to_le_bytes());
    }
    packet[1_200..1_204].copy_from_slice(&(1_327 * number as u32).to_le_bytes());
    packet[1_204..].copy_from_slice(&[0x37, 0x22]);
    packet
}

pub(super) fn be16<const N: usize>(numbers: [usize; N]) -> Vec<u8> {
    numbers.map(|number| (number as u16).to_be_bytes()).concat()
}

/// Returns a UDP packet from and to `port`, without a checksum.
pub(super) fn udp(port: usize, payload: &[u8]) -> Vec<u8> {
    [&be16([port, port, 8 + payload.len(), 0])[..], payload].concat()
}

/// Returns an IPv4 packet from 192.168.1.201 with this field of flags and fragment offset.
fn fragment(protocol: u8, id: usize, field: usize, contents: &[u8]) -> Vec<u8> {
    let fields = be16([0x4500, 20 + contents.len(), id, field]);
    let mut header = [&fields[..], &[64, protocol, 0, 0]].concat();
    header.extend([192, 168, 1, 201, 255, 255, 255, 255]);
    let words = header.chunks_exact(2);
    let sum: u32 =
        words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header, contents].concat()
}

pub(super) fn ip4(protocol: u8, contents: &[u8]) -> Vec<u8> {
    fragment(protocol, 7, 0, contents)
}

/// Returns an IPv6 packet from ::1.
pub(super) fn ip6(protocol: u8, contents: &[u8]) -> Vec<u8> {
    let header = be16([0x6000, 0, contents.len()]);
    let mut localhost = [0; 16];
    localhost[15] = 1;
    [&header[..], &[protocol, 64], &localhost, &localhost, contents].concat()
}

pub(super) fn ethernet(mac: [u8; 6], kind: usize, contents: &[u8]) -> Vec<u8> {
    [&[0xff; 6][..], &mac, &be16([kind]), contents].concat()
}

/// Returns the IP packet of the data packet with this number.
pub(super) fn lidar_ip(number: usize) -> Vec<u8> {
    ip4(17, &udp(2368, &data_packet(number)))
}

/// Returns the frame of the data packet with this number.
pub(super) fn lidar_frame(number: usize) -> Vec<u8> {
    ethernet(MAC, 0x0800, &lidar_ip(number))
}

/// Returns a pcap of `frames`, a millisecond apart, captured up to `snap_len` bytes.
pub(super) fn capture(link: u32, snap_len: usize, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut capture = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    capture.extend([0, 0, 0xffff, link].map(u32::to_le_bytes).concat());
    for (index, frame) in (1..).zip(frames) {
        let captured = &frame[..frame.len().min(snap_len)];
        let lengths = [captured.len(), frame.len()].map(|len| len as u32);
        capture.extend([1, 1_000 * index].map(u32::to_le_bytes).concat());
        capture.extend(lengths.map(u32::to_le_bytes).concat());
        capture.extend(captured);
    }
    capture
}

/// Returns a capture of Ethernet frames, one of each packet.
pub(super) fn frames_of(frame: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let frames: Vec<_> = (0..PACKETS).map(frame).collect();
    capture(ETHERNET, usize::MAX, &frames)
}

/// Opens a capture with one lidar, whose packets are the data packets with these `numbers`.
#[track_caller]
pub(super) fn read_packets(
    capture: Vec<u8>,
    numbers: impl IntoIterator<Item = usize>,
) -> CaptureLog {
    let (log, packets_by_topic) = open_and_read(capture.into());
    assert_eq!(packets_by_topic.keys().collect::<Vec<_>>(), ["velodyne_packets"]);
    let read: Vec<_> = payloads(&packets_by_topic, "velodyne_packets");
    let expected: Vec<_> = numbers.into_iter().map(data_packet).collect();
    assert!(read == expected, "{} of {} packets", read.len(), expected.len());
    log
}

fn payloads(packets_by_topic: &PacketsByTopic, topic: &str) -> Vec<Bytes> {
    packets_by_topic[topic].iter().map(|(_, payload)| payload.clone()).collect()
}

/// Returns the numbers of lost and of doubtful packets.
pub(super) fn damaged_packets(log: &CaptureLog) -> (u64, u64) {
    let (doubtful, lost): (Vec<_>, Vec<_>) = log
        .manifest()
        .damage
        .iter()
        .partition(|damage| damage.kind == DamageKind::Doubtful);
    let [lost, doubtful] = [lost, doubtful]
        .map(|damage| damage.iter().map(|damage| damage.records).sum::<u64>());
    (lost, doubtful)
}

/// Returns the two frames of the data packet with this number, in fragments.
pub(super) fn fragments(number: usize, udp: &[u8]) -> [Vec<u8>; 2] {
    [
        ethernet(MAC, 0x0800, &fragment(17, number, 0x2000, &udp[..800])),
        ethernet(MAC, 0x0800, &fragment(17, number, 100, &udp[800..])),
    ]
}

#[test]
fn more_ip_packets_than_are_followed_are_searched() {
    for depth in [8, 9, 30] {
        let capture = frames_of(|number| {
            let nested = (1..depth).fold(lidar_ip(number), |packet, _| ip4(4, &packet));
            ethernet(OUTER_MAC, 0x0800, &nested)
        });
        let log = read_packets(capture, 0..PACKETS);
        assert_eq!(damaged_packets(&log), (0, 0));
        let found = if depth == 8 { 0 } else { PACKETS as u64 };
        assert_eq!(count(&log, "packets_in_unknown_layers"), found);
    }
}

#[test]
fn fragments_without_a_checksum_in_unknown_layers_are_reassembled() {
    let v6_fragment = |number: usize, offset_and_flag, contents: &[u8]| {
        let header = be16([17 << 8, offset_and_flag, 0, number]);
        ip6(44, &[&header, contents].concat())
    };
    let redundancy = |packet: &[u8]| {
        let tag = be16([0, 7, 0x0800]);
        ethernet(MAC, 0xf1c1, &[&tag, packet].concat())
    };
    let in_udp = |packet: &[u8]| {
        ethernet(OUTER_MAC, 0x0800, &ip4(17, &udp(4_341, &[&[0; 8], packet].concat())))
    };
    let plain = |packet: &[u8]| ethernet(MAC, 0x88b5, packet);
    let with_trailer =
        |packet: &[u8]| ethernet(MAC, 0x88b5, &[packet, &[9; 4]].concat());
    let wraps: [Wrap<'_>; 4] = [&redundancy, &in_udp, &plain, &with_trailer];
    for wrap in wraps {
        for version in [4, 6] {
            let frames = (0..PACKETS).flat_map(|number| {
                let udp = udp(2368, &data_packet(number));
                let (first, last) = udp.split_at(800);
                let mut packets = match version {
                    4 => [
                        fragment(17, number, 0x2000, first),
                        fragment(17, number, 100, last),
                    ],
                    _ => {
                        [v6_fragment(number, 1, first), v6_fragment(number, 800, last)]
                    }
                };
                if version == 4 {
                    packets.iter_mut().for_each(|packet| packet[10..12].fill(0));
                }
                packets.map(|packet| wrap(&packet))
            });
            let frames: Vec<_> = frames.collect();
            let capture = capture(ETHERNET, usize::MAX, &frames);
            let log = read_packets(capture, 0..PACKETS);
            assert_eq!(damaged_packets(&log), (0, 0));
            let found = count(&log, "packets_in_unknown_layers");
            assert_eq!(found, PACKETS as u64);
        }
    }
}

/// Opens a capture of `frames`, each captured up to 900 bytes, and expects that the complete
/// blocks of all packets are read.
#[track_caller]
fn read_cut_packets(frames: &[Vec<u8>]) {
    let capture = capture(ETHERNET, 900, frames);
    let (log, packets_by_topic) = open_and_read(capture.into());
    assert_eq!(packets_by_topic.keys().collect::<Vec<_>>(), ["velodyne_packets"]);
    let read = payloads(&packets_by_topic, "velodyne_packets");
    assert_eq!(read.len(), frames.len());
    for (number, packet) in read.iter().enumerate() {
        // At least seven blocks of 100 bytes, after at most 200 bytes of headers.
        assert_eq!(packet[..700], data_packet(number)[..700]);
    }
    assert_eq!(damaged_packets(&log), (0, frames.len() as u64));
}

#[test]
fn complete_blocks_are_read_in_unknown_datagrams() {
    let datagram = |port, contents: &[u8]| {
        ethernet(OUTER_MAC, 0x0800, &ip4(17, &udp(port, contents)))
    };
    let lisp = |number| datagram(4_341, &[&[0; 8], &lidar_ip(number)[..]].concat());
    let vxlan = |number| {
        let header = [8, 0, 0, 0, 0, 0, 0x2a, 0];
        datagram(48_879, &[&header, &lidar_frame(number)[..]].concat())
    };
    let udp_lite = |number| {
        let header = be16([2368, 2368, 8, 0x1234]);
        let contents = [&header[..], &data_packet(number)].concat();
        ethernet(MAC, 0x0800, &ip4(136, &contents))
    };
    let prefix = |number| {
        let contents = [b"relay:", &data_packet(number)[..]].concat();
        ethernet(MAC, 0x0800, &ip4(17, &udp(2368, &contents)))
    };
    let make_frames: [&dyn Fn(usize) -> Vec<u8>; 4] =
        [&lisp, &vxlan, &udp_lite, &prefix];
    for make_frame in make_frames {
        read_cut_packets(&(0..PACKETS).map(make_frame).collect::<Vec<_>>());
    }
}

/// Returns the datagram that RoboSense sends: the same blocks after a header of 42 bytes.
fn robosense(number: usize) -> Vec<u8> {
    let mut header = vec![0; 42];
    header[..8].copy_from_slice(&[0x55, 0xaa, 0x05, 0x0a, 0x5a, 0xa5, 0x50, 0xa0]);
    udp(6_699, &[&header, &data_packet(number)[..]].concat())
}

/// Returns the datagram that LSLidar sends: the same blocks before a tail of 12 bytes.
fn lslidar(number: usize) -> Vec<u8> {
    udp(2_368, &[&data_packet(number)[..], &[24, 1, 2, 3, 4, 5]].concat())
}

#[test]
fn packets_of_other_lidars_with_similar_blocks_are_not_read() {
    let plain = |udp: &[u8]| ethernet(MAC, 0x0800, &ip4(17, udp));
    let unknown = |udp: &[u8]| ethernet(MAC, 0x88b5, &ip4(17, udp));
    let in_udp = |udp: &[u8]| {
        let contents = [&[0; 8], &ip4(17, udp)[..]].concat();
        ethernet(MAC, 0x0800, &ip4(17, &crate::layers::udp(4_341, &contents)))
    };
    let wraps: [Wrap<'_>; 3] = [&plain, &unknown, &in_udp];
    for (make, snap_len) in [
        (robosense as fn(usize) -> Vec<u8>, usize::MAX),
        (robosense, 900),
        (lslidar, usize::MAX),
        (lslidar, 900),
    ] {
        for wrap in wraps {
            let frames: Vec<_> =
                (0..PACKETS).map(|number| wrap(&make(number))).collect();
            let capture = capture(ETHERNET, snap_len, &frames);
            let source = std::sync::Arc::new(Bytes::from(capture));
            let log = CaptureLog::open(source, logtool_core::OpenOptions::default());
            let packets = log.map_or(0, |log| count(&log, "packets"));
            assert_eq!(packets, 0);
        }
    }
}

#[test]
fn packets_with_a_prefix_or_a_trailer_are_read() {
    let datagram = |number, port, prefix: &[u8], trailer: &[u8]| {
        let payload = [prefix, &data_packet(number), trailer].concat();
        ethernet(MAC, 0x0800, &ip4(17, &udp(port, &payload)))
    };
    for (port, prefix, trailer) in [
        (2_368, &b""[..], &[0; 8][..]),
        (2_368, b"", &[0; 1]),
        (2_368, b"", &[9; 56]),
        (9_999, b"", &[0; 4]),
        (2_368, b"relay:", b""),
        (2_370, b"relay: ", &[1; 3]),
    ] {
        let frames = frames_of(|number| datagram(number, port, prefix, trailer));
        let log = read_packets(frames, 0..PACKETS);
        assert_eq!(damaged_packets(&log), (0, 0));
        assert_eq!(count(&log, "packets_in_unknown_layers"), PACKETS as u64);
        let one = frames_of(|number| match number {
            7 => datagram(number, port, prefix, trailer),
            _ => datagram(number, port, b"", b""),
        });
        let log = read_packets(one, 0..PACKETS);
        assert_eq!(damaged_packets(&log), (0, 0));
        assert_eq!(count(&log, "packets_in_unknown_layers"), 1);
    }
}

#[test]
fn all_packets_of_a_frame_are_read() {
    let pair = |first: usize| [first, first + 1];
    let unknown = |numbers: &[usize]| {
        let packets: Vec<_> = numbers.iter().map(|number| lidar_ip(*number)).collect();
        ethernet(MAC, 0x88b5, &packets.concat())
    };
    let coalesced = |port| {
        move |numbers: &[usize]| {
            let packets: Vec<_> =
                numbers.iter().map(|number| data_packet(*number)).collect();
            ethernet(MAC, 0x0800, &ip4(17, &udp(port, &packets.concat())))
        }
    };
    let aggregate = |numbers: &[usize]| {
        let header = [&[0x88, 2, 0, 0][..], &[0xff; 6], &OUTER_MAC, &MAC];
        let mut frame = [&header.concat()[..], &[0x10, 0, 0x80, 0]].concat();
        for number in numbers {
            let packet = lidar_ip(*number);
            frame.extend([0xff; 6]);
            frame.extend(MAC);
            frame.extend(be16([8 + packet.len()]));
            frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
            frame.extend(&packet);
            frame.resize(26 + (frame.len() - 26).next_multiple_of(4), 0);
        }
        frame
    };
    let (coalesced, other_port) = (coalesced(2_368), coalesced(9_999));
    type WrapNumbers<'w> = &'w dyn Fn(&[usize]) -> Vec<u8>;
    let wraps: [(u32, WrapNumbers<'_>); 4] = [
        (ETHERNET, &unknown),
        (ETHERNET, &coalesced),
        (ETHERNET, &other_port),
        (105, &aggregate),
    ];
    for (link, wrap) in wraps {
        // Pairs, and frames with one to five packets.
        let pairs: Vec<_> =
            (0..PACKETS).step_by(2).map(|first| wrap(&pair(first))).collect();
        let log = read_packets(capture(link, usize::MAX, &pairs), 0..PACKETS);
        assert_eq!(damaged_packets(&log), (0, 0));
        let numbers =
            [&[0][..], &[1, 2], &[3, 4, 5], &[6, 7, 8, 9, 10], &[11], &[12, 13]];
        let frames: Vec<_> = numbers.into_iter().map(wrap).collect();
        let log = read_packets(capture(link, usize::MAX, &frames), 0..14);
        assert_eq!(damaged_packets(&log), (0, 0));
        // A mirror port sends each frame twice.
        let twice: Vec<_> =
            pairs.iter().flat_map(|frame| [frame.clone(), frame.clone()]).collect();
        let log = read_packets(capture(link, usize::MAX, &twice), 0..PACKETS);
        assert_eq!(count(&log, "duplicate_packets"), 10);
    }
    // The second packet of a frame is cut, and each datagram has fragments.
    let frames: Vec<_> =
        (0..PACKETS).step_by(2).map(|first| coalesced(&pair(first))).collect();
    let (log, packets) =
        open_and_read(capture(ETHERNET, 42 + 1_206 + 250, &frames).into());
    let packets = payloads(&packets, "velodyne_packets");
    assert_eq!((packets.len(), damaged_packets(&log)), (PACKETS, (0, 10)));
    assert!(
        packets
            .iter()
            .enumerate()
            .all(|(n, packet)| packet[..200] == data_packet(n)[..200])
    );
    let frames = (0..PACKETS).step_by(2).flat_map(|first| {
        let packets = [data_packet(first), data_packet(first + 1)].concat();
        fragments(first, &udp(2_368, &packets))
    });
    let frames: Vec<_> = frames.collect();
    read_packets(capture(ETHERNET, usize::MAX, &frames), 0..PACKETS);
}
