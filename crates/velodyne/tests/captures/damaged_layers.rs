//! Damaged headers of packets in made layers.

use crate::{
    layers::{
        ETHERNET, MAC, OUTER_MAC, PACKETS, Wrap, be16, capture, damaged_packets,
        data_packet, ethernet, fragments, frames_of, ip4, ip6, lidar_frame, lidar_ip,
        read_packets, udp,
    },
    open_and_read,
};

#[test]
fn damaged_layers_do_not_make_a_second_lidar() {
    let gre = |number| {
        let contents = [&be16([0, 0x0800])[..], &lidar_ip(number)].concat();
        ethernet(OUTER_MAC, 0x0800, &ip4(47, &contents))
    };
    let ip_in_ip = |number| ethernet(OUTER_MAC, 0x0800, &ip4(4, &lidar_ip(number)));
    let vxlan = |number| {
        let contents =
            [&[8, 0, 0, 0, 0, 0, 0x2a, 0][..], &lidar_frame(number)].concat();
        ethernet(OUTER_MAC, 0x0800, &ip4(17, &udp(4789, &contents)))
    };
    let erspan = |number| {
        let headers = be16([0x1000, 0x88be, 0, 1, 0x1064, 1, 0, 0]);
        let contents = [&headers[..], &lidar_frame(number)].concat();
        ethernet(OUTER_MAC, 0x0800, &ip4(47, &contents))
    };
    let cooked = |number| {
        let header = [&be16([0, 1, 6])[..], &MAC, &be16([0, 0x0800])].concat();
        [header, lidar_ip(number)].concat()
    };
    let radiotap = |number| {
        let wifi = [&[8, 2, 0, 0][..], &[0xff; 6], &OUTER_MAC, &MAC, &[0x10, 0]];
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wifi.concat(), &snap, &lidar_ip(number)]
            .concat()
    };
    let protocol_253 = |number| {
        let contents = [&[0; 6], &lidar_ip(number)[..]].concat();
        ethernet(OUTER_MAC, 0x0800, &ip4(253, &contents))
    };
    type MakeFrame<'f> = &'f dyn Fn(usize) -> Vec<u8>;
    // The link type, the frames, and the byte and the bit that are changed.
    let cases: [(u32, MakeFrame<'_>, usize, u8); 10] = [
        (1, &gre, 12, 4),
        (1, &ip_in_ip, 12, 4),
        (1, &vxlan, 12, 4),
        (1, &vxlan, 36, 64),
        (1, &erspan, 12, 4),
        (113, &cooked, 5, 4),
        (127, &radiotap, 2, 32),
        (1, &protocol_253, 12, 4),
        (1, &protocol_253, 40, 1),
        (1, &protocol_253, 52, 1),
    ];
    for (index, (link, make_frame, byte, bit)) in cases.into_iter().enumerate() {
        let mut frames: Vec<_> = (0..PACKETS).map(make_frame).collect();
        let undamaged = capture(link, usize::MAX, &frames);
        assert_eq!(damaged_packets(&read_packets(undamaged, 0..PACKETS)), (0, 0));
        let is_unknown = link != 113;
        for number in [9, 12] {
            frames[number][byte] ^= bit;
            // An address is corrected in a single packet, unless the layer is unknown.
            if number == 9 || is_unknown {
                let capture = capture(link, usize::MAX, &frames);
                let log = read_packets(capture, 0..PACKETS);
                let doubtful = if number == 9 { 1 } else { 2 };
                assert_eq!(damaged_packets(&log), (0, doubtful), "case {index}");
            }
        }
    }
}

#[test]
fn wrong_udp_length_does_not_hide_the_ip_header() {
    let frames = frames_of(|number| {
        let mut packet = lidar_ip(number);
        packet[25] ^= if number == 9 { 1 } else { 0 };
        ethernet(OUTER_MAC, 0x0800, &ip4(253, &[&[0; 6], &packet[..]].concat()))
    });
    read_packets(frames, 0..PACKETS);
}

#[test]
fn damaged_port_is_corrected_where_header_checksums_are_not_verified() {
    let capture = frames_of(|number| {
        let mut frame = lidar_frame(number);
        frame[24] ^= 0x5a;
        frame[37] ^= if number == 9 { 2 } else { 0 };
        frame
    });
    let log = read_packets(capture, 0..PACKETS);
    assert_eq!(damaged_packets(&log), (0, 1));
}

#[test]
fn zeros_over_headers_are_damage() {
    let ipv6 =
        |number| ethernet(MAC, 0x86dd, &ip6(17, &udp(2368, &data_packet(number))));
    for frames in [frames_of(lidar_frame), frames_of(ipv6)] {
        let frame_len = (frames.len() - 24) / PACKETS;
        let start = 24 + frame_len * 9;
        // From the length of the frame on.
        for zero in start + 12..start + 16 + 64 {
            for len in [4, 8, 64, 512, 1_100, 1_300] {
                let mut frames = frames.clone();
                let end = (zero + len).min(start + frame_len);
                frames[zero..end].fill(0);
                let (log, packets_by_topic) = open_and_read(frames.into());
                let topics: Vec<_> = packets_by_topic.keys().collect();
                assert_eq!(topics, ["velodyne_packets"], "{zero} {len}");
                let packets = packets_by_topic["velodyne_packets"].len() as u64;
                let (lost, doubtful) = damaged_packets(&log);
                assert_eq!(packets + lost, PACKETS as u64, "{zero} {len}");
                assert!(packets == PACKETS as u64 || lost > 0, "{doubtful}");
            }
        }
    }
}

#[test]
fn wrong_udp_length_in_fragments_is_damage() {
    for len in [0, 7, 9, 1_213, 0xffff] {
        let frames = (0..PACKETS).flat_map(|number| {
            let mut udp = udp(2368, &data_packet(number));
            if number == 9 {
                udp[4..6].copy_from_slice(&be16([len]));
            }
            fragments(number, &udp)
        });
        let frames: Vec<_> = frames.collect();
        let capture = capture(ETHERNET, usize::MAX, &frames);
        let log = read_packets(capture, (0..PACKETS).filter(|number| *number != 9));
        assert_eq!(damaged_packets(&log).0, 1, "{len}");
    }
}

#[test]
fn corrupted_packets_in_unknown_layers_are_damage() {
    let unknown = |packet: &[u8]| ethernet(MAC, 0x88b5, &ip4(17, &udp(2368, packet)));
    let prefix = |packet: &[u8]| {
        ethernet(MAC, 0x0800, &ip4(17, &udp(2368, &[b"relay", packet].concat())))
    };
    let wraps: [Wrap<'_>; 2] = [&unknown, &prefix];
    for wrap in wraps {
        for blocks in [0..1, 3..4, 0..6] {
            let frames = frames_of(|number| {
                let mut packet = data_packet(number);
                if number == 9 {
                    blocks.clone().for_each(|block| packet[100 * block] ^= 4);
                }
                wrap(&packet)
            });
            let log = read_packets(frames, (0..PACKETS).filter(|number| *number != 9));
            assert_eq!(damaged_packets(&log), (1, 0));
        }
    }
}
