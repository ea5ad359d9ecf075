//! Reads one topic as Arrow batches, which several threads decode:
//! `cargo run -p logtool --example batches -- drive.bag /imu/data`.

fn main() -> logtool::Result<()> {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "testdata/rover.bag".to_owned());
    let topic = args.next().unwrap_or_else(|| "/imu/data".to_owned());
    let log = logtool::open(path)?;
    let mut batches = log.table(&topic)?.with_flat_columns().batches()?;
    for field in batches.schema().fields() {
        println!("{}: {}", field.name(), field.data_type());
    }
    let mut rows = 0;
    for batch in &mut batches {
        rows += batch?.num_rows();
    }
    println!("{rows} rows");
    for damage in batches.damage() {
        eprintln!("damaged: {damage}");
    }
    Ok(())
}
