//! Opening files without waiting for a pipe or a device, and without following a link.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io,
    path::Path,
};

/// Opens the regular file at `path` for reading.
///
/// A pipe or a device that is open already may be named as well, such as `/dev/stdin` and the
/// `/dev/fd/63` that a shell makes of `<(program)`.
///
/// # Errors
/// `InvalidInput` if `path` is another pipe, device or socket, which would be waited for;
/// `IsADirectory` if it is a folder; those of the system.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    if is_open_already(path) {
        return File::open(path);
    }
    open_checked(path, OpenOptions::new().read(true), false)
}

/// Opens a file that the program keeps for itself. A link is not followed, because it may lead to a
/// file of somebody else.
///
/// # Errors
/// `InvalidInput` if `path` is a link, a pipe, a device or a socket; `IsADirectory` if it is a
/// folder; those of the system.
pub fn open_own_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => check(metadata.file_type())?,
        Err(err) if err.kind() == io::ErrorKind::NotFound => {}
        Err(err) => return Err(err),
    }
    open_checked(path, options, true)
}

/// Returns why a file of this type is not regular: `"a pipe"`; `None` for regular files, folders
/// and links.
pub fn special_file_kind(file_type: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if file_type.is_fifo() {
            return Some("a pipe");
        }
        if file_type.is_socket() {
            return Some("a socket");
        }
    }
    let is_known = file_type.is_file() || file_type.is_dir() || file_type.is_symlink();
    (!is_known).then_some("a device")
}

/// Returns whether `path` names a file that this process has opened.
fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

fn open_checked(
    path: &Path,
    options: &mut OpenOptions,
    is_own: bool,
) -> io::Result<File> {
    // Opening some devices has effects, so the type is known before.
    if let Ok(metadata) = fs::metadata(path) {
        check(metadata.file_type())?;
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, is_own);
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = is_own;
    let file = options.open(path)?;
    // Another file may have got this name.
    check(file.metadata()?.file_type())?;
    Ok(file)
}

fn check(file_type: FileType) -> io::Result<()> {
    if file_type.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let kind = match file_type.is_symlink() {
        true => Some("a link"),
        false => special_file_kind(file_type),
    };
    match kind {
        None => Ok(()),
        Some(kind) => {
            let message = format!("it is {kind}, and not a regular file");
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::Read as _,
        os::unix::{fs::symlink, net::UnixListener},
    };

    use super::*;

    #[test]
    fn special_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        symlink("/dev/zero", &link).unwrap();
        for (path, kind) in [
            (&*socket, "it is a socket, and not a regular file"),
            (&*link, "it is a device, and not a regular file"),
            (folder.path(), "is a directory"),
        ] {
            let error = open_regular_file(path).unwrap_err();
            assert_eq!(error.to_string(), kind);
        }
    }

    #[test]
    fn links_are_followed_for_reading_but_not_for_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "text").unwrap();
        symlink("target", &link).unwrap();
        let mut text = String::new();
        open_regular_file(&link).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let error = open_own_file(&link, &mut options).unwrap_err();
        assert_eq!(error.to_string(), "it is a link, and not a regular file");
        let dangling = folder.path().join("dangling");
        symlink("missing", &dangling).unwrap();
        assert!(open_own_file(&dangling, &mut options).is_err());
        assert!(!folder.path().join("missing").exists());
        open_own_file(&folder.path().join("new"), &mut options).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"text");
    }

    #[test]
    fn pipe_that_is_open_already_is_read() {
        use std::{io::Write as _, os::fd::AsRawFd as _};
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let mut text = String::new();
        let mut file = open_regular_file(Path::new(&path)).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    }
}
