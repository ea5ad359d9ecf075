//! Generates the small lidar logs in `testdata/`, always with the same bytes.
//!
//! ```text
//! cargo run -p logtool-velodyne --example make_lidar_logs
//! ```

#[path = "make_lidar_logs/files.rs"]
mod files;

use std::{fs, path::Path};

fn main() -> logtool_core::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for (name, bytes) in files::all_logs()? {
        println!("{name}: {} bytes", bytes.len());
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
