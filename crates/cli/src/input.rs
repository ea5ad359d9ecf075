//! From what was typed to bytes: a file, standard input, something packed.

mod map;
mod packed;
#[cfg(unix)]
mod shrunk;
mod streamed;

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, IsTerminal as _, Read, Seek as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use logtool_core::{FileSource, Source, recognize};

pub(crate) use self::packed::Packing;
use crate::{
    args::GlobalArgs,
    complaint::Complaint,
    digest::digest_of,
    finding::Finding,
    foreign,
    formats::FORMATS,
    input::streamed::Streamed,
    remote::{self, Remote},
    url,
};

/// The name of standard input.
pub(crate) const STDIN: &str = "-";

/// The same for people.
pub(crate) const STDIN_NAME: &str = "standard input";

/// Who writes a log writes more often than this.
const A_MOMENT: Duration = Duration::from_secs(10);

/// The bytes of a log, and where they are from.
pub(crate) struct Input {
    /// What to call it.
    pub(crate) name: String,
    /// Its bytes, unpacked.
    pub(crate) source: Arc<dyn Source>,
    /// The same as they came: packed, if they were.
    pub(crate) origin: Arc<dyn Source>,
    /// How it was packed, if it was.
    pub(crate) packing: Option<Packing>,
    /// What was lost by unpacking it.
    pub(crate) loss: Option<Finding>,
    /// Whether its bytes, as they came, are read from afar when they are asked for.
    pub(crate) is_remote: bool,
}

impl Input {
    /// Opens the file or the URL `path`, or standard input; a file as a memory map where
    /// that is possible and not forbidden.
    pub(crate) fn open(path: &Path, global: &GlobalArgs) -> Result<Self> {
        match url::of(path) {
            Some(url) => Self::open_remote(url, global),
            None => Self::open_local(path, !global.no_mmap),
        }
    }

    fn open_remote(url: &str, global: &GlobalArgs) -> Result<Self> {
        let Remote { name, source: origin, is_whole } = remote::open(url)?;
        let head = origin.read_at(0..8).with_context(|| name.clone())?;
        let Some(packing) = Packing::of(&head) else {
            let (source, is_remote) = (origin.clone(), !is_whole);
            let (packing, loss) = (None, None);
            return Ok(Self { name, source, origin, packing, loss, is_remote });
        };
        let mut stream = Streamed::new(origin.clone());
        let unpacked = packing.unpack(&mut stream, origin.len());
        let (file, loss) = unpacked.with_context(|| name.clone())?;
        // What did not come is not what was lost.
        stream.end().with_context(|| name.clone())?;
        let (source, packing) = (source(&name, file, !global.no_mmap)?, Some(packing));
        Ok(Self { name, source, origin, packing, loss, is_remote: true })
    }

    fn open_local(path: &Path, maps: bool) -> Result<Self> {
        let is_stdin = path.as_os_str() == STDIN;
        let name =
            if is_stdin { STDIN_NAME.into() } else { path.display().to_string() };
        let file = if is_stdin { spool_stdin() } else { open_file(path) };
        let mut file = file.with_context(|| name.clone())?;

        let mut head = Vec::new();
        (&mut file).take(8).read_to_end(&mut head).with_context(|| name.clone())?;
        file.rewind().with_context(|| name.clone())?;
        let Some(packing) = Packing::of(&head) else {
            let source = source(&name, file, maps)?;
            let origin = source.clone();
            let (packing, loss, is_remote) = (None, None, false);
            return Ok(Self { name, source, origin, packing, loss, is_remote });
        };
        let packed = FileSource::new(file.try_clone().with_context(|| name.clone())?);
        let origin = Arc::new(packed.with_context(|| name.clone())?);
        let unpacked = packing.unpack(file, origin.len());
        let (file, loss) = unpacked.with_context(|| name.clone())?;
        let (source, packing) = (source(&name, file, maps)?, Some(packing));
        Ok(Self { name, source, origin, packing, loss, is_remote: false })
    }

    /// The [digest](crate::digest) of the file as it came: packed, if it was.
    pub(crate) fn digest(&self) -> Result<String> {
        digest_of(&*self.origin).with_context(|| self.name.clone())
    }

    /// What to call it without the folders that it is in: for outputs, which others
    /// are given.
    pub(crate) fn file_name(&self) -> &str {
        let name = Path::new(&self.name).file_name().and_then(OsStr::to_str);
        name.unwrap_or(&self.name)
    }
}

/// The first bytes of the file at `path`, unpacked: enough to see what it is.
pub(crate) fn head(path: &Path) -> io::Result<(Vec<u8>, Option<Packing>)> {
    const MOST: u64 = 4096;
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&mut file).take(MOST).read_to_end(&mut head)?;
    let Some(packing) = Packing::of(&head) else { return Ok((head, None)) };
    file.rewind()?;
    Ok((packing.head(file, MOST).unwrap_or_default(), Some(packing)))
}

fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|err| match err.kind() {
        io::ErrorKind::NotFound => Complaint::new("there is no such file").into(),
        io::ErrorKind::PermissionDenied => {
            Complaint::new("it may not be read").hint("look at its permissions").into()
        }
        _ => anyhow::Error::new(err).context("it cannot be opened"),
    })?;
    let about = file.metadata()?;
    if about.is_dir() {
        let hint = match foreign::folder_kind(path) {
            Some(what) => format!("it looks like {what}"),
            None => format!("name the logs in it, as {}", path.join("*").display()),
        };
        return Err(Complaint::new("it is a directory").hint(hint).into());
    }
    // A pipe, a socket, a device: read once, as standard input is.
    if about.is_file() { Ok(file) } else { spool(file) }
}

fn spool_stdin() -> Result<File> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let what = "it is the keyboard, and no log";
        return Err(Complaint::misuse(what).hint("pipe a log into it").into());
    }
    spool(stdin.lock())
}

/// Copies all of `input` to a file that has no name and vanishes with the program.
fn spool(mut input: impl Read) -> Result<File> {
    let mut file = temporary_file()?;
    io::copy(&mut input, &mut file).context("it cannot be read to its end")?;
    file.rewind()?;
    Ok(file)
}

/// A file that has no name and vanishes with the program.
pub(crate) fn temporary_file() -> Result<File> {
    tempfile::tempfile().map_err(|err| {
        let dir = std::env::temp_dir();
        let dir = dir.display();
        let what = format!("no temporary file can be made in {dir} (TMPDIR): {err}");
        let hint = "TMPDIR names a folder that may be written to";
        Complaint::new(what).hint(hint).into()
    })
}

/// `file` as a memory map; read in pieces where `maps` says no, or the system does, or it is
/// being written, or all of it will be gone through.
///
/// Each page of a map costs the processor a look for it. To copy pages is quicker than that where
/// all are wanted, and not where few are.
fn source(name: &str, file: File, maps: bool) -> Result<Arc<dyn Source>> {
    let file = Arc::new(file);
    let maps = maps && !is_being_written(&file) && !is_walked(name, &file)?;
    match maps.then(|| mapped(name, &file)) {
        Some(Ok(mapped)) => Ok(Arc::new(mapped)),
        _ => Ok(Arc::new(FileSource::new(file)?)),
    }
}

/// Whether whatever is asked of the log in `file` all of it is gone through.
fn is_walked(name: &str, file: &Arc<File>) -> io::Result<bool> {
    let source = FileSource::new(file.clone())?;
    Ok(recognize(FORMATS, name, &source).is_ok_and(|format| format.is_walked()))
}

/// `file`, which is called `name`, as a memory map that is watched over.
fn mapped(name: &str, file: &Arc<File>) -> io::Result<map::MappedSource> {
    #[cfg(unix)]
    let watch = shrunk::Watch::over(name, file)?;
    #[cfg(not(unix))]
    let watch = name.len(); // nobody watches
    map::map(file, watch)
}

/// Whether somebody wrote to `file` a moment ago, and may go on.
fn is_being_written(file: &File) -> bool {
    let modified = file.metadata().and_then(|about| about.modified()).ok();
    modified.and_then(|at| at.elapsed().ok()).is_some_and(|ago| ago < A_MOMENT)
}
