//! Converts the logs of a folder to a dataset, and shows the progress:
//! `cargo run -p logtool --example dataset -- logs`.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use logtool::{
    Result, Session,
    dataset::{BatchRequest, DatasetPlan, DatasetProgress, LogReport},
};

/// Prints each log, and how many are left.
#[derive(Default)]
struct Printer {
    left: AtomicU64,
}

impl DatasetProgress for Printer {
    fn start(&self, plan: &DatasetPlan) {
        self.left.store(plan.logs, Ordering::Relaxed);
    }

    fn finish_log(&self, log: &LogReport) {
        let left = self.left.fetch_sub(1, Ordering::Relaxed) - 1;
        println!("{}: {:?}; {left} left", log.source, log.outcome);
    }
}

fn main() -> Result<()> {
    let folder = env::args().nth(1).unwrap_or("testdata".to_owned());
    let request = BatchRequest::new([folder], "dataset");
    let report =
        request.with_progress(Arc::new(Printer::default())).run(&Session::new())?;
    println!("{} files with {} rows", report.files, report.rows);
    Ok(())
}
