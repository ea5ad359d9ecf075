//! Scans are rotations of the head, even for real lidars.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{Payload, block, decode, packets, samples, sensor};
use logtool_core::{Columns, Decoder as _, Timestamp};
use logtool_velodyne::{
    calibration::Calibration,
    packet::Firings,
    points::{
        PARTIAL_SCANS, PointDecoder, PointOptions, ScanIndex, ScanNumbers, ScanTracker,
    },
};

/// Returns the index of the scans that start at `scan_start` in hundredths of a degree.
fn index(packets: &[Payload], scan_start: u16) -> ScanIndex {
    let mut options = PointOptions::default();
    options.scan_start = scan_start;
    let mut tracker = ScanTracker::new(sensor(packets), options);
    let mut index = ScanIndex::default();
    for (at, (nanos, payload)) in packets.iter().enumerate() {
        let time = Timestamp::from_nanos(*nanos);
        let packet = Firings::new(payload).unwrap().headers();
        index.add(&mut tracker, &packet, at as u64 * 1206, time);
    }
    index
}

const CAPTURES: [&str; 6] = [
    "hdl64e_atwallshort.pcap",
    "sim_hdl64e_s2.pcap",
    "sim_hdl64e_s3_dual.pcap",
    "veloview_monterey-first-100-packets.pcap",
    "vlp16_opendlv_sampleShort.pcap",
    "vlp16_nebula.pcap",
];

/// Returns how often the azimuth decreases by more than half a rotation, without the code
/// under test.
fn count_wraps(packets: &[Payload]) -> usize {
    let azimuths = packets.iter().flat_map(|(_, payload)| {
        (0..12).map(|block| {
            let at = block * 100 + 2;
            u16::from_le_bytes([payload[at], payload[at + 1]])
        })
    });
    let azimuths: Vec<u16> = azimuths.collect();
    azimuths.windows(2).filter(|w| i32::from(w[0]) - i32::from(w[1]) > 18_000).count()
}

#[test]
fn scans_start_where_the_azimuth_wraps_and_the_ends_are_partial() {
    let Some(samples) = samples() else { return };
    for name in CAPTURES {
        let packets = packets(&samples.join(name));
        let index = index(&packets, 0);
        let count = index.starts.len();
        assert_eq!(count, count_wraps(&packets) + 1, "{name}");
        let partial: Vec<u32> =
            (0..count as u32).filter(|scan| index.is_partial(*scan)).collect();
        let first = u16::from_le_bytes([packets[0].1[2], packets[0].1[3]]);
        // The first scan is complete if the block before its first block would be before
        // the scan start.
        let azimuth = |at: usize| {
            u16::from_le_bytes([packets[0].1[100 * at + 2], packets[0].1[100 * at + 3]])
        };
        let next = (1..12).map(azimuth).find(|azimuth| *azimuth != first).unwrap();
        let expected: Vec<u32> = if first < next - first {
            vec![count as u32 - 1]
        } else {
            vec![0, count as u32 - 1]
        };
        assert_eq!(partial, expected, "{name}");
        // The metadata of the column lists the same scans, and none that do not exist.
        let sensor = sensor(&packets);
        let calibration = Calibration::for_model(sensor.model);
        let (options, columns) = (PointOptions::default(), Columns::default());
        let decoder = PointDecoder::new(sensor, &calibration, options, &columns);
        let decoder =
            decoder.unwrap().with_scans(ScanNumbers::Indexed(Arc::new(index)));
        let schema = decoder.schema().clone();
        let listed = &schema.field_with_name("scan").unwrap().metadata()[PARTIAL_SCANS];
        let expected: Vec<String> = expected.iter().map(u32::to_string).collect();
        // A range if there are only two scans.
        let alternatives = [expected.join(","), "0-1".to_owned()];
        assert!(alternatives.contains(listed), "{name}: {listed}");
    }
}

#[test]
fn firings_after_any_scan_start_are_in_the_next_scan() {
    let Some(samples) = samples() else { return };
    for (name, scan_start) in [
        ("vlp16_opendlv_sampleShort.pcap", 0),
        ("vlp16_opendlv_sampleShort.pcap", 12_345),
        ("veloview_monterey-first-100-packets.pcap", 27_000),
    ] {
        let packets = packets(&samples.join(name));
        let sensor = sensor(&packets);
        let calibration = Calibration::for_model(sensor.model);
        let mut options = PointOptions::default();
        options.scan_start = scan_start;
        let points = decode(&packets, sensor, &calibration, options);
        // In a scan, the angle after the scan start only increases, except for the order of
        // the lasers in a block.
        let start_deg = f64::from(scan_start) / 100.0;
        let angle_after_start = |azimuth: f64| (azimuth - start_deg).rem_euclid(360.0);
        for row in 1..points.scan.len() {
            let previous = angle_after_start(points.azimuth[row - 1]);
            let current = angle_after_start(points.azimuth[row]);
            let is_new_scan = points.scan[row] != points.scan[row - 1];
            let wraps = previous > 350.0 && current < 10.0;
            assert_eq!(is_new_scan, wraps, "{name}, row {row}: {previous} {current}");
        }
    }
}

#[test]
fn parts_with_an_index_have_the_scan_numbers_of_the_whole() {
    let Some(samples) = samples() else { return };
    for name in CAPTURES {
        let packets = packets(&samples.join(name));
        let sensor = sensor(&packets);
        let calibration = Calibration::for_model(sensor.model);
        let options = PointOptions::default();
        let index = Arc::new(index(&packets, options.scan_start));
        let all_points = decode(&packets, sensor, &calibration, options);
        let block = block(&packets);
        let mut scans = vec![];
        for part in block.iter().collect::<Vec<_>>().chunks(37) {
            let columns = Columns { indices: Some(vec![11]), ..Columns::default() };
            let mut decoder =
                PointDecoder::new(sensor, &calibration, options, &columns).unwrap();
            decoder = decoder.with_scans(ScanNumbers::Indexed(index.clone()));
            part.iter().for_each(|record| assert!(decoder.add(*record)));
            let batch = decoder.take().unwrap();
            use arrow_array::{cast::AsArray as _, types::UInt32Type};
            let column = batch.column_by_name("scan").unwrap();
            scans.extend_from_slice(column.as_primitive::<UInt32Type>().values());
        }
        assert_eq!(scans, all_points.scan, "{name}");
    }
}

#[test]
fn lost_rotation_starts_a_new_scan() {
    let Some(samples) = samples() else { return };
    let mut packets = packets(&samples.join("vlp16_opendlv_sampleShort.pcap"));
    // A rotation has 76 packets. Without 70 packets, the azimuth seems to continue.
    let scan_count = index(&packets, 0).starts.len();
    packets.drain(120..190);
    let index = index(&packets, 0);
    assert_eq!(index.starts.len(), scan_count);
    let starts_elsewhere =
        index.starts.iter().filter(|start| !start.is_at_scan_start).count();
    let starts = &index.starts;
    assert_eq!(
        starts_elsewhere, 2,
        "the first scan, and that after the gap: {starts:?}"
    );
}
