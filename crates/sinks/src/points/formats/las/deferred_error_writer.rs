//! An output that reports errors only on request. It is needed for the crate `las`: a `las` writer
//! that is dropped unfinished closes its file, and panics if that fails.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::Arc,
};

use logtool_core::Result;
use parking_lot::Mutex;

use crate::points::file::PointOutput;

/// A writer that returns no errors. It stores the first error, and then ignores all writes.
pub(crate) struct DeferredErrorWriter {
    output: PointOutput,
    failure: WriteFailure,
}

/// The first error of an output.
#[derive(Clone, Default)]
pub(crate) struct WriteFailure(Arc<Mutex<Option<io::Error>>>);

impl DeferredErrorWriter {
    /// Creates a writer to `output`. The second value receives the first error.
    pub(crate) fn new(output: PointOutput) -> (Self, WriteFailure) {
        let failure = WriteFailure::default();
        (Self { output, failure: failure.clone() }, failure)
    }

    pub(crate) fn into_inner(self) -> PointOutput {
        self.output
    }

    /// Calls `write`, or returns `ignored_result` if there was an error.
    fn write_unless_failed<T>(
        &mut self,
        ignored_result: T,
        write: impl FnOnce(&mut PointOutput) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failure = self.failure.0.lock();
        if failure.is_some() {
            return Ok(ignored_result);
        }
        match write(&mut self.output) {
            Err(err) if err.kind() != io::ErrorKind::Interrupted => {
                *failure = Some(err);
                Ok(ignored_result)
            }
            result => result,
        }
    }
}

impl WriteFailure {
    /// Fails with the first error, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        let failure = self.0.lock();
        match &*failure {
            Some(err) => Err(io::Error::new(err.kind(), err.to_string()).into()),
            None => Ok(()),
        }
    }
}

impl Write for DeferredErrorWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_unless_failed(bytes.len(), |output| output.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_unless_failed((), Write::flush)
    }
}

impl Seek for DeferredErrorWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.write_unless_failed(0, |output| output.seek(to))
    }
}
