//! Temporary files and directories next to an output, and the removal of leftovers of killed
//! runs.
//!
//! They are called `.logtool-<machine>-<process>-<random>.part`, so that another run can find out
//! whether the run that created them has ended.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use tempfile::{Builder, TempDir, TempPath};

const PREFIX: &str = ".logtool-";
const SUFFIX: &str = ".part";

/// A temporary file of another machine is abandoned if it was not written to for this long.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Creates an empty file in `dir`, with the permissions that new files get.
pub(super) fn create_file_in(dir: &Path) -> io::Result<(File, TempPath)> {
    // Errors of the crate `tempfile` contain the path of the temporary file, which a user does not
    // know. So the number of the system's error is returned without it.
    let mut os_error = None;
    let create = |path: &Path| {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path);
        os_error = file.as_ref().err().and_then(io::Error::raw_os_error);
        file
    };
    match with_builder(|builder| builder.make_in(dir, create)) {
        Ok(created) => Ok(created.into_parts()),
        Err(err) => Err(os_error.map_or(err, io::Error::from_raw_os_error)),
    }
}

/// Creates a directory in `dir`, with the permissions that new directories get.
pub(super) fn create_dir_in(dir: &Path) -> io::Result<TempDir> {
    let created = with_builder(|builder| {
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        builder.tempdir_in(dir)
    });
    // Removes the path of the temporary directory from the error. The number of the system's error
    // is not accessible here, but the kind is the same.
    created.map_err(|err| err.kind().into())
}

/// Calls `create` with a builder of names that identify this process.
fn with_builder<T>(
    create: impl FnOnce(&mut Builder<'_, '_>) -> io::Result<T>,
) -> io::Result<T> {
    let prefix = format!("{PREFIX}{:08x}-{}-", *MACHINE_ID, process::id());
    let mut builder = Builder::new();
    create(builder.prefix(&prefix).suffix(SUFFIX))
}

/// A number that identifies the boot of this machine and the namespace of its processes (proc(5),
/// `random/boot_id`; pid_namespaces(7)); 0 if it is unknown.
static MACHINE_ID: LazyLock<u32> = LazyLock::new(|| {
    let boot_id = fs::read("/proc/sys/kernel/random/boot_id");
    let pid_namespace = fs::read_link("/proc/self/ns/pid");
    let (Ok(boot_id), Ok(pid_namespace)) = (boot_id, pid_namespace) else { return 0 };
    let bytes = boot_id.iter().chain(pid_namespace.as_os_str().as_encoded_bytes());
    // FNV-1a.
    let hash = bytes.fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    hash.max(1)
});

/// Removes the temporary files and directories in `dir` of runs that have ended.
pub(super) fn remove_abandoned(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_abandoned(path)) {
        // Another run may have removed it already.
        let _ = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
    }
}

/// Returns whether `path` is a temporary file or directory of a run that has ended.
fn is_abandoned(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    let Some(stem) = stem else { return false };
    let mut parts = stem.split('-');
    let machine = parts.next().and_then(|part| u32::from_str_radix(part, 16).ok());
    let process = parts.next().and_then(|part| part.parse::<u32>().ok());
    match (machine, process) {
        (Some(machine), Some(process)) if machine != 0 && machine == *MACHINE_ID => {
            !Path::new(&format!("/proc/{process}")).exists()
        }
        _ => last_change(path).is_some_and(|time| {
            time.elapsed().is_ok_and(|elapsed| elapsed > ABANDONED_AFTER)
        }),
    }
}

/// Returns the time of the last change of the file or directory at `path`, or of the last changed
/// file in the directory.
fn last_change(path: &Path) -> Option<SystemTime> {
    let mut last_change = fs::symlink_metadata(path).ok()?.modified().ok()?;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified())
        {
            last_change = last_change.max(modified);
        }
    }
    Some(last_change)
}

/// Closes `file`, and returns the error if that fails. Some file systems (NFS, quotas) report lost
/// bytes only when a file is closed.
#[cfg(unix)]
pub(super) fn close(file: File) -> io::Result<()> {
    match nix::unistd::close(file) {
        // After EINTR, the file is closed, too.
        Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(err) => Err(err.into()),
    }
}

/// Closes `file`.
#[cfg(not(unix))]
pub(super) fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

/// Sets the mode of the file `new` to that of the file at `destination`, which it will replace, if
/// there is one.
#[cfg(unix)]
pub(super) fn copy_mode(destination: &Path, new: &Path) -> io::Result<()> {
    match fs::symlink_metadata(destination) {
        Ok(metadata) if metadata.is_file() => {
            fs::set_permissions(new, metadata.permissions())
        }
        _ => Ok(()),
    }
}

/// Does nothing: files have no mode on this system.
#[cfg(not(unix))]
pub(super) fn copy_mode(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the number of files that a run may keep open for its outputs: at most a quarter of the
/// limit of the process, because inputs and other temporary files are open, too.
pub(super) fn max_open_files() -> usize {
    const MAX_OPEN_FILES: u64 = 128;
    #[cfg(unix)]
    let allowed = {
        use nix::sys::resource::{Resource, getrlimit};
        getrlimit(Resource::RLIMIT_NOFILE).map_or(MAX_OPEN_FILES, |(soft, _)| soft / 4)
    };
    #[cfg(not(unix))]
    let allowed = MAX_OPEN_FILES;
    usize::try_from(allowed.clamp(1, MAX_OPEN_FILES)).unwrap_or(1)
}

/// Returns the directory that contains `path`.
pub(super) fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}
