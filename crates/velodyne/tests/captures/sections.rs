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
    for (name, packets, broken) in [
        ("std.pcapng", &packets, 14),
        ("be.pcapng", &packets, 14),
        ("two_sections_mixed_endian.pcapng", &packets_twice, 14),
        ("two_sections_mixed_endian.pcapng", &packets_twice, 74),
    ] {
        let bytes = sample(&format!("pcap_variants/{name}")).unwrap();
        let payload = &packets[broken].1;
        let read_packets = bytes.windows(payload.len()).enumerate();
        let mut read_packets = read_packets.filter(|(_, some)| some == payload);
        let at = read_packets.nth(broken / 60).unwrap().0 + 600;
        let bytes = [&bytes[..at], &[0; 100], &bytes[at..]].concat();
        let (log, mut read_packets) = opened(Bytes::from(bytes));
        let read_packets = read_packets.remove("velodyne_packets").unwrap();
        let read_packets =
            read_packets.iter().map(|(time, bytes)| (time.as_nanos(), bytes.clone()));
        let read_packets: Vec<_> = read_packets.collect();
        let mut rest = packets.clone();
        rest.remove(broken);
        assert!(read_packets.iter().eq(rest.iter()), "{name}: {}", read_packets.len());
        assert!(
            log.manifest().damage.iter().any(|gap| gap.bytes.contains(&(at as u64)))
        );
    }
}
