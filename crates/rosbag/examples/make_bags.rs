//! Writes the small bags in `testdata/`. The bytes are the same every time.
//!
//! ```text
//! cargo run -p logtool-rosbag --example make_bags
//! ```

#[path = "make_bags/files.rs"]
mod files;

use std::{fs, path::Path};

fn main() -> logtool_core::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for (name, bytes) in files::all_bags()? {
        println!("{name}: {} bytes", bytes.len());
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
