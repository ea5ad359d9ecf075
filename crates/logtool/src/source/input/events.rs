//! Files with the definitions of PX4's events.

use std::path::Path;

use logtool_ulog::Catalog;

use crate::{
    error::{Context as _, Error, Result},
    source::input::side_file,
};

/// The maximum size of a file in bytes; those of PX4 have about 1 MiB.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Reads the definitions in the file at `path`: `all_events.json` or `all_events.json.xz` of a
/// release of PX4.
///
/// # Errors
/// If the file cannot be read, or has no definitions.
pub fn read(path: &Path) -> Result<Catalog> {
    let what = "the definitions of events";
    let bytes = side_file::read(path, what, MAX_FILE_BYTES)?;
    let context = || format!("{what} in {}", path.display());
    let catalog = Catalog::from_file(&bytes).with_context(context)?;
    if catalog.is_empty() {
        return Err(Error::other("the file defines no events").context(context()));
    }
    Ok(catalog)
}
