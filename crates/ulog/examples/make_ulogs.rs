//! Writes the small logs in `testdata/`. The output is deterministic.
//!
//! ```text
//! cargo run -p logtool-ulog --example make_ulogs
//! ```

#[path = "make_ulogs/files.rs"]
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
