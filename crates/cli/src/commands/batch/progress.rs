//! How far all logs are, for people and for programs.

use std::{
    io::{self, Write as _},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use logtool::{Result, error::Context as _};
use serde_json::{Value, json};

use crate::{args::GlobalArgs, progress};

/// How far all logs are.
pub(super) struct Meter {
    bar: ProgressBar,
    /// Whether programs listen.
    is_json: bool,
    start: Instant,
    /// What there is to do, and what is done of it.
    bytes: AtomicU64,
    done_bytes: AtomicU64,
    logs: u64,
    done_logs: AtomicU64,
    /// Why something could not be told, if so.
    failed: Mutex<Option<io::Error>>,
}

/// How far one log is.
pub(super) struct LogMeter<'m> {
    meter: &'m Meter,
    bytes: u64,
    told: AtomicU64,
}

/// So often programs hear of it.
const OFTEN: Duration = Duration::from_secs(1);

impl Meter {
    /// Of `logs` logs of `bytes` bytes together.
    pub(super) fn new(
        logs: u64,
        bytes: u64,
        is_json: bool,
        global: &GlobalArgs,
    ) -> Self {
        let meter = Self {
            bar: progress::of_logs(logs, bytes, global),
            is_json,
            start: Instant::now(),
            bytes: AtomicU64::new(bytes),
            done_bytes: AtomicU64::new(0),
            logs,
            done_logs: AtomicU64::new(0),
            failed: Mutex::default(),
        };
        meter.tell(&json!({ "event": "start", "logs": logs, "bytes": bytes }));
        meter
    }

    /// Does `work`, and tells how far it is meanwhile.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.is_json {
            return work();
        }
        thread::scope(|scope| {
            let (end, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(OFTEN) == Err(RecvTimeoutError::Timeout) {
                    self.tell_progress();
                }
            });
            let done = work();
            drop(end);
            done
        })
    }

    /// Begins a log of `bytes` bytes.
    pub(super) fn log(&self, bytes: u64) -> LogMeter<'_> {
        LogMeter { meter: self, bytes, told: AtomicU64::new(0) }
    }

    /// Tells programs of something.
    pub(super) fn tell(&self, event: &Value) {
        if self.is_json {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            // That does not stop the work.
            if let Err(err) = writeln!(io::stdout(), "{event}") {
                failed.get_or_insert(err);
            }
        }
    }

    /// Why programs have not heard of everything, if so; that none listens any more is fine.
    pub(super) fn check(&self) -> Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.take() {
            Some(err) if err.kind() != io::ErrorKind::BrokenPipe => {
                Err(err).context("what happens could not be told (--json)")
            }
            _ => Ok(()),
        }
    }

    /// It is all done.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// How long it took so far.
    pub(super) fn took(&self) -> Duration {
        self.start.elapsed()
    }

    fn tell_progress(&self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let done = self.done_bytes.load(Ordering::Relaxed);
        let seconds = self.took().as_secs_f64();
        let rate = done as f64 / seconds.max(1e-3);
        let left = (rate > 0.0).then(|| bytes.saturating_sub(done) as f64 / rate);
        self.tell(&json!({
            "event": "progress",
            "logs": self.logs,
            "done_logs": self.done_logs.load(Ordering::Relaxed),
            "bytes": bytes,
            "done_bytes": done,
            "bytes_per_s": rate.round(),
            "left_s": left.map(f64::round),
        }));
    }
}

impl LogMeter<'_> {
    /// So many more bytes are done.
    pub(super) fn add(&self, bytes: u64) {
        let before = self.told.fetch_add(bytes, Ordering::Relaxed);
        let after = before.saturating_add(bytes).min(self.bytes);
        self.meter.inc(after - before.min(self.bytes));
    }

    /// There was nothing to do.
    pub(super) fn skip(&self) {
        let meter = self.meter;
        meter.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        meter.bar.set_length(meter.bytes.load(Ordering::Relaxed));
        self.told.store(self.bytes, Ordering::Relaxed);
    }
}

impl Meter {
    fn inc(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for LogMeter<'_> {
    fn drop(&mut self) {
        self.add(self.bytes);
        let done = self.meter.done_logs.fetch_add(1, Ordering::Relaxed) + 1;
        self.meter.bar.set_message(format!("{done}/{}", self.meter.logs));
    }
}
