//! pcapng files with sections in different byte orders.

use super::*;

#[test]
fn sections_in_both_byte_orders_are_read() {
    let Some(packets) = packets() else { return };
    let (_, packets_by_topic) = read("two_sections_mixed_endian.pcapng");
    let packets_twice: Vec<_> = packets.iter().chain(&packets).collect();
    let captured = &packets_by_topic["velodyne_packets"];
    assert_eq!(captured.len(), 120);
    for ((time, bytes), (nanos, packet)) in captured.iter().zip(packets_twice) {
        assert!(time.as_nanos() == *nanos && bytes == packet);
    }
}

#[test]
fn inserted_bytes_lose_one_packet_in_both_byte_orders() {
    let Some(packets) = packets() else { return };
    let packets_twice = [&packets[..], &packets].concat();
    for (name, packets, damaged_index) in [
        ("std.pcapng", &packets, 14),
        ("be.pcapng", &packets, 14),
        ("two_sections_mixed_endian.pcapng", &packets_twice, 14),
        ("two_sections_mixed_endian.pcapng", &packets_twice, 74),
    ] {
        let bytes = sample(&format!("pcap_variants/{name}")).unwrap();
        let payload = &packets[damaged_index].1;
        let windows = bytes.windows(payload.len()).enumerate();
        let mut occurrences = windows.filter(|(_, window)| window == payload);
        let (payload_start, _) = occurrences.nth(damaged_index / 60).unwrap();
        let offset = payload_start + 600;
        let bytes = [&bytes[..offset], &[0; 100], &bytes[offset..]].concat();
        let (log, mut packets_by_topic) = open_and_read(Bytes::from(bytes));
        let read_packets: Vec<_> = packets_by_topic
            .remove("velodyne_packets")
            .unwrap()
            .into_iter()
            .map(|(time, bytes)| (time.as_nanos(), bytes))
            .collect();
        let mut undamaged = packets.clone();
        undamaged.remove(damaged_index);
        assert!(read_packets == undamaged, "{name}: {}", read_packets.len());
        let offset = offset as u64;
        let mut damage = log.manifest().damage.iter();
        assert!(damage.any(|damage| damage.bytes.contains(&offset)), "{name}");
    }
}
