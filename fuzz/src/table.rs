//! The laws of every table that opens.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Block, Columns, Format, Log, LogAccess, OpenOptions, Selection, TopicId, View,
    conformance,
};

/// Files up to this length are also checked with all laws of the core.
const SHORT: usize = 2_048;

/// The time and the payload of a record.
type Row = (i64, Vec<u8>);

/// Opens `file`, reads and decodes it completely, and panics if a law is violated.
pub fn check(format: &(dyn Format + std::panic::RefUnwindSafe), file: &[u8]) {
    // The crate `parquet` panics on some files, which the reader reports as an error. The hook of the
    // fuzzer would end the process before that.
    std::panic::set_hook(Box::new(|_| {}));
    let checked = std::panic::catch_unwind(|| check_file(format, file));
    if let Err(panic) = checked {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        eprintln!(
            "{}",
            text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
        );
        std::process::abort();
    }
}

fn check_file(format: &dyn Format, file: &[u8]) {
    let file = Bytes::copy_from_slice(file);
    let mut options = OpenOptions::default();
    options.block_bytes = [1 << 20, 4_099, 64, 257][file.len() % 4];
    let Ok(log) = format.open(Arc::new(file.clone()), options) else { return };
    let manifest = log.manifest();
    for pair in manifest.parts.windows(2) {
        assert_eq!(
            pair[0].bytes.end, pair[1].bytes.start,
            "parts follow on each other"
        );
    }
    for damage in &manifest.damage {
        assert!(
            damage.bytes.end <= file.len() as u64,
            "no damage goes beyond the file"
        );
    }
    let whole = read(&*log, u64::MAX);
    assert!(read(&*log, 0) == whole, "the parts have the rows of the whole");
    if manifest.access == LogAccess::Scanned {
        assert_eq!(manifest.records(), Some(whole.len() as u64));
    }
    for view in [View::Nested, View::Flat] {
        let rows = decode(&*log, view);
        assert_eq!(rows, whole.len(), "each record is a row");
    }
    if file.len() <= SHORT && manifest.access == LogAccess::Scanned {
        conformance::check_damaged(format, file);
    }
}

fn read(log: &dyn Log, target: u64) -> Vec<Row> {
    let (all, mut block, mut rows) =
        (Selection::default(), Block::default(), Vec::new());
    for part in log.manifest().plan(&all, target) {
        let mut cursor = log.read(&part, &all).expect("a planned part opens");
        while cursor.fill(&mut block).expect("bytes in memory are read") {
            let records = block.iter();
            rows.extend(
                records.map(|record| (record.time.as_nanos(), record.payload.to_vec())),
            );
        }
    }
    rows
}

/// Returns the number of decoded rows.
fn decode(log: &dyn Log, view: View) -> usize {
    let (all, mut block, mut rows) = (Selection::default(), Block::default(), 0);
    let mut decoder =
        log.decoder(TopicId(0), &Columns::new(view)).expect("a topic decodes");
    let mut damage = Vec::new();
    for part in log.manifest().plan(&all, u64::MAX) {
        let mut cursor = log.read(&part, &all).expect("a planned part opens");
        while cursor.fill(&mut block).expect("bytes in memory are read") {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
            rows += decoder.take().expect("rows are columns").num_rows();
        }
    }
    rows
}
