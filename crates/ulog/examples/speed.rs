//! How fast the layers are: `cargo run --release --example speed -- big.ulg`.

use std::{sync::Arc, time::Instant};

use logtool_core::*;
use logtool_ulog::UlogLog;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let bytes = std::fs::read(&path)?;
    let mb = bytes.len() as f64 / 1e6;
    let source: Arc<dyn Source> = Arc::new(bytes::Bytes::from(bytes));
    for _ in 0..3 {
        let t = Instant::now();
        let log = UlogLog::open(source.clone(), OpenOptions::default())?;
        println!("survey {:6.0} MB/s", mb / t.elapsed().as_secs_f64());
        let manifest = log.manifest();
        let t = Instant::now();
        let all = Selection::default();
        let part = &manifest.plan(&all, u64::MAX)[0];
        let (mut block, mut n) = (Block::default(), 0);
        let mut cursor = log.read(part, &all)?;
        while cursor.fill(&mut block)? {
            n += block.len();
        }
        println!("read   {:6.0} MB/s {n}", mb / t.elapsed().as_secs_f64());
        let t = Instant::now();
        let mut sort = TopicSort::default();
        let mut cursor = log.read(part, &all)?;
        while cursor.fill(&mut block)? {
            block.sort_by_topic(&mut sort);
            n += block.runs().count();
        }
        println!("+sort  {:6.0} MB/s", mb / t.elapsed().as_secs_f64());
        for view in [View::Nested, View::Flat] {
        let t = Instant::now();
        let mut decoders: Vec<_> = manifest.topics().map(|(id, _)| log.decoder(id, &Columns::all(view)).unwrap()).collect();
        let mut damage = vec![];
        let mut rows = 0;
        for part in manifest.plan(&all, 8 << 20) {
            let mut cursor = log.read(&part, &all)?;
            while cursor.fill(&mut block)? {
                block.sort_by_topic(&mut sort);
                for run in block.runs() {
                    decoders[run.topic().index()].append(run, &mut damage);
                }
            }
            for d in &mut decoders {
                if d.rows() > 0 { let b = d.take()?; rows += b.num_rows(); }
            }
        }
        println!("{view:?} {:6.0} MB/s {rows} rows {}", mb / t.elapsed().as_secs_f64(), damage.len());
        }
    }
    Ok(())
}
