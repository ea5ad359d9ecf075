//! Logs in bytes and file objects of Python.

use std::{io, ops::Range, path::PathBuf, sync::Arc};

use bytes::Bytes;
use logtool_core::Source;
use parking_lot::Mutex;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyByteArray, PyBytes, PyMemoryView},
};

/// The input of a log.
pub(crate) enum LogInput {
    /// A path or a URL.
    Path(PathBuf),
    /// Bytes, and their name in messages.
    Source(String, Arc<dyn Source>),
}

impl LogInput {
    /// Creates an input from a path, bytes, or a file object.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(path) = object.extract::<PathBuf>() {
            return Ok(Self::Path(path));
        }
        if let Some(bytes) = bytes_of(object)? {
            return Ok(Self::Source("bytes".to_owned(), Arc::new(bytes)));
        }
        if !object.hasattr("read")? {
            let message = "a log is a path, a URL, bytes, or a binary file object";
            return Err(PyTypeError::new_err(message));
        }
        if bytes_of(&object.call_method1("read", (0,))?)?.is_none() {
            return Err(not_binary());
        }
        let name = object.getattr_opt("name")?.and_then(|name| name.extract().ok());
        let name = name.unwrap_or_else(|| "file object".to_owned());
        let is_seekable = object.hasattr("seekable")?
            && object.call_method0("seekable")?.is_truthy()?;
        if is_seekable {
            return Ok(Self::Source(name, Arc::new(FileObject::new(object)?)));
        }
        let bytes = object.call_method0("read")?;
        match bytes_of(&bytes)? {
            Some(bytes) => Ok(Self::Source(name, Arc::new(bytes))),
            None => Err(not_binary()),
        }
    }

    /// Returns the path, or the name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Source(name, _) => name.clone(),
        }
    }
}

/// Returns the error for a file object that returns text.
fn not_binary() -> PyErr {
    PyTypeError::new_err("the file object must be binary")
}

/// Returns the bytes of `object`, without a copy if they cannot change.
fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Bytes>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(Bytes::from_owner(PyBackedBytes::from(bytes.clone()))));
    }
    if object.cast::<PyByteArray>().is_ok() || object.cast::<PyMemoryView>().is_ok() {
        let copy = object.py().get_type::<PyBytes>().call1((object,))?;
        let copy = copy.cast_into::<PyBytes>()?;
        return Ok(Some(Bytes::from_owner(PyBackedBytes::from(copy))));
    }
    Ok(None)
}

/// A seekable binary file object.
struct FileObject {
    object: Py<PyAny>,
    len: u64,
    /// Locked from seeking to the end of reading. It must be locked before the GIL is taken.
    reading: Mutex<()>,
}

impl FileObject {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        const FROM_END: u8 = 2;
        let len = object.call_method1("seek", (0, FROM_END))?.extract()?;
        Ok(Self { object: object.clone().unbind(), len, reading: Mutex::new(()) })
    }

    fn read(&self, py: Python<'_>, range: &Range<u64>) -> PyResult<Bytes> {
        let object = self.object.bind(py);
        object.call_method1("seek", (range.start,))?;
        let mut bytes = Vec::new();
        let mut missing = range.end - range.start;
        while missing > 0 {
            let piece = object.call_method1("read", (missing,))?;
            let Some(piece) = bytes_of(&piece)? else {
                return Err(not_binary());
            };
            if piece.is_empty() {
                break;
            }
            missing = missing.saturating_sub(piece.len() as u64);
            if bytes.is_empty() && missing == 0 {
                return Ok(piece);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes.into())
    }
}

impl Source for FileObject {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let end = range.end.min(self.len);
        let range = range.start.min(end)..end;
        let _reading = self.reading.lock();
        Python::attach(|py| self.read(py, &range))
            .map_err(|err| io::Error::other(err.to_string()))
    }
}
