//! Benchmarks of the reader with a generated log in memory: `cargo bench -p
//! logtool-ulog`.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use divan::{Bencher, counter::BytesCount};
use logtool_core::{
    Block, Columns, Format as _, Log, LogSlice, OpenOptions, Selection, Source,
    TopicSort, View, WriteOptions,
};
use logtool_ulog::{FORMAT, UlogLog};

fn main() {
    divan::main();
}

/// Returns the records of `testdata/quad_flight.ulg`, repeated 100 times.
fn log() -> Bytes {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/quad_flight.ulg");
    let small = Bytes::from(std::fs::read(path).unwrap());
    let log = UlogLog::open(Arc::new(small), OpenOptions::default()).unwrap();
    let all = Selection::default();
    let mut out = std::io::Cursor::new(Vec::new());
    let extract = LogSlice { manifest: log.manifest(), selection: all.clone() };
    let options = WriteOptions::default();
    let mut writer = FORMAT.writer(Box::new(&mut out), &[extract], &options).unwrap();
    for _ in 0..100 {
        for part in log.manifest().plan(&all, u64::MAX) {
            let mut cursor = log.read(&part, &all).unwrap();
            logtool_core::copy_records(&mut *cursor, &mut *writer).unwrap();
        }
    }
    writer.finish().unwrap();
    out.into_inner().into()
}

fn open(bytes: &Bytes) -> UlogLog {
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    UlogLog::open(source, OpenOptions::default()).unwrap()
}

#[divan::bench]
fn build_manifest(bencher: Bencher<'_, '_>) {
    let bytes = log();
    bencher.counter(BytesCount::new(bytes.len())).bench(|| open(&bytes));
}

#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    let bytes = log();
    let log = open(&bytes);
    let all = Selection::default();
    let plan = log.manifest().plan(&all, u64::MAX);
    bencher.counter(BytesCount::new(bytes.len())).bench(|| {
        let (mut block, mut records) = (Block::default(), 0);
        for part in &plan {
            let mut cursor = log.read(part, &all).unwrap();
            while cursor.fill(&mut block).unwrap() {
                records += block.len();
            }
        }
        records
    });
}

#[divan::bench(args = ["nested", "flat"])]
fn decode(bencher: Bencher<'_, '_>, view: &str) {
    let view = if view == "flat" { View::Flat } else { View::Nested };
    let bytes = log();
    let log = open(&bytes);
    let all = Selection::default();
    let plan = log.manifest().plan(&all, 4 << 20);
    let topics = log.manifest().topics();
    let mut decoders: Vec<_> =
        topics.map(|(id, _)| log.decoder(id, &Columns::new(view)).unwrap()).collect();
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let (mut block, mut sort, mut rows) =
            (Block::default(), TopicSort::default(), 0);
        for part in &plan {
            let mut cursor = log.read(part, &all).unwrap();
            while cursor.fill(&mut block).unwrap() {
                block.sort_by_topic(&mut sort);
                for run in block.runs() {
                    let decoder = &mut decoders[run.topic().index()];
                    decoder.append(run, &mut Vec::new());
                }
            }
            for decoder in &mut decoders {
                rows += decoder.take().unwrap().num_rows();
            }
        }
        rows
    });
}
