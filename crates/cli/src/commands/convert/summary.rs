//! The summary of a conversion on standard error.

use std::{path::PathBuf, time::Instant};

use logtool::{
    convert::{ConvertReport, Destination, OutputFile, OutputFormat},
    input::STDIN,
    output::OutputSummary,
    units::{Bytes, Span, count_of},
};

use crate::{
    args::GlobalArgs,
    notices, output_summary,
    terminal::{color, say},
};

/// Prints the files and rows of a conversion that began at `start`, with its remarks and
/// warnings.
pub(super) fn print(
    report: &ConvertReport,
    destination: &Destination,
    format: OutputFormat,
    start: Instant,
    global: &GlobalArgs,
) {
    match &report.empty_reason {
        _ if format.is_log() => print_log(report, start, global),
        Some(reason) if report.files.is_empty() && !destination.is_stdout() => {
            let text = format!("nothing is written: {reason}");
            notices::warnings(&report.name, &[text]);
        }
        Some(reason) => {
            notices::warnings(&report.name, std::slice::from_ref(reason));
            print_tables(report, destination, start);
        }
        None if report.files.is_empty() && !destination.is_stdout() => {
            notices::warnings(&report.name, &["nothing is written".to_owned()]);
        }
        None => print_tables(report, destination, start),
    }
    if !format.is_log() {
        report.remarks.iter().for_each(|remark| say!("  {remark}"));
        report.remedy.iter().for_each(notices::remedy);
    }
    for stale in &report.stale_files {
        say!(
            "{} {}: {} of an earlier run still there, which index.csv does not list",
            color::for_stderr().yellow("warning:"),
            stale.folder.display(),
            count_of(stale.count, "file")
        );
    }
    notices::lidar_warnings(&report.name, &report.lidar);
    notices::warnings(&report.name, &report.raw_topics);
}

/// Prints the line of a new log, and its remarks.
fn print_log(report: &ConvertReport, start: Instant, global: &GlobalArgs) {
    for OutputFile { path, bytes, .. } in &report.files {
        let mut summary = OutputSummary::new(path);
        summary.input_bytes = report.input_bytes;
        (summary.records, summary.bytes) = (report.records, *bytes);
        summary.remarks.clone_from(&report.remarks);
        summary.warnings.extend(report.empty_reason.clone());
        notices::warnings(&report.name, &summary.warnings);
        output_summary::print(&report.name, &summary, start, global);
    }
}

/// Prints the line of tables and other files.
fn print_tables(report: &ConvertReport, destination: &Destination, start: Instant) {
    let took = start.elapsed();
    let output = match destination {
        Destination::Folder(folder) => folder.join(""),
        Destination::File(file) => file.clone(),
        _ => PathBuf::from(STDIN),
    };
    let written = if destination.is_stdout() {
        String::new()
    } else {
        format!(", {}", Bytes(report.bytes()))
    };
    say!(
        "{} → {}: {}, {}{written} in {} ({})",
        report.name,
        output.display(),
        count_of(report.tables, "table"),
        count_of(report.rows, "row"),
        Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        output_summary::speed(report.input_bytes, took),
    );
}
