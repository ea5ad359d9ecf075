//! Work that is done on all processors, and given out in order: packing chunks,
//! encoding columns, writing lines.
//!
//! Jobs wait in a queue of bounded length. Tasks of the current rayon pool do them; who
//! needs the next result and finds that nobody has begun it does it himself, so that
//! nothing ever waits for a task that has not begun: it works on a pool of one thread
//! that is that of the caller, and gives that none.

use std::{
    any::Any,
    collections::VecDeque,
    fmt, mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Jobs that are on their way.
///
/// ```
/// use logtool_core::TaskQueue;
///
/// let (mut queue, mut squares) = (TaskQueue::new(), Vec::new());
/// for number in 0..100 {
///     queue.push(move || number * number);
///     squares.extend(queue.next());
/// }
/// squares.extend(std::iter::from_fn(|| queue.wait()));
/// assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
/// ```
#[derive(Debug)]
pub struct TaskQueue<T> {
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
    /// Begun, and somebody waits for it. To wake nobody is a call of the system, too.
    Awaited,
    Done(Outcome<T>),
}

/// What comes of a job, or its panic, which is that of who asks for the result.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

impl<T: Send + 'static> TaskQueue<T> {
    /// A queue of so many jobs that every thread of the pool has work.
    pub fn new() -> Self {
        Self::with_width(rayon::current_num_threads() + 1)
    }

    /// A longer one, for jobs that take little memory: nobody waits for one of them that
    /// takes twice as long as others.
    pub fn long() -> Self {
        Self::with_width(2 * rayon::current_num_threads() + 1)
    }

    /// A queue of at most so many jobs.
    pub fn with_width(width: usize) -> Self {
        Self { jobs: VecDeque::new(), width }
    }

    /// Puts a job at the end.
    pub fn push(&mut self, job: impl FnOnce() -> T + Send + 'static) {
        let job = Arc::new(Job {
            state: Mutex::new(State::Waiting(Box::new(job))),
            is_done: Condvar::new(),
        });
        self.jobs.push_back(job.clone());
        // A pool that is nothing but this thread would keep all tasks to its end.
        let is_alone = rayon::current_num_threads() == 1;
        if !is_alone || rayon::current_thread_index().is_none() {
            rayon::spawn(move || {
                job.work();
            });
        }
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
        // While somebody else is at the first, help with the others.
        first.work();
        while first.is_begun() && self.jobs.iter().any(|job| job.work()) {}
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
                let done = panic::catch_unwind(AssertUnwindSafe(job));
                let before = mem::replace(&mut *self.state(), State::Done(done));
                if matches!(before, State::Awaited) {
                    self.is_done.notify_one(); // only one takes the result
                }
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
            State::Done(done) => Some(outcome(done)),
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
            if let State::Done(done) = mem::replace(&mut *state, State::Awaited) {
                drop(state);
                return outcome(done);
            }
            let woken = self.is_done.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a job that did not panic.
fn outcome<T>(done: Outcome<T>) -> T {
    done.unwrap_or_else(|panic| panic::resume_unwind(panic))
}

impl<T: Send + 'static> Default for TaskQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Begun => "Begun",
            Self::Awaited => "Awaited",
            Self::Done(_) => "Done",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::test_pools::in_pools;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        in_pools(|| {
            let (mut queue, mut all) = (TaskQueue::with_width(7), vec![]);
            for number in 0..500_u32 {
                queue.push(move || {
                    let spins = if number.is_multiple_of(9) { 5_000 } else { 1 };
                    (0..spins).for_each(|_| std::hint::spin_loop());
                    number
                });
                all.extend(queue.next());
                assert!(number as usize + 1 - all.len() <= 7);
            }
            all.extend(std::iter::from_fn(|| queue.wait()));
            assert_eq!(all, (0..500).collect::<Vec<_>>());
        });
    }

    #[test]
    fn a_panic_reaches_who_asks_for_the_result_and_harms_no_other() {
        in_pools(|| {
            let mut queue = TaskQueue::new();
            for number in 0..3 {
                queue.push(move || {
                    if number == 1 {
                        panic!("of {number}")
                    }
                });
            }
            assert_eq!(queue.wait(), Some(()));
            let panic = panic::catch_unwind(AssertUnwindSafe(|| queue.wait()));
            let panic = panic.unwrap_err();
            assert_eq!(panic.downcast_ref::<String>().unwrap(), "of 1");
            assert_eq!(queue.wait(), Some(()));
            assert_eq!(queue.wait(), None);
        });
    }
}
