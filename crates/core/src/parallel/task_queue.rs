//! A bounded queue of tasks that run in parallel and return their results in order, e.g.
//! for compressing chunks, encoding columns or formatting lines.
//!
//! The threads of the current rayon pool run the tasks. A caller never waits for a task
//! that has not started: it runs the task itself. So the queue also works on a pool whose
//! only thread is the caller.

use std::{
    any::Any,
    collections::VecDeque,
    fmt, mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// A queue of running and waiting tasks.
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
    tasks: VecDeque<Arc<Task<T>>>,
    /// The number of tasks from which on the queue is full.
    width: usize,
}

#[derive(Debug)]
struct Task<T> {
    state: Mutex<TaskState<T>>,
    /// Notifies the thread that waits for the result.
    is_done: Condvar,
}

enum TaskState<T> {
    Waiting(Box<dyn FnOnce() -> T + Send>),
    Started,
    /// Running, and a thread waits for the result. Notifying no thread would still be a
    /// system call, so this state avoids it.
    Awaited,
    Done(TaskResult<T>),
}

/// The result of a task, or its panic, which is resumed in the caller.
type TaskResult<T> = Result<T, Box<dyn Any + Send>>;

impl<T: Send + 'static> TaskQueue<T> {
    /// Creates a queue that is long enough for all threads of the pool.
    pub fn new() -> Self {
        Self::with_width(rayon::current_num_threads() + 1)
    }

    /// Creates a queue of double length, for results that take little memory: then a task
    /// that takes twice as long as others does not stall the queue.
    pub fn with_double_length() -> Self {
        Self::with_width(2 * rayon::current_num_threads() + 1)
    }

    /// Creates a queue of at most `width` tasks.
    pub fn with_width(width: usize) -> Self {
        Self { tasks: VecDeque::new(), width }
    }

    /// Appends a task.
    pub fn push(&mut self, run: impl FnOnce() -> T + Send + 'static) {
        let task = Arc::new(Task {
            state: Mutex::new(TaskState::Waiting(Box::new(run))),
            is_done: Condvar::new(),
        });
        self.tasks.push_back(task.clone());
        // A pool whose only thread is this one would start all tasks at its end.
        let has_one_thread = rayon::current_num_threads() == 1;
        if !has_one_thread || rayon::current_thread_index().is_none() {
            rayon::spawn(move || {
                task.run_if_waiting();
            });
        }
    }

    /// Removes and returns the first result if it is ready. If the queue is full, waits
    /// for it.
    #[allow(clippy::should_implement_trait)] // `None` does not mean the end
    pub fn next(&mut self) -> Option<T> {
        let is_full = self.tasks.len() >= self.width;
        match self.tasks.front()?.try_take() {
            Some(result) => {
                self.tasks.pop_front();
                Some(result)
            }
            None if is_full => self.wait(),
            None => None,
        }
    }

    /// Waits for the first result, and removes and returns it. Returns `None` if the
    /// queue is empty.
    pub fn wait(&mut self) -> Option<T> {
        let first = self.tasks.front()?;
        // While another thread runs the first task, help with the others.
        first.run_if_waiting();
        while first.is_running() && self.tasks.iter().any(|task| task.run_if_waiting())
        {
        }
        self.tasks.pop_front().map(|first| first.wait())
    }
}

impl<T> Task<T> {
    /// Runs the task, unless it was started before. Returns whether it ran.
    fn run_if_waiting(&self) -> bool {
        let mut state = self.state();
        match mem::replace(&mut *state, TaskState::Started) {
            TaskState::Waiting(run) => {
                drop(state);
                let result = panic::catch_unwind(AssertUnwindSafe(run));
                let previous =
                    mem::replace(&mut *self.state(), TaskState::Done(result));
                if matches!(previous, TaskState::Awaited) {
                    self.is_done.notify_one(); // only one thread takes the result
                }
                true
            }
            other => {
                *state = other;
                false
            }
        }
    }

    fn is_running(&self) -> bool {
        matches!(*self.state(), TaskState::Started)
    }

    /// Takes the result if it is ready.
    fn try_take(&self) -> Option<T> {
        let mut state = self.state();
        match mem::replace(&mut *state, TaskState::Started) {
            TaskState::Done(result) => Some(resume_panic(result)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Waits for the result of a task that was started.
    fn wait(&self) -> T {
        let mut state = self.state();
        loop {
            if let TaskState::Done(result) =
                mem::replace(&mut *state, TaskState::Awaited)
            {
                drop(state);
                return resume_panic(result);
            }
            state = self.is_done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, TaskState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the result of the task, or resumes its panic.
fn resume_panic<T>(result: TaskResult<T>) -> T {
    result.unwrap_or_else(|panic| panic::resume_unwind(panic))
}

impl<T: Send + 'static> Default for TaskQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TaskState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Started => "Started",
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
    fn results_are_in_the_order_of_the_tasks() {
        in_pools(|| {
            let (mut queue, mut results) = (TaskQueue::with_width(7), vec![]);
            for number in 0..500_u32 {
                queue.push(move || {
                    let spins = if number.is_multiple_of(9) { 5_000 } else { 1 };
                    (0..spins).for_each(|_| std::hint::spin_loop());
                    number
                });
                results.extend(queue.next());
                assert!(number as usize + 1 - results.len() <= 7);
            }
            results.extend(std::iter::from_fn(|| queue.wait()));
            assert_eq!(results, (0..500).collect::<Vec<_>>());
        });
    }

    #[test]
    fn panic_is_resumed_in_the_caller_and_other_results_are_kept() {
        in_pools(|| {
            let mut queue = TaskQueue::new();
            for number in 0..3 {
                queue.push(move || {
                    if number == 1 {
                        panic!("in task {number}")
                    }
                });
            }
            assert_eq!(queue.wait(), Some(()));
            let panic = panic::catch_unwind(AssertUnwindSafe(|| queue.wait()));
            let panic = panic.unwrap_err();
            assert_eq!(panic.downcast_ref::<String>().unwrap(), "in task 1");
            assert_eq!(queue.wait(), Some(()));
            assert_eq!(queue.wait(), None);
        });
    }
}
