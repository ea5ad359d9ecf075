//! An output that reports errors only on request. It is needed for the crate `las`: a `las` writer
//! that is dropped unfinished closes its file, and panics if that fails.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::Arc,
};

use logtool_core::Result;
use parking_lot::Mutex;

use crate::points::file::PointOutput;

/// Accepts all writes; after the first error, they are ignored.
pub(crate) struct DeferredErrorWriter {
    out: PointOutput,
    failure: WriteFailure,
}

/// The first error of an output.
#[derive(Clone, Default)]
pub(crate) struct WriteFailure(Arc<Mutex<Option<io::Error>>>);

impl DeferredErrorWriter {
    pub(crate) fn new(out: PointOutput) -> (Self, WriteFailure) {
        let failure = WriteFailure::default();
        (Self { out, failure: failure.clone() }, failure)
    }

    pub(crate) fn into_inner(self) -> PointOutput {
        self.out
    }

    fn attempt<T>(
        &mut self,
        otherwise: T,
        write: impl FnOnce(&mut PointOutput) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failure = self.failure.0.lock();
        if failure.is_some() {
            return Ok(otherwise);
        }
        match write(&mut self.out) {
            Err(err) if err.kind() != io::ErrorKind::Interrupted => {
                *failure = Some(err);
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl WriteFailure {
    /// Returns the first error, if there was one.
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
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

impl Seek for DeferredErrorWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.attempt(0, |out| out.seek(to))
    }
}
