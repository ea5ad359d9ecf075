//! Concurrent work on many logs.
//!
//! Each log that is being processed has a thread that reads it. The records of all of them are
//! decoded by one thread pool. So both many short logs and one long log keep all processors
//! busy.

mod admission;
mod memory;

use std::{
    panic::{self, AssertUnwindSafe},
    sync::mpsc,
    thread,
};

use rayon::ThreadPool;

use crate::{
    dataset::{
        inputs::InputLog,
        progress::{DatasetProgress, LogProgress},
        schedule::admission::AdmissionScheduler,
    },
    error::{Context as _, Error, Result},
};

pub(super) use self::admission::Permit;

/// The limits of concurrent work.
pub(super) struct Limits {
    memory: u64,
    /// The number of threads that decode.
    decode_threads: usize,
    /// The number of threads of the default pool.
    processors: usize,
    /// The maximum number of logs that are processed at the same time.
    logs: usize,
    /// Whether less memory was requested.
    is_raised: bool,
}

/// The number of logs for each processor: while one waits until its files are on the disk,
/// another is decoded.
const LOCAL_LOGS: usize = 2;
/// The number of logs for each processor if they mostly wait for a network.
const WAITING_LOGS: usize = 4;

impl Limits {
    /// Creates limits for `memory` bytes, by default a quarter of the memory of the machine,
    /// and at least what the longest of `logs` needs.
    pub(super) fn new(memory: Option<u64>, logs: &[InputLog]) -> Self {
        let requested = memory.unwrap_or_else(memory::default_limit);
        let longest = logs.iter().map(|log| log.bytes).max().unwrap_or_default();
        let memory = requested.max(memory::log_cost(longest, 1));
        let processors = rayon::current_num_threads();
        let decode_threads = memory::max_threads(memory, processors);
        let is_raised = memory > requested;
        let logs = processors * LOCAL_LOGS;
        Self { memory, decode_threads, processors, logs, is_raised }
    }

    /// Returns the memory limit, if it is higher than requested.
    pub(super) fn raised_memory_bytes(&self) -> Option<u64> {
        self.is_raised.then_some(self.memory)
    }

    /// Allows more logs at the same time, because they mostly wait for a network.
    pub(super) fn for_waiting_logs(self) -> Self {
        Self { logs: self.processors * WAITING_LOGS, ..self }
    }

    /// Returns a pool for decoding, if it has fewer threads than the default pool.
    pub(super) fn pool(&self) -> Result<Option<ThreadPool>> {
        if self.decode_threads == self.processors {
            return Ok(None);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.decode_threads);
        pool.build().map(Some).map_err(|err| {
            Error::other(format!("the threads cannot be started: {err}"))
        })
    }
}

/// The work on one log.
pub(super) type LogWork<'w, T> =
    dyn Fn(&InputLog, &mut Permit<'_>, &LogProgress<'_>) -> Result<T> + Sync + 'w;

/// The work on many logs.
pub(super) struct Schedule<'w, T> {
    pub(super) logs: &'w [InputLog],
    pub(super) limits: &'w Limits,
    pub(super) progress: &'w dyn DatasetProgress,
    pub(super) run: &'w LogWork<'w, T>,
}

impl<T: Send> Schedule<'_, T> {
    /// Runs the work on all logs. `receive` takes the index of each log, the log and the
    /// result, in the order in which the logs are finished.
    pub(super) fn for_each(
        &self,
        receive: &mut dyn FnMut(usize, &InputLog, Result<T>),
    ) -> Result<()> {
        let Self { logs, limits, .. } = self;
        let cost = |log: &InputLog| memory::log_cost(log.bytes, limits.decode_threads);
        let costs: Vec<u64> = logs.iter().map(cost).collect();
        let scheduler = AdmissionScheduler::new(limits.memory);
        thread::scope(|scope| {
            let (sender, results) = mpsc::sync_channel(limits.logs);
            for _ in 0..limits.logs.min(logs.len()) {
                let (sender, scheduler, costs) = (sender.clone(), &scheduler, &costs);
                let thread = thread::Builder::new().name("log".to_owned());
                let work = move || {
                    while let Some(permit) = scheduler.admit(costs) {
                        let Some(result) = self.run_one(permit) else { return };
                        if sender.send(result).is_err() {
                            return;
                        }
                    }
                };
                let started = thread.spawn_scoped(scope, work);
                started.context("the threads cannot be started")?;
            }
            drop(sender);
            for (index, log, result) in results {
                receive(index, log, result);
            }
            Ok(())
        })
    }

    fn run_one(&self, mut permit: Permit<'_>) -> Option<(usize, &InputLog, Result<T>)> {
        let index = permit.index();
        let log = self.logs.get(index)?;
        let progress = LogProgress::new(self.progress, log.bytes);
        // A log that reveals a bug of this library does not stop the others.
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            (self.run)(log, &mut permit, &progress)
        }));
        let panicked = |_| Err(Error::other("this log has revealed a bug in logtool"));
        Some((index, log, result.unwrap_or_else(panicked)))
    }
}
