//! Writes captures from captures and `.vel` logs.

use super::*;

/// Writes all logged records of `log` to a log of `format`.
fn rewrite(log: &dyn Log, format: &dyn Format) -> Result<Bytes, Error> {
    let selection =
        Selection { topics: log.manifest().logged_topics(), ..Selection::default() };
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let (mut out, options) = (std::io::Cursor::new(vec![]), WriteOptions::default());
    let mut sink = format.writer(Box::new(&mut out), &[slice], &options)?;
    let mut block = Block::default();
    for part in log.manifest().plan(&selection, u64::MAX) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            block.iter().try_for_each(|record| sink.write(0, record))?;
        }
    }
    sink.finish()?;
    Ok(out.into_inner().into())
}

#[test]
fn written_capture_has_the_packets_and_times_of_its_source() {
    let Some(packets) = packets() else { return };
    for name in ["std.pcapng", "ipfrag.pcap", "ipv6.pcap", "sll2.pcap", "vlan.pcap"] {
        let (log, _) = read(name);
        let (copy, read_packets) = open_and_read(rewrite(&log, &FORMAT).unwrap());
        assert_eq!(copy.manifest().damage, [], "{name}");
        let read_packets = &read_packets["velodyne_packets"];
        assert_eq!(read_packets.len(), packets.len(), "{name}");
        for ((time, bytes), (nanos, packet)) in read_packets.iter().zip(&packets) {
            assert!(time.as_nanos() == *nanos && bytes == packet, "{name}");
        }
        let sender = |log: &CaptureLog| {
            let metadata = &log.manifest().topics[0].metadata;
            (metadata["address"].clone(), metadata["port"].clone())
        };
        assert_eq!(sender(&copy), sender(&log), "{name}");
    }
    let (log, _) = read("simplepackets.pcapng");
    let err = rewrite(&log, &FORMAT).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Unsupported);
}

#[test]
fn packets_keep_their_times_in_a_vel_log() {
    let Some(packets) = packets() else { return };
    let (log, _) = read("ns.pcap");
    let bytes = rewrite(&log, &vel::FORMAT).unwrap();
    let log = VelLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    let offset = log.manifest().clock.to_unix.as_ref().unwrap().offset_nanos;
    // The last full second before the first packet, because GPS messages have no fraction
    // of a second.
    assert_eq!(offset, packets[0].0 / 1_000_000_000 * 1_000_000_000);
    let capture = rewrite(&log, &FORMAT).unwrap();
    let (_, packets_by_topic) = open_and_read(capture);
    let captured = &packets_by_topic["velodyne_packets"];
    assert_eq!(captured.len(), 60);
    for ((time, bytes), (nanos, packet)) in captured.iter().zip(&packets) {
        assert!(time.as_nanos() == *nanos && bytes == packet);
    }
    let (log, _) = read("noise_two_sensors.pcap");
    let err = rewrite(&log, &vel::FORMAT).unwrap_err();
    assert!(err.to_string().contains("one lidar"), "{err}");
}
