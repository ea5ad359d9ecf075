//! Decodes packets to points, all columns, on one core: `cargo bench -p
//! logtool-velodyne`.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use divan::{Bencher, counter::ItemsCount};
use logtool_core::{Block, Columns, Decoder as _, Timestamp, TopicId};
use logtool_velodyne::{
    calibration::Calibration,
    model::{Model, ReturnMode, Sensor},
    packet::DATA_BYTES,
    points::{Formula, PointDecoder, PointOptions},
};

/// The number of decoded packets: one second of an HDL-64E.
const PACKETS: usize = 3_472;

/// The number of packets of a batch.
const BATCH_PACKETS: usize = 24;

fn main() {
    divan::main();
}

/// Returns packets of an HDL-64E S2 with ten rotations per second. Every fiftieth firing
/// has no return.
fn block() -> Block {
    let mut bytes = vec![];
    let mut seed = 1_u32;
    for packet in 0..PACKETS {
        for block in 0..12 {
            let flag = [0xeeff_u16, 0xddff][block % 2];
            let azimuth = (packet * 6 + block / 2) * 17 % 36_000;
            bytes.extend(flag.to_le_bytes());
            bytes.extend((azimuth as u16).to_le_bytes());
            for _ in 0..32 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let is_lost = seed >> 16 < 0xffff / 50;
                let distance = if is_lost { 0 } else { (seed >> 18) as u16 + 500 };
                bytes.extend(distance.to_le_bytes());
                bytes.push((seed >> 8) as u8);
            }
        }
        bytes.extend((packet as u32 * 288).to_le_bytes());
        bytes.extend([b'H', 12]);
    }
    let mut block = Block::default();
    block.reset(Bytes::from(bytes), 0);
    for packet in 0..PACKETS {
        let time = Timestamp::from_nanos(packet as i64 * 288_000);
        block.push(TopicId(0), time, packet * DATA_BYTES..(packet + 1) * DATA_BYTES);
    }
    block
}

fn bench(bencher: Bencher<'_, '_>, formula: Formula, columns: &Columns) {
    let block = block();
    let sensor = Sensor { model: Model::Hdl64eS2, returns: ReturnMode::Strongest };
    let calibration = Calibration::for_model(sensor.model);
    let mut options = PointOptions::default();
    options.formula = formula;
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        let mut decoder =
            PointDecoder::new(sensor, &calibration, options, columns).unwrap();
        let mut points = 0;
        for (at, record) in block.iter().enumerate() {
            assert!(decoder.add(record));
            if at % BATCH_PACKETS == BATCH_PACKETS - 1 {
                points += decoder.take().unwrap().num_rows();
            }
        }
        points
    });
}

#[divan::bench(args = Formula::ALL)]
fn hdl_64e_s2(bencher: Bencher<'_, '_>, formula: Formula) {
    bench(bencher, formula, &Columns::default());
}

#[divan::bench]
fn hdl_64e_s2_only_positions(bencher: Bencher<'_, '_>) {
    let columns = Columns { indices: Some(vec![1, 2, 3]), ..Columns::default() };
    bench(bencher, Formula::Manual, &columns);
}
