//! Work that is done on all processors, and given out in order: packing chunks.
//!
//! Jobs wait in a queue of bounded length. Tasks of the current rayon pool do them; who
//! needs the next result and finds that nobody has begun it does it himself, so that
//! nothing ever waits for a task that has not begun: it works on a pool of one thread
//! that is that of the caller.

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Jobs that are on their way.
#[derive(Debug)]
pub struct Queue<T> {
    jobs: VecDeque<Arc<Job<T>>>,
    width: usize,
}

#[derive(Debug)]
struct Job<T> {
    state: Mutex<State<T>>,
    is_done: Condvar,
}

enum State<T> {
    Waiting(Box<dyn FnOnce() -> T + Send>),
    Begun,
    Done(T),
}

impl<T: Send + 'static> Queue<T> {
    /// A queue of so many jobs that every thread of the pool has work.
    pub fn new() -> Self {
        Self { jobs: VecDeque::new(), width: rayon::current_num_threads() + 1 }
    }

    /// Puts a job at the end.
    pub fn push(&mut self, job: impl FnOnce() -> T + Send + 'static) {
        let job = Arc::new(Job {
            state: Mutex::new(State::Waiting(Box::new(job))),
            is_done: Condvar::new(),
        });
        self.jobs.push_back(job.clone());
        rayon::spawn(move || {
            job.work();
        });
    }

    /// The first result, if it is there, or if the queue is too long: then it is waited
    /// for.
    #[allow(clippy::should_implement_trait)] // nothing does not mean the end
    pub fn next(&mut self) -> Option<T> {
        let is_full = self.jobs.len() >= self.width;
        match self.jobs.front()?.try_take() {
            Some(done) => {
                self.jobs.pop_front();
                Some(done)
            }
            None if is_full => self.wait(),
            None => None,
        }
    }

    /// The first result, waited for; nothing if there is no job.
    pub fn wait(&mut self) -> Option<T> {
        let first = self.jobs.front()?;
        // If somebody else is at the first, help with another.
        if !first.work() && first.is_begun() {
            self.jobs.iter().find(|job| job.work());
        }
        self.jobs.pop_front().map(|first| first.wait())
    }
}

impl<T> Job<T> {
    /// Does the job, unless somebody does or has; says whether it did.
    fn work(&self) -> bool {
        let mut state = self.state();
        match mem::replace(&mut *state, State::Begun) {
            State::Waiting(job) => {
                drop(state);
                let done = job();
                *self.state() = State::Done(done);
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

    fn try_take(&self) -> Option<T> {
        let mut state = self.state();
        match mem::replace(&mut *state, State::Begun) {
            State::Done(done) => Some(done),
            other => {
                *state = other;
                None
            }
        }
    }

    /// The result, when who has begun it is done.
    fn wait(&self) -> T {
        let mut state = self.state();
        loop {
            match mem::replace(&mut *state, State::Begun) {
                State::Done(done) => return done,
                other => *state = other,
            }
            let woken = self.is_done.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Begun => "Begun",
            Self::Done(_) => "Done",
        })
    }
}
