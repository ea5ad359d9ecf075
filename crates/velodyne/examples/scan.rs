//! Prints the points of one scan: `cargo run --example scan -- LOG SCAN`.

use std::{env, fs::File, sync::Arc};

use arrow_array::{
    cast::AsArray as _,
    types::{Float32Type, UInt32Type},
};
use logtool_core::{Block, Columns, FileSource, OpenOptions, Result, Selection, View};
use logtool_velodyne::{capture, vel};

fn main() -> Result<()> {
    let path = env::args().nth(1).unwrap_or("testdata/puck.pcap".into());
    let scan = env::args().nth(2).and_then(|scan| scan.parse().ok()).unwrap_or(0_u32);

    let source = Arc::new(FileSource::new(File::open(&path)?)?);
    let formats: [&dyn logtool_core::Format; 2] = [&vel::FORMAT, &capture::FORMAT];
    let log = logtool_core::open(&formats, &path, source, OpenOptions::default())?;
    let points = log.manifest().topic_id("points")?;
    let topics = [points].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(points, &Columns::new(View::Nested))?;
    let (mut block, mut damage) = (Block::default(), vec![]);
    for part in log.manifest().plan(&selection, u64::MAX) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
            let rows = decoder.take()?;
            let column = |name| rows[name].as_primitive::<Float32Type>().values();
            let (x, y, z) = (column("x"), column("y"), column("z"));
            let scans = rows["scan"].as_primitive::<UInt32Type>().values();
            for row in (0..rows.num_rows()).filter(|row| scans[*row] == scan) {
                println!("{:9.3} {:9.3} {:9.3}", x[row], y[row], z[row]);
            }
        }
    }
    Ok(())
}
