//! Packets of arbitrary bytes for every model and formula cause no panic, and invalid
//! packets are reported.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use logtool_core::{Block, Columns, Decoder as _, Timestamp, TopicId};
use logtool_velodyne::{
    calibration::{Calibration, StatusStream},
    model::{Evidence, Model, ReturnMode, Sensor},
    packet::{DATA_BYTES, Firings},
    points::{Axes, BlankedSector, Formula, PointDecoder, PointOptions, TimeSource},
};

/// A generator of pseudo-random numbers.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns a packet of random bytes with the flags of any model and mostly valid azimuths,
/// and an arbitrary time.
fn packet(numbers: &mut RandomNumbers) -> (Timestamp, Vec<u8>) {
    let mut bytes: Vec<u8> = (0..DATA_BYTES).map(|_| numbers.next() as u8).collect();
    let bank_order = numbers.next() % 5;
    for block in 0..12 {
        let bank = match bank_order {
            0 => 0,
            1 => block % 2,
            2 => block % 4,
            3 => block / 2 % 4,
            _ => usize::from(block % 4 == 0),
        };
        let flag = [[0xff, 0xee], [0xff, 0xdd], [0xff, 0xcc], [0xff, 0xbb]][bank];
        let at = block * 100;
        bytes[at..at + 2].copy_from_slice(&flag);
        if !numbers.next().is_multiple_of(50) {
            let azimuth = (numbers.next() % 36_001) as u16;
            bytes[at + 2..at + 4].copy_from_slice(&azimuth.to_le_bytes());
        }
    }
    let nanos = match numbers.next() % 8 {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => numbers.next() as i64,
        _ => (numbers.next() % 1_000_000_000) as i64,
    };
    (Timestamp::from_nanos(nanos), bytes)
}

#[test]
fn arbitrary_packets_are_decoded_or_reported() {
    let mut numbers = RandomNumbers(1);
    let packets: Vec<_> = (0..300).map(|_| packet(&mut numbers)).collect();
    let mut block = Block::default();
    let bytes: Vec<u8> = packets.iter().flat_map(|(_, bytes)| bytes).copied().collect();
    block.reset(Bytes::from(bytes), 0);
    for (at, (time, _)) in packets.iter().enumerate() {
        block.push(TopicId(0), *time, at * DATA_BYTES..(at + 1) * DATA_BYTES);
    }
    // A record that is too short, and one that is empty.
    block.push(TopicId(0), Timestamp::from_nanos(0), 0..DATA_BYTES - 1);
    block.push(TopicId(0), Timestamp::from_nanos(0), 7..7);
    let modes = [ReturnMode::Strongest, ReturnMode::Last, ReturnMode::Dual];
    for (model, returns) in Model::ALL.iter().flat_map(|m| modes.map(|r| (*m, r))) {
        for formula in Formula::ALL {
            let mut options = PointOptions::default();
            options.formula = formula;
            options.axes = Axes::Manual;
            options.scan_start = (numbers.next() % 65_536) as u16;
            options.time = TimeSource::Sensor { hour_nanos: numbers.next() as i64 };
            options.blanked = Some(BlankedSector {
                from: (numbers.next() % 36_000) as u16,
                to: (numbers.next() % 36_000) as u16,
                // Delays of blocks after the sector may exceed the range of times.
                rotation_nanos: numbers.next() >> (numbers.next() % 64),
                is_stamped_at_end: numbers.next().is_multiple_of(2),
                starts_later: false,
            });
            let calibration = Calibration::for_model(model);
            let sensor = Sensor { model, returns };
            let columns = Columns::default();
            let mut decoder =
                PointDecoder::new(sensor, &calibration, options, &columns).unwrap();
            let mut damage = vec![];
            block.runs().for_each(|run| decoder.append(run, &mut damage));
            let batch = decoder.take().unwrap();
            assert!(batch.num_rows() <= 300 * 384);
            let damaged_records: u64 = damage.iter().map(|damage| damage.records).sum();
            assert!((2..=302).contains(&damaged_records), "{model}: {damaged_records}");
        }
    }
}

#[test]
fn arbitrary_bytes_are_accepted_as_evidence_and_status() {
    let mut numbers = RandomNumbers(2);
    let mut evidence = Evidence::default();
    let mut stream = StatusStream::new(288.0);
    for _ in 0..20_000 {
        let (_, bytes) = packet(&mut numbers);
        let tail = Firings::new(&bytes).unwrap().tail();
        let status_type = b"HMSDNYGTV1234567W"[(numbers.next() % 17) as usize];
        stream.add(tail.micros, status_type, tail.status_value);
        stream.add(tail.micros, tail.status_type, tail.status_value);
        evidence.add(&bytes);
    }
    let _ = evidence.detect();
    assert_eq!(stream.report().calibration, None);
}
