//! Many logs at once.
//!
//! Each log that is under way has a thread that reads what it holds; its records are
//! decoded by the pool of threads that all of them share. So many short logs and one long one
//! both keep all processors busy.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::mpsc,
    thread,
};

use logtool::{Error, Result, error::Context as _};
use rayon::ThreadPool;

use crate::commands::batch::{
    admission::{Gate, Pass},
    inputs::Found,
    memory,
    progress::{LogMeter, Meter},
};

/// How much may be under way.
pub(super) struct Limits {
    memory: u64,
    /// How many processors decode.
    threads: usize,
    /// How many there are.
    processors: usize,
    /// How many logs there are at most.
    logs: usize,
    /// Whether less memory was asked for.
    is_raised: bool,
}

/// So many logs for each processor, where they mostly wait.
const WAITING: usize = 4;

impl Limits {
    /// As much as `memory` bytes are enough for, or by default a quarter of the machine's; and
    /// as much as the longest of `logs` takes alone.
    pub(super) fn new(memory: Option<u64>, logs: &[Found]) -> Self {
        let asked = memory.unwrap_or_else(memory::quarter);
        let longest = logs.iter().map(|log| log.bytes).max().unwrap_or_default();
        let memory = asked.max(memory::cost(longest, 1));
        let processors = rayon::current_num_threads();
        let threads = memory::threads_for(memory, processors);
        let is_raised = memory > asked;
        Self { memory, threads, processors, logs: processors, is_raised }
    }

    /// To how many bytes what was asked for was raised, if it is too little.
    pub(super) fn raised(&self) -> Option<u64> {
        self.is_raised.then_some(self.memory)
    }

    /// The same, of logs that mostly wait for what is far away.
    pub(super) fn waiting(self) -> Self {
        Self { logs: self.processors * WAITING, ..self }
    }

    /// The threads that decode, if they are fewer than there are.
    pub(super) fn pool(&self) -> Result<Option<ThreadPool>> {
        if self.threads == self.processors {
            return Ok(None);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        pool.map(Some).map_err(|err| {
            Error::failed(format!("the threads cannot be started: {err}"))
        })
    }
}

/// Does `work` with each of `logs`, side by side, and hands what came of it to `take`.
pub(super) fn each<T: Send>(
    logs: &[Found],
    limits: &Limits,
    meter: &Meter,
    work: &(dyn Fn(&Found, &mut Pass<'_>, &LogMeter<'_>) -> Result<T> + Sync),
    take: &mut dyn FnMut(&Found, usize, Result<T>),
) -> Result<()> {
    let costs: Vec<u64> =
        logs.iter().map(|log| memory::cost(log.bytes, limits.threads)).collect();
    let gate = Gate::new(limits.memory);
    let one = |mut pass: Pass<'_>| {
        let (index, log) = (pass.index, logs.get(pass.index)?);
        let meter = meter.log(log.bytes);
        // One log that finds a fault of ours does not stop the others.
        let done =
            panic::catch_unwind(AssertUnwindSafe(|| work(log, &mut pass, &meter)));
        let panicked = |_| Err(Error::failed("this log has found a fault in logtool"));
        Some((index, log, done.unwrap_or_else(panicked)))
    };
    thread::scope(|scope| {
        let (results, received) = mpsc::sync_channel(limits.logs);
        for _ in 0..limits.logs.min(logs.len()) {
            let (results, gate, costs, one) = (results.clone(), &gate, &costs, &one);
            let named = thread::Builder::new().name("log".to_owned());
            let work = move || {
                while let Some(pass) = gate.enter(costs) {
                    let Some(done) = one(pass) else { return };
                    if results.send(done).is_err() {
                        return;
                    }
                }
            };
            named.spawn_scoped(scope, work).context("the threads cannot be started")?;
        }
        drop(results);
        received.into_iter().for_each(|(index, log, done)| take(log, index, done));
        Ok(())
    })
}
