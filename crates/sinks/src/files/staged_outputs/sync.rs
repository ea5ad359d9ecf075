//! Waiting until files and directories are on the disk.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use logtool_core::Result;
use parking_lot::Mutex;

use crate::error::at_path;

/// The maximum number of threads that wait for the disk. Several are faster than one, because a
/// file system writes all files that are synced at the same time with one commit of its journal.
const MAX_THREADS: usize = 8;

/// Waits until the contents of all `files` are on the disk. Each element has the path of the file,
/// and the path that errors mention instead.
pub(super) fn sync_files(files: &[(&Path, &Path)]) -> Result<()> {
    for_each_concurrently(files, |(path, reported_path)| {
        // Windows syncs only files that are open for writing.
        OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.sync_all())
            .map_err(|err| at_path("write", reported_path, err))
    })
}

/// Waits until the entries of the directories `dirs` are on the disk.
pub(super) fn sync_dirs(dirs: &[PathBuf]) -> Result<()> {
    for_each_concurrently(dirs, |dir| {
        sync_dir(dir).map_err(|err| at_path("write", dir, err))
    })
}

#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    match std::fs::File::open(dir)?.sync_all() {
        // Some file systems do not support this for directories.
        Err(err) if err.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// Does nothing: directories cannot be synced on this system.
#[cfg(not(unix))]
fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Runs `action` on all `items`, on several threads, and returns the first error.
fn for_each_concurrently<T: Sync>(
    items: &[T],
    action: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    let (next_index, first_error) = (AtomicUsize::new(0), Mutex::new(None));
    let run_worker = || {
        while let Some(item) = items.get(next_index.fetch_add(1, Ordering::Relaxed)) {
            if let Err(err) = action(item) {
                first_error.lock().get_or_insert(err);
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..items.len().min(MAX_THREADS) {
            // If a thread cannot be started, the other threads sync its share of the items.
            let thread = thread::Builder::new().name("sync".to_owned());
            drop(thread.spawn_scoped(scope, run_worker));
        }
        run_worker();
    });
    first_error.into_inner().map_or(Ok(()), Err)
}
