//! Lists the topics of ULogs: `cargo run -p logtool-ulog --example topics --
//! flight.ulg`.

use std::{fs::File, sync::Arc};

use logtool_core::{FileSource, Log as _, OpenOptions, Result};
use logtool_ulog::UlogLog;

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        let source = FileSource::new(File::open(&path)?)?;
        let log = UlogLog::open(Arc::new(source), OpenOptions::default())?;
        let manifest = log.manifest();
        let seconds = manifest.time.map_or(0.0, |time| time.span_nanos() as f64 / 1e9);
        println!("{path}: {seconds:.1} s");
        for topic in manifest.topics.iter().filter(|topic| topic.records != Some(0)) {
            let records = topic.records.map_or("?".to_owned(), |n| n.to_string());
            println!("  {:40} {records:>8} records", topic.label());
        }
        for lost in &manifest.damage {
            println!("  lost: {lost}");
        }
    }
    Ok(())
}
