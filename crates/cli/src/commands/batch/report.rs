//! What is told at the end of a batch.

use std::{collections::BTreeMap, path::Path, time::Duration};

use logtool::units::{Bytes, Count as Number, Span, counted, plain};
use serde_json::json;

use crate::{
    color,
    commands::batch::{job::Count, progress::Meter},
    exit_status::Outcome,
    terminal::say,
};

/// What became of all logs.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// How many were done now, and how many before.
    pub(super) now: u64,
    pub(super) before: u64,
    pub(super) count: Count,
    /// How many bytes of logs were read.
    pub(super) bytes: u64,
    /// How many files are no logs.
    pub(super) others: u64,
    /// The data sets in folders, which were left out.
    pub(super) sets: Vec<String>,
    /// The patterns of topics and fields that no log has.
    pub(super) unused: Vec<String>,
    /// Whether, because of these, nothing came of any log.
    pub(super) is_in_vain: bool,
    /// The logs in which something is lost, and what.
    pub(super) damaged: BTreeMap<String, String>,
    /// The logs that failed, and why.
    pub(super) failed: BTreeMap<String, String>,
    /// What people should know, of how many logs, and of which first.
    pub(super) remarks: BTreeMap<String, (u64, String)>,
    /// The tables that are there because types differ, and how.
    pub(super) odd: Vec<String>,
}

/// So many of a kind are told, and of more only the number.
const TOLD: usize = 20;

/// The summary names up to this many tables with conflicts of types.
const MAX_CONFLICTS: usize = 10;

impl Report {
    /// How it ended.
    pub(super) fn outcome(&self) -> Outcome {
        let is_fine = self.failed.is_empty() && !self.is_in_vain;
        match (is_fine, self.damaged.is_empty()) {
            (false, _) => Outcome::Failed,
            (true, false) => Outcome::DataLost,
            (true, true) => Outcome::Done,
        }
    }

    /// Adds that the log at `source` failed, and why: once it is said which one.
    pub(super) fn fail(&mut self, source: String, error: &str) {
        let rest = error.strip_prefix(&*source);
        let why =
            rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(error).to_owned();
        self.failed.insert(source, why);
    }

    /// Adds what is to be known of the log at `source`.
    pub(super) fn remark(&mut self, source: &str, remark: &str) {
        let of = self.remarks.entry(remark.to_owned()).or_default();
        of.0 += 1;
        if of.1.is_empty() || *source < *of.1 {
            source.clone_into(&mut of.1);
        }
    }

    /// Tells people; with `is_quiet` only of what failed. `done` is what was done with logs.
    pub(super) fn tell(
        &self,
        place: &Path,
        done: &str,
        took: Duration,
        is_quiet: bool,
    ) {
        let paint = color::for_stderr();
        if !is_quiet {
            let speed = self.bytes as f64 / 1e6 / took.as_secs_f64().max(1e-6);
            say!(
                "{}: {} {done}, {} before, {} failed: {}, {}, {} read in {} ({speed:.0} MB/s)",
                place.display(),
                counted(self.now, "log"),
                Number(self.before),
                Number(self.failed.len() as u64),
                counted(self.count.tables, "file"),
                counted(self.count.rows, "row"),
                Bytes(self.bytes),
                Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
            );
            if self.others > 0 {
                say!(
                    "  {} no log",
                    match self.others {
                        1 => "1 file is".to_owned(),
                        others => format!("{} files are", Number(others)),
                    }
                );
            }
            for set in self.sets.iter().take(TOLD) {
                let set = plain(set);
                say!("  {set}: a data set, and no logs, unless it is named");
            }
            more(self.sets.len(), TOLD);
            let conflicts = self.odd.iter().take(MAX_CONFLICTS);
            conflicts.for_each(|conflict| say!("  {}", plain(conflict)));
            more(self.odd.len(), MAX_CONFLICTS);
            for (remark, (logs, first)) in self.remarks.iter().take(TOLD) {
                let of = match logs {
                    1 => first.clone(),
                    logs => format!("{} (as {first})", counted(*logs, "log")),
                };
                say!("  {}: {}", plain(&of), plain(remark));
            }
            more(self.remarks.len(), TOLD);
            if !self.damaged.is_empty() {
                let logs = counted(self.damaged.len() as u64, "log");
                say!("{} damaged: {logs}", paint.yellow("warning:"));
                list(&self.damaged);
            }
        }
        let (word, is_told) = match self.is_in_vain {
            true => (paint.red("error:"), true),
            false => (paint.yellow("warning:"), !is_quiet),
        };
        for pattern in self.unused.iter().filter(|_| is_told) {
            say!("{word} no log has a {}", plain(pattern));
        }
        if !self.failed.is_empty() {
            let logs = counted(self.failed.len() as u64, "log");
            say!("{} failed: {logs}", paint.red("error:"));
            list(&self.failed);
        }
    }

    /// Tells programs.
    pub(super) fn tell_json(&self, meter: &Meter) {
        meter.tell(&json!({
            "event": "end",
            "converted": self.now,
            "done_before": self.before,
            "files": self.count.tables,
            "rows": self.count.rows,
            "bytes": self.bytes,
            "no_logs": self.others,
            "data_sets": self.sets,
            "own_tables": self.odd,
            "unused": self.unused,
            "damaged": self.damaged,
            "failed": self.failed,
            "seconds": meter.took().as_secs_f64(),
        }));
    }
}

fn list(logs: &BTreeMap<String, String>) {
    for (source, what) in logs.iter().take(TOLD) {
        say!("  {}: {}", plain(source), plain(what));
    }
    more(logs.len(), TOLD);
}

fn more(all: usize, named: usize) {
    if all > named {
        say!("  … and {} more (`--json` tells all)", Number((all - named) as u64));
    }
}
