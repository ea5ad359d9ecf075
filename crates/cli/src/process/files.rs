//! Local files: mapped into memory where that is safe and quicker.

mod mmap;
#[cfg(unix)]
mod sigbus;

use std::{fs::File, io, sync::Arc, time::Duration};

use logtool::OpenFile;
use logtool_core::{FileSource, Source};

/// A program that writes a log writes more often than this.
const PAUSE: Duration = Duration::from_secs(10);

/// Maps files into memory, except those that are being written or read from start to end.
///
/// Each page of a map costs the processor a lookup. Copying pages is quicker if all are
/// wanted, and slower if few are.
pub(crate) struct MapFiles;

impl OpenFile for MapFiles {
    fn open(
        &self,
        name: &str,
        file: Arc<File>,
        is_scanned: bool,
    ) -> io::Result<Arc<dyn Source>> {
        let maps = !is_scanned && !is_being_written(&file);
        match maps.then(|| map_watched(name, &file)) {
            Some(Ok(mapped)) => Ok(Arc::new(mapped)),
            _ => Ok(Arc::new(FileSource::new(file)?)),
        }
    }
}

/// Returns `file`, which is called `name`, as a memory map whose length is watched.
fn map_watched(name: &str, file: &Arc<File>) -> io::Result<mmap::MappedSource> {
    #[cfg(unix)]
    let watch = sigbus::Watch::new(name, file)?;
    #[cfg(not(unix))]
    let watch = name.len(); // nothing has to be watched
    mmap::map(file, watch)
}

/// Returns whether `file` was written to shortly before, and may still grow or shrink.
fn is_being_written(file: &File) -> bool {
    let modified = file.metadata().and_then(|about| about.modified()).ok();
    modified.and_then(|at| at.elapsed().ok()).is_some_and(|ago| ago < PAUSE)
}
