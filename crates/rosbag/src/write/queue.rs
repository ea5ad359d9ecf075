//! Packing chunks on all processors, and giving them out in order.
//!
//! Chunks wait in a queue of bounded length. Tasks of the current rayon pool pack them;
//! who needs the next one and finds that nobody has begun it packs it himself, so that
//! nothing ever waits for a task that has not begun: it works on a pool of one thread
//! that is that of the caller.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use logtool_core::Result;

use crate::{
    chunk::Compression,
    write::filling::{Full, Told},
};

/// A chunk that is packed.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// How long it was before.
    pub(crate) size: usize,
    pub(crate) told: Told,
}

/// Chunks that are on their way.
#[derive(Debug)]
pub(crate) struct Queue {
    jobs: VecDeque<Arc<Job>>,
    width: usize,
}

#[derive(Debug)]
struct Job {
    compression: Compression,
    state: Mutex<State>,
    is_done: Condvar,
}

#[derive(Debug)]
enum State {
    Waiting(Full),
    Begun,
    Done(Result<Packed>),
}

impl Queue {
    /// A queue of so many chunks that every thread of the pool has work.
    pub(crate) fn new() -> Self {
        Self { jobs: VecDeque::new(), width: rayon::current_num_threads() + 1 }
    }

    /// Puts a chunk at the end.
    pub(crate) fn push(&mut self, compression: Compression, full: Full) {
        let job = Arc::new(Job {
            compression,
            state: Mutex::new(State::Waiting(full)),
            is_done: Condvar::new(),
        });
        self.jobs.push_back(job.clone());
        rayon::spawn(move || {
            job.work();
        });
    }

    /// The first chunk, if it is packed, or if the queue is too long: then it is waited
    /// for.
    pub(crate) fn next(&mut self) -> Option<Result<Packed>> {
        let is_full = self.jobs.len() >= self.width;
        match self.jobs.front()?.try_take() {
            Some(done) => {
                self.jobs.pop_front();
                Some(done)
            }
            None if is_full => self.last(),
            None => None,
        }
    }

    /// The first chunk, waited for.
    pub(crate) fn last(&mut self) -> Option<Result<Packed>> {
        let first = self.jobs.front()?;
        // If somebody else is at the first, help with another.
        if !first.work() && first.is_begun() {
            self.jobs.iter().find(|job| job.work());
        }
        self.jobs.pop_front().map(|first| first.wait())
    }
}

impl Job {
    /// Packs the chunk, unless somebody does or has; says whether it did.
    fn work(&self) -> bool {
        let mut state = self.state();
        match mem::replace(&mut *state, State::Begun) {
            State::Waiting(Full { bytes, told }) => {
                drop(state);
                let size = bytes.len();
                let packed = self.compression.pack(bytes);
                let packed = packed.map(|bytes| Packed { bytes, size, told });
                *self.state() = State::Done(packed);
                self.is_done.notify_all();
                true
            }
            other => {
                *state = other;
                false
            }
        }
    }

    fn is_begun(&self) -> bool {
        matches!(*self.state(), State::Begun)
    }

    fn try_take(&self) -> Option<Result<Packed>> {
        let mut state = self.state();
        match mem::replace(&mut *state, State::Begun) {
            State::Done(packed) => Some(packed),
            other => {
                *state = other;
                None
            }
        }
    }

    /// The packed chunk, when who has begun it is done.
    fn wait(&self) -> Result<Packed> {
        let mut state = self.state();
        loop {
            match mem::replace(&mut *state, State::Begun) {
                State::Done(packed) => return packed,
                other => *state = other,
            }
            let woken = self.is_done.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
