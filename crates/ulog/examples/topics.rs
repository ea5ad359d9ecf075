//! Lists the topics of ULogs: `cargo run --example topics -- flight.ulg`.

use std::{fs::File, sync::Arc};

use logtool_core::{Block, FileSource, Log as _, OpenOptions, Result, Selection};
use logtool_ulog::UlogLog;

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        let source = FileSource::new(File::open(&path)?)?;
        let log = match UlogLog::open(Arc::new(source), OpenOptions::default()) {
            Ok(log) => log,
            Err(err) => {
                println!("{path}: {err}");
                continue;
            }
        };
        let manifest = log.manifest();
        let rows: u64 = manifest.topics.iter().filter(|t| t.encoding == "ulog").filter_map(|t| t.records).sum();
        println!("{path}: {} topics, {rows} rows, {:?}", manifest.topics.len(), manifest.clock);
        for topic in &manifest.topics {
            if topic.encoding != "ulog" && topic.records != Some(0) {
            println!("  {:40} {:>8}", topic.label(), topic.records.unwrap_or(0)); }
        }
        let all = Selection::default();
        let (mut block, mut n, mut d) = (Block::default(), 0, vec![]);
        for part in manifest.plan(&all, 1 << 20) {
            let mut cursor = log.read(&part, &all)?;
            while cursor.fill(&mut block)? {
                n += block.iter().filter(|r| manifest.topics[r.topic.index()].encoding == "ulog").count();
                d.extend_from_slice(block.damage());
            }
        }
        println!("  read {n} rows {:?} {}", manifest.time.map(|t| t.span_nanos() as f64 / 1e9), serde_json::to_string(&manifest.metadata["dropouts"].json()).unwrap());
        for r in &manifest.remarks { println!("  remark: {r}"); }
        for r in manifest.damage.iter().take(5) { println!("  damage: {r}"); }
        if d.len() != manifest.damage.len() { println!("  read damage {} vs {}", d.len(), manifest.damage.len()); }
    }
    Ok(())
}
