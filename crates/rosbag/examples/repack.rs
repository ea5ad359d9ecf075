//! Rewrites a bag with another compression. Every message keeps its connection.
//!
//! ```text
//! cargo run --release -p logtool-rosbag --example repack -- drive.bag small.bag bz2
//! ```

use std::{fs::File, sync::Arc};

use logtool_core::{
    FileSource, Format as _, Log as _, LogSlice, Selection, WriteOptions, copy_records,
};
use logtool_rosbag::{FORMAT, RosbagLog, RosbagOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, compression] = arguments.as_slice() else {
        return Err("usage: repack INPUT.bag OUTPUT.bag none|lz4|bz2".into());
    };
    let source = Arc::new(FileSource::new(File::open(input)?)?);
    let log = RosbagLog::open(source, RosbagOptions::default())?;
    let everything = Selection::default();
    let slice = LogSlice { manifest: log.manifest(), selection: everything.clone() };
    let mut options = WriteOptions::default();
    options.compression = Some(compression.clone());
    let mut bag = FORMAT.writer(Box::new(File::create(output)?), &[slice], &options)?;
    for part in log.manifest().plan(&everything, 1 << 20) {
        copy_records(&mut *log.read(&part, &everything)?, &mut *bag)?;
    }
    bag.finish()?;
    Ok(())
}
