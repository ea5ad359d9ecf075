//! Opens the bytes of an input: a file, a URL, standard input, or a compressed file.

mod decompress;
#[cfg(feature = "decrypt")]
mod decrypt;
pub mod digest;
pub mod events;
pub mod expand;
pub mod file_signatures;
pub mod growing_log;
pub mod lidar_packets;
pub mod open;
pub mod progress_source;
pub mod side_file;
pub(crate) mod source_reader;
mod stoppable_source;
pub mod url;
pub mod utc_start;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufWriter, IsTerminal as _, Read, Seek as _},
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use logtool_core::{FileSource, Manifest, Source, TemporaryFile, open_regular_file};

use crate::{
    error::{Context as _, Error, Result},
    formats::LogFormat,
    source::{
        input::{
            digest::digest_of, source_reader::SourceReader, stoppable_source::stoppable,
        },
        losses::{Findings, loss::Finding},
        remote::{self, Remote},
        session::Session,
    },
};

pub use self::decompress::FileCompression;

/// The name of standard input.
pub const STDIN: &str = "-";

/// The name of standard input in messages.
pub const STDIN_NAME: &str = "standard input";

/// The bytes of a log, and their origin.
pub struct Input {
    /// The name in messages.
    pub name: String,
    /// The bytes, decompressed and decrypted.
    pub source: Arc<dyn Source>,
    /// The original bytes, which may be compressed or encrypted.
    pub origin: Arc<dyn Source>,
    /// The compression of the original bytes.
    pub compression: Option<FileCompression>,
    /// The loss due to damage of the compressed bytes.
    pub loss: Option<Finding>,
    /// Whether the bytes are decrypted while they are read.
    pub is_decrypted: bool,
    /// Whether the original bytes are fetched from a server when they are read.
    pub is_remote: bool,
}

impl Input {
    /// Opens the file or the URL `path`, or standard input. The session decides how files are
    /// opened, e.g. as memory maps.
    pub fn open(path: &Path, session: &Session) -> Result<Self> {
        let input = match url::from_path(path) {
            Some(url) => Self::open_remote(url, session),
            None => Self::open_local(path, session),
        };
        Ok(input?.decrypt(path, session)?.stoppable(session))
    }

    /// Decrypts the bytes if they are an encrypted ULog, with the key of the session.
    #[cfg(feature = "decrypt")]
    pub(crate) fn decrypt(mut self, path: &Path, session: &Session) -> Result<Self> {
        let decrypted = decrypt::decrypt_ulog(&self.source, path, session);
        if let Some(source) = decrypted.cannot_open(&self.name)? {
            self.source = source;
            self.is_decrypted = true;
        }
        Ok(self)
    }

    /// Leaves encrypted bytes as they are: this library was built without decryption.
    #[cfg(not(feature = "decrypt"))]
    pub(crate) fn decrypt(self, _: &Path, _: &Session) -> Result<Self> {
        Ok(self)
    }

    /// Makes reading fail when the session should end its calls.
    pub(crate) fn stoppable(mut self, session: &Session) -> Self {
        if let Some(stop) = &session.stop {
            self.source = stoppable(self.source, stop);
            self.origin = stoppable(self.origin, stop);
        }
        self
    }

    /// Creates the input called `name` with the bytes of `origin`, which are decompressed into
    /// memory if they are compressed.
    pub fn from_source(name: &str, origin: Arc<dyn Source>) -> Result<Self> {
        let name = name.to_owned();
        let head = origin
            .read_at(0..FileCompression::HEAD_LEN)
            .with_context(|| name.clone())?;
        let Some(compression) = FileCompression::detect(&head) else {
            return Ok(Self::from_uncompressed(name, origin));
        };
        let stream = SourceReader::new(Arc::clone(&origin));
        let mut bytes = Vec::new();
        let unpacked = compression.unpack_to(stream, origin.len(), &mut bytes);
        let loss = unpacked.with_context(|| name.clone())?;
        let source = Arc::new(Bytes::from(bytes));
        Ok(Self {
            source,
            compression: Some(compression),
            loss,
            ..Self::from_uncompressed(name, origin)
        })
    }

    /// Creates the input called `name` with the bytes of `source` as they are.
    fn from_uncompressed(name: String, source: Arc<dyn Source>) -> Self {
        Self {
            name,
            origin: source.clone(),
            source,
            compression: None,
            loss: None,
            is_decrypted: false,
            is_remote: false,
        }
    }

    fn open_remote(url: &str, session: &Session) -> Result<Self> {
        let Remote { name, source: origin, is_whole } = remote::open(url, session)?;
        let head = origin.read_at(0..FileCompression::HEAD_LEN).cannot_open(&name)?;
        let Some(compression) = FileCompression::detect(&head) else {
            return Ok(Self {
                is_remote: !is_whole,
                ..Self::from_uncompressed(name, origin)
            });
        };
        let mut stream = SourceReader::new(origin.clone());
        let unpacked = compression.unpack(&mut stream, origin.len());
        // A network failure must not be reported as damage in the compressed stream.
        stream.end().cannot_open(&name)?;
        let (file, loss) = unpacked.cannot_open(&name)?;
        let source = source(&name, file, session).cannot_open(&name)?;
        Ok(Self {
            source,
            compression: Some(compression),
            loss,
            is_remote: true,
            ..Self::from_uncompressed(name, origin)
        })
    }

    fn open_local(path: &Path, session: &Session) -> Result<Self> {
        let is_stdin = path.as_os_str() == STDIN;
        let name =
            if is_stdin { STDIN_NAME.into() } else { path.display().to_string() };
        let file = if is_stdin { spool_stdin() } else { open_file(path) };
        let mut file = file.cannot_open(&name)?;

        let mut head = Vec::new();
        (&mut file)
            .take(FileCompression::HEAD_LEN)
            .read_to_end(&mut head)
            .cannot_open(&name)?;
        file.rewind().cannot_open(&name)?;
        let Some(compression) = FileCompression::detect(&head) else {
            let source = source(&name, file, session).cannot_open(&name)?;
            return Ok(Self::from_uncompressed(name, source));
        };
        let packed = FileSource::new(file.try_clone().cannot_open(&name)?);
        let origin = Arc::new(packed.cannot_open(&name)?);
        let unpacked = compression.unpack(file, origin.len());
        let (file, loss) = unpacked.cannot_open(&name)?;
        let source = source(&name, file, session).cannot_open(&name)?;
        Ok(Self {
            source,
            compression: Some(compression),
            loss,
            ..Self::from_uncompressed(name, origin)
        })
    }

    /// Returns the [digest] of the original bytes.
    pub fn digest(&self) -> Result<String> {
        digest_of(&*self.origin).with_context(|| self.name.clone())
    }

    /// Returns the digest, or an empty string if the input is on a server and read by ranges: the
    /// digest would require a complete download.
    pub fn digest_if_read_completely(&self) -> Result<String> {
        if self.is_remote { Ok(String::new()) } else { self.digest() }
    }

    /// Returns what was found while this input and its log with `manifest` were opened.
    pub fn findings(&self, manifest: &Manifest) -> Findings {
        Findings::from_manifest(&self.name, self.loss.as_ref(), manifest)
    }

    /// Returns the name without its folders. Outputs state it, and must not reveal the folders of
    /// this machine.
    pub fn file_name(&self) -> &str {
        let name = Path::new(&self.name).file_name().and_then(OsStr::to_str);
        name.unwrap_or(&self.name)
    }
}

/// Returns the first bytes of the file at `path`, decompressed, and its compression. They are
/// enough to recognise the format.
pub fn head(path: &Path) -> io::Result<(Vec<u8>, Option<FileCompression>)> {
    const MAX_BYTES: u64 = 4096;
    let mut file = open_regular_file(path)?;
    let mut head = Vec::new();
    (&mut file).take(MAX_BYTES).read_to_end(&mut head)?;
    let Some(compression) = FileCompression::detect(&head) else {
        return Ok((head, None));
    };
    file.rewind()?;
    Ok((compression.head(file, MAX_BYTES).unwrap_or_default(), Some(compression)))
}

fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(side_file::cannot_open)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        let hint = match file_signatures::folder_kind(path) {
            Some(kind) => format!("it looks like {kind}"),
            None if fs::read_dir(path)?.next().is_none() => "it is empty".to_owned(),
            None => format!("name the logs in it, e.g. {}", path.join("*").display()),
        };
        return Err(Error::other("it is a folder").with_hint(hint));
    }
    // A pipe, a socket or a device is read once, like standard input.
    if metadata.is_file() { Ok(file) } else { spool(file) }
}

fn spool_stdin() -> Result<File> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let message = "standard input is a terminal";
        return Err(Error::invalid_request(message).with_hint("pipe a log into it"));
    }
    spool(stdin.lock())
}

/// Copies `input` to a temporary file that is deleted with the program.
fn spool(mut input: impl Read) -> Result<File> {
    // Large pieces: pipes are read faster.
    let mut file = BufWriter::with_capacity(1 << 17, temporary_file()?);
    io::copy(&mut input, &mut file)?;
    Ok(file.into_inner().map_err(|err| err.into_error())?.into_file()?)
}

/// Creates a temporary file.
fn temporary_file() -> Result<TemporaryFile> {
    TemporaryFile::new()
        .map_err(|err| Error::from(err).with_hint("set TMPDIR to a writable folder"))
}

/// Returns the bytes of `file`, as the session opens files.
fn source(name: &str, file: File, session: &Session) -> Result<Arc<dyn Source>> {
    let file = Arc::new(file);
    let probe = FileSource::new(Arc::clone(&file))?;
    let is_scanned = LogFormat::recognize(name, &probe)
        .is_ok_and(|log| log.format().requires_full_scan());
    Ok(session.files.open(name, file, is_scanned)?)
}
