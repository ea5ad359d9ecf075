//! The points of each scan are within the row group of the scan, for all samples and for
//! irregular rotations.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::sync::Arc;

use arrow_array::{
    Array as _, RecordBatch,
    cast::AsArray as _,
    types::{TimestampNanosecondType, UInt32Type},
};
use bytes::Bytes;
use logtool_core::{
    Block, Columns, Decoder as _, Format, Log, OpenOptions, Record, RowGroup,
    Selection, TimeRange, Timestamp, TopicId, TopicOrigin, View, conformance,
};
use logtool_velodyne::{
    calibration::Calibration,
    capture,
    model::{Model, ReturnMode, Sensor},
    packet::{DATA_BYTES, Firings},
    points::{PointDecoder, PointOptions, ScanIndex, ScanNumbers, ScanTracker},
    vel,
};

/// Returns the scan number and the time of each point.
fn rows(points: &RecordBatch) -> Vec<(usize, Option<i64>)> {
    let scans = points["scan"].as_primitive::<UInt32Type>();
    let times = points["time"].as_primitive::<TimestampNanosecondType>();
    let time = |row: usize| times.is_valid(row).then(|| times.value(row));
    (0..points.num_rows()).map(|row| (scans.value(row) as usize, time(row))).collect()
}

/// Returns whether a record with this offset and length may contain points of `scan`.
fn may_contain_scan(groups: &[RowGroup], scan: usize, offset: u64, len: usize) -> bool {
    let group = &groups[scan.min(groups.len() - 1)];
    let next_start = groups.get(scan + 1).map_or(u64::MAX, |next| next.start);
    offset + len as u64 >= group.first_record && offset <= next_start
}

/// Asserts that each point of `topic` is within the group of its scan. Returns the number of
/// points.
fn assert_points_in_groups(name: &str, log: &dyn Log, topic: TopicId) -> usize {
    let groups = log.row_groups(topic, TimeRange::ALL).unwrap().unwrap();
    assert!(groups.is_sorted_by_key(|group| group.start), "{name}");
    assert!(groups.iter().all(|group| group.first_record <= group.start), "{name}");
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::new(View::Flat)).unwrap();
    let (mut block, mut count) = (Block::default(), 0);
    for part in log.manifest().plan(&selection, 1 << 20) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            for run in block.runs().flat_map(logtool_core::Run::single_record_runs) {
                decoder.append(run, &mut Vec::new());
                let Record { offset, payload, .. } = run.records().next().unwrap();
                for (scan, time) in rows(&decoder.take().unwrap()) {
                    let case = format!("{name}: scan {scan} at {offset}");
                    let len = payload.len();
                    assert!(may_contain_scan(&groups, scan, offset, len), "{case}");
                    assert!(scan <= groups.len(), "{case}");
                    let group = groups.get(scan).or(groups.last()).unwrap();
                    let is_in_group =
                        |time| group.time.contains(Timestamp::from_nanos(time));
                    assert!(time.is_none_or(is_in_group), "{case}: {time:?} {group:?}");
                    count += 1;
                }
            }
        }
    }
    count
}

#[test]
fn points_of_samples_are_within_their_groups() {
    let formats: [(&dyn Format, &[&str]); 2] =
        [(&capture::FORMAT, &["pcap", "pcapng"]), (&vel::FORMAT, &["vel"])];
    for (format, extensions) in formats {
        for folder in ["velodyne", "velodyne/pcap_variants"] {
            for (name, bytes) in conformance::samples(folder, extensions) {
                let bytes: Bytes = bytes;
                let Ok(log) = format.open(Arc::new(bytes), OpenOptions::default())
                else {
                    continue;
                };
                for (id, topic) in log.manifest().topics() {
                    let is_points = topic.origin == TopicOrigin::Derived;
                    if is_points && log.decoder(id, &Columns::default()).is_ok() {
                        let count = assert_points_in_groups(&name, &*log, id);
                        assert!(count > 0, "{name}");
                    }
                }
            }
        }
    }
}

/// Returns a pseudo-random number below `limit`.
fn random(state: &mut u64, limit: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % limit
}

#[test]
fn points_of_irregular_rotations_are_within_their_groups() {
    let state = &mut 11;
    // The points in packets before the one in which their scan starts.
    let mut early_points = 0;
    for round in 0..60 {
        let models = [
            Model::Hdl64eS2,
            Model::Hdl64eS1,
            Model::Vlp16,
            Model::Hdl32e,
            Model::Vls128,
        ];
        let returns = [ReturnMode::Strongest, ReturnMode::Dual][round % 2];
        let sensor = Sensor { model: models[round / 2 % 5], returns };
        let mut options = PointOptions::default();
        options.scan_start = random(state, 36_000) as u16;
        let (mut azimuth, mut nanos) = (random(state, 36_000), 1_000_000_000_000);
        let mut packets: Vec<(i64, Vec<u8>)> = Vec::new();
        for _ in 0..1_000 {
            match random(state, 40) {
                0 => azimuth += random(state, 36_000),
                1 => nanos += random(state, 300_000_000) as i64,
                2 => azimuth += 36_000 - random(state, 300),
                _ => {}
            }
            // Some packets are not from a lidar.
            let step = if random(state, 50) == 0 {
                random(state, 9_000)
            } else {
                5 + random(state, 90)
            };
            let mut packet = vec![1; DATA_BYTES];
            for (block, bytes) in packet.chunks_exact_mut(100).enumerate() {
                let has_two_banks =
                    sensor.model == Model::Hdl64eS2 || sensor.model == Model::Hdl64eS1;
                let is_second_bank = has_two_banks && block % 2 == 1;
                let flag = if is_second_bank { [255, 221] } else { [255, 238] };
                let turned = azimuth + block as u64 * step;
                bytes[..2].copy_from_slice(&flag);
                bytes[2..4].copy_from_slice(&((turned % 36_000) as u16).to_le_bytes());
            }
            azimuth += 12 * step;
            nanos += sensor.packet_nanos() as i64;
            packets.push((nanos, packet));
        }
        let (mut tracker, mut index) =
            (ScanTracker::new(sensor, options), ScanIndex::default());
        let offset = |at: usize| (at * DATA_BYTES) as u64;
        for (at, (nanos, packet)) in packets.iter().enumerate() {
            let headers = Firings::new(packet).unwrap().headers();
            index.add(
                &mut tracker,
                &headers,
                offset(at),
                Timestamp::from_nanos(*nanos),
            );
        }
        let groups = index.row_groups();
        let calibration = Calibration::for_model(sensor.model);
        let decoder =
            PointDecoder::new(sensor, &calibration, options, &Columns::default());
        let mut decoder =
            decoder.unwrap().with_scans(ScanNumbers::Indexed(Arc::new(index)));
        for (at, (nanos, packet)) in packets.iter().enumerate() {
            let time = Timestamp::from_nanos(*nanos);
            let (topic, payload, offset) = (TopicId(0), &packet[..], offset(at));
            decoder.add(Record { topic, stream: 0, time, payload, offset });
            for (scan, _) in rows(&decoder.take().unwrap()) {
                let case = format!("{sensor} {round}: scan {scan} in packet {at}");
                assert!(
                    may_contain_scan(&groups, scan, offset, DATA_BYTES - 1),
                    "{case}"
                );
                let starts_later =
                    groups.get(scan).is_some_and(|group| group.start > offset);
                early_points += usize::from(starts_later);
            }
        }
    }
    assert!(early_points > 0, "no point is of a scan that starts in the next packet");
}
