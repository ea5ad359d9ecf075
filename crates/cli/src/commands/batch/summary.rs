//! The summary of `batch` and `index` for users.

use std::{collections::BTreeMap, fmt::Display, time::Duration};

use logtool::{
    dataset::DatasetReport,
    units::{Bytes, Count, Span, count_of, escape_unprintable},
};

use crate::{
    exit_status::Outcome,
    output_summary,
    terminal::{color, say},
};

/// The maximum number of lines of a list.
const MAX_LINES: usize = 20;

/// The maximum number of separate tables in the summary.
const MAX_TABLES: usize = 10;

/// Returns the exit status of the command.
pub(super) fn outcome(report: &DatasetReport) -> Outcome {
    if !report.failed.is_empty() || report.is_selection_empty {
        Outcome::Failed
    } else if !report.damaged.is_empty() {
        Outcome::DataLost
    } else {
        Outcome::Done
    }
}

/// Prints `report`; only failures if `is_quiet`. `action` describes the result of the
/// logs, such as "converted".
pub(super) fn print(
    report: &DatasetReport,
    action: &str,
    elapsed: Duration,
    is_quiet: bool,
) {
    let style = color::for_stderr();
    if !is_quiet {
        print_totals(report, action, elapsed);
        print_remarks(report);
        if !report.damaged.is_empty() {
            let logs = count_of(report.damaged.len() as u64, "log");
            say!("{} damaged: {logs}", style.yellow("warning:"));
            print_logs(&report.damaged);
        }
    }
    let label = if report.is_selection_empty {
        style.red("error:")
    } else {
        style.yellow("warning:")
    };
    if report.is_selection_empty || !is_quiet {
        for pattern in &report.unmatched_patterns {
            say!("{label} no log has a {}", escape_unprintable(pattern));
        }
    }
    if !report.failed.is_empty() {
        let logs = count_of(report.failed.len() as u64, "log");
        say!("{} failed: {logs}", style.red("error:"));
        let messages = report
            .failed
            .iter()
            .map(|(source, err)| (source.clone(), err.message_without_context(source)));
        print_logs(&messages.collect());
    }
}

/// Prints the numbers of logs, files, rows and bytes.
fn print_totals(report: &DatasetReport, action: &str, elapsed: Duration) {
    // An index converts nothing.
    let written = match report.files {
        0 => String::new(),
        files => {
            format!("{}, {}, ", count_of(files, "file"), count_of(report.rows, "row"))
        }
    };
    say!(
        "{}: {} {action}, {} before, {} failed: {written}{} read in {} ({})",
        report.output.display(),
        count_of(report.new_logs, "log"),
        Count(report.unchanged_logs),
        Count(report.failed.len() as u64),
        Bytes(report.bytes),
        Span(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
        output_summary::speed(report.bytes, elapsed),
    );
}

/// Prints the files and datasets that were left out, and remarks about logs and tables.
fn print_remarks(report: &DatasetReport) {
    match report.other_files {
        0 => {}
        1 => say!("  1 file is not a log"),
        files => say!("  {} files are not logs", Count(files)),
    }
    let datasets = report.nested_datasets.iter().map(|dataset| {
        format!(
            "{}: a dataset, which is searched for logs only if it is an input",
            escape_unprintable(dataset)
        )
    });
    print_list(datasets, MAX_LINES);
    print_list(
        report.separate_tables.iter().map(|table| escape_unprintable(table)),
        MAX_TABLES,
    );
    let remarks = report.remarks.iter().map(|(remark, logs)| {
        let names = match logs.logs {
            1 => logs.first.clone(),
            count => format!("{} (e.g. {})", count_of(count, "log"), logs.first),
        };
        format!("{}: {}", escape_unprintable(&names), escape_unprintable(remark))
    });
    print_list(remarks, MAX_LINES);
}

/// Prints logs, each with a message.
fn print_logs(logs: &BTreeMap<String, String>) {
    let lines = logs.iter().map(|(source, message)| {
        format!("{}: {}", escape_unprintable(source), escape_unprintable(message))
    });
    print_list(lines, MAX_LINES);
}

/// Prints up to `max` of `lines`, and the number of the others.
fn print_list(lines: impl ExactSizeIterator<Item = impl Display>, max: usize) {
    let others = lines.len().saturating_sub(max);
    lines.take(max).for_each(|line| say!("  {line}"));
    if others > 0 {
        say!("  … and {} more (`--json` lists all)", Count(others as u64));
    }
}
