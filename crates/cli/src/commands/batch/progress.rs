//! The progress of `batch` and `index`: a bar for users, JSON events for programs.

use std::{
    io::{self, Write as _},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use logtool::{
    Result,
    dataset::{DatasetPlan, DatasetProgress, DatasetReport, LogOutcome, LogReport},
    error::Context as _,
};
use serde_json::{Value, json};

use crate::{
    args::GlobalArgs,
    progress,
    terminal::{self, color, say},
};

/// The command whose progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatasetCommand {
    Batch,
    Index,
}

/// The progress of all logs.
pub(crate) struct DatasetMeter {
    command: DatasetCommand,
    global: GlobalArgs,
    /// Whether events are written to standard output.
    is_json: bool,
    /// `None` until the logs are known.
    started: OnceLock<RunProgress>,
    /// The first error of writing an event.
    failed: Mutex<Option<io::Error>>,
}

/// The progress since the logs are known.
struct RunProgress {
    bar: ProgressBar,
    time: Instant,
    logs: u64,
    finished_logs: AtomicU64,
    bytes: AtomicU64,
    finished_bytes: AtomicU64,
}

/// The time between two progress events.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

impl DatasetMeter {
    /// Creates a meter for a command with these options.
    pub(crate) fn new(
        command: DatasetCommand,
        is_json: bool,
        global: &GlobalArgs,
    ) -> Self {
        let (global, started) = (global.clone(), OnceLock::new());
        Self { command, global, is_json, started, failed: Mutex::default() }
    }

    /// Runs `work` and writes progress events meanwhile.
    pub(crate) fn run_with_events<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.is_json {
            return work();
        }
        thread::scope(|scope| {
            let (end, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(EVENT_INTERVAL)
                    == Err(RecvTimeoutError::Timeout)
                {
                    self.write_progress();
                }
            });
            let result = work();
            drop(end);
            result
        })
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(started) = self.started.get() {
            started.bar.finish_and_clear();
        }
    }

    /// Removes the bar, and writes the last event.
    pub(crate) fn finish(&self, report: &DatasetReport) {
        self.clear();
        let failed = report.failed.iter().map(|(source, err)| {
            (source.clone(), json!(err.message_without_context(source)))
        });
        self.write(&json!({
            "event": "end",
            "converted": report.new_logs,
            "done_before": report.unchanged_logs,
            "files": report.files,
            "rows": report.rows,
            "bytes": report.bytes,
            "no_logs": report.other_files,
            "data_sets": report.nested_datasets,
            "own_tables": report.separate_tables,
            "unused": report.unmatched_patterns,
            "damaged": report.damaged,
            "failed": failed.collect::<serde_json::Map<String, Value>>(),
            "seconds": self.elapsed().as_secs_f64(),
        }));
    }

    /// Returns the time since the logs were known.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.get().map(|started| started.time.elapsed()).unwrap_or_default()
    }

    /// Returns the first error of writing an event. It is not an error if the reader of the
    /// events has ended.
    pub(crate) fn check(&self) -> Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.take() {
            Some(err) if err.kind() != io::ErrorKind::BrokenPipe => {
                Err(err).context("the events (--json) could not be written")
            }
            _ => Ok(()),
        }
    }

    fn write(&self, event: &Value) {
        if self.is_json {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            // The logs are converted nevertheless.
            let mut out = terminal::stdout();
            if let Err(err) = writeln!(out, "{event}").and_then(|()| out.flush()) {
                failed.get_or_insert(err);
            }
        }
    }

    fn write_progress(&self) {
        let Some(started) = self.started.get() else { return };
        let bytes = started.bytes.load(Ordering::Relaxed);
        let finished = started.finished_bytes.load(Ordering::Relaxed);
        let seconds = started.time.elapsed().as_secs_f64();
        let rate = finished as f64 / seconds.max(1e-3);
        let remaining =
            (rate > 0.0).then(|| bytes.saturating_sub(finished) as f64 / rate);
        self.write(&json!({
            "event": "progress",
            "logs": started.logs,
            "done_logs": started.finished_logs.load(Ordering::Relaxed),
            "bytes": bytes,
            "done_bytes": finished,
            "bytes_per_s": rate.round(),
            "left_s": remaining.map(f64::round),
        }));
    }

    /// Returns the event of a finished log.
    fn log_event(&self, log: &LogReport) -> Value {
        let LogReport { name, source, outcome, .. } = log;
        let mut event = json!({ "event": "log", "log": name, "source": source });
        let (outcome, damage) = match outcome {
            LogOutcome::Converted { files, rows, damage, remarks, .. } => {
                event["files"] = json!(files);
                event["rows"] = json!(rows);
                event["remarks"] = json!(remarks);
                ("converted", Some(damage))
            }
            LogOutcome::Indexed { damage, .. } => ("indexed", Some(damage)),
            LogOutcome::Unchanged { damage, .. } => {
                let outcome = match self.command {
                    DatasetCommand::Batch => "done_before",
                    DatasetCommand::Index => "known",
                };
                (outcome, Some(damage))
            }
            LogOutcome::Failed(err) => {
                event["error"] = json!(err.to_string());
                ("failed", None)
            }
            // The library may add outcomes.
            _ => ("unknown", None),
        };
        event["outcome"] = json!(outcome);
        event["damage"] = json!(damage);
        event
    }
}

impl DatasetProgress for DatasetMeter {
    fn start(&self, plan: &DatasetPlan) {
        let DatasetPlan { logs, bytes, raised_memory_bytes, .. } = *plan;
        if let (Some(raised), false) = (raised_memory_bytes, self.global.quiet) {
            let warning = color::for_stderr().yellow("warning:");
            let megabytes = raised.div_ceil(1 << 20);
            say!(
                "{warning} --memory is raised to {megabytes}M, which the longest log may need"
            );
        }
        self.started.get_or_init(|| RunProgress {
            bar: progress::for_logs(logs, bytes, &self.global),
            time: Instant::now(),
            logs,
            finished_logs: AtomicU64::new(0),
            bytes: AtomicU64::new(bytes),
            finished_bytes: AtomicU64::new(0),
        });
        self.write(&json!({ "event": "start", "logs": logs, "bytes": bytes }));
    }

    fn add_bytes(&self, bytes: u64) {
        if let Some(started) = self.started.get() {
            started.bar.inc(bytes);
            started.finished_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn skip_bytes(&self, bytes: u64) {
        if let Some(started) = self.started.get() {
            let before = started.bytes.fetch_sub(bytes, Ordering::Relaxed);
            started.bar.set_length(before.saturating_sub(bytes));
        }
    }

    fn finish_log(&self, log: &LogReport) {
        self.write(&self.log_event(log));
        if let Some(started) = self.started.get() {
            let finished = started.finished_logs.fetch_add(1, Ordering::Relaxed) + 1;
            started.bar.set_message(format!("{finished}/{}", started.logs));
        }
    }
}
