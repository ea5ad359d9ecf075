//! An output that never fails, and says afterwards that it did: for the crate `las`, of which
//! a writer that is dropped unfinished closes its file, and panics where that fails.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::{Arc, Mutex, PoisonError},
};

use logtool_core::Result;

use crate::points::file::Out;

/// Takes everything; from the first failure on nothing is written.
pub(super) struct Unfailing {
    out: Out,
    failure: Failure,
}

/// What the failure was, to be asked for.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Unfailing {
    pub(super) fn new(out: Out) -> (Self, Failure) {
        let failure = Failure::default();
        (Self { out, failure: failure.clone() }, failure)
    }

    pub(super) fn into_inner(self) -> Out {
        self.out
    }

    fn attempt<T>(
        &mut self,
        otherwise: T,
        write: impl FnOnce(&mut Out) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut failure = self.failure.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_some() {
            return Ok(otherwise);
        }
        match write(&mut self.out) {
            Err(err) if err.kind() != io::ErrorKind::Interrupted => {
                *failure = Some(err);
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl Failure {
    /// An error if there was one.
    pub(super) fn check(&self) -> Result<()> {
        let failure = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            Some(err) => Err(io::Error::new(err.kind(), err.to_string()).into()),
            None => Ok(()),
        }
    }
}

impl Write for Unfailing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

impl Seek for Unfailing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.attempt(0, |out| out.seek(to))
    }
}
