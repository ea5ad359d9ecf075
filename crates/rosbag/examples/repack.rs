//! Rewrites a bag with another compression; every message keeps its own connection.
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
    let [from, to, packing] = arguments.as_slice() else {
        return Err("give a bag, the bag that is to be written, and how to pack".into());
    };
    let source = Arc::new(FileSource::new(File::open(from)?)?);
    let log = RosbagLog::open(source, RosbagOptions::default())?;
    let everything = Selection::default();
    let extract = LogSlice { manifest: log.manifest(), selection: everything.clone() };
    let mut options = WriteOptions::default();
    options.compression = Some(packing.clone());
    let mut bag = FORMAT.writer(Box::new(File::create(to)?), &[extract], &options)?;
    for part in log.manifest().plan(&everything, 1 << 20) {
        copy_records(&mut *log.read(&part, &everything)?, &mut *bag)?;
    }
    bag.finish()?;
    Ok(())
}
