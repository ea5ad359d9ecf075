//! Prints summaries of outputs.

use std::time::{Duration, Instant};

use logtool::{
    output::OutputSummary,
    units::{Bytes, Span, count_of},
};

use crate::{args::GlobalArgs, terminal::say};

/// Prints the `summary` of a log that was made of the input called `from`, in the time since
/// `start`.
pub(crate) fn print(
    from: &str,
    summary: &OutputSummary,
    start: Instant,
    global: &GlobalArgs,
) {
    if global.quiet {
        return;
    }
    let took = start.elapsed();
    say!(
        "{from} → {}: {}, {} in {} ({})",
        summary.path.display(),
        count_of(summary.records, "record"),
        Bytes(summary.bytes),
        Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        speed(summary.input_bytes, took),
    );
    // Remarks and warnings state which records are missing.
    if summary.records == 0 && summary.remarks.is_empty() && summary.warnings.is_empty()
    {
        say!("  it has no records");
    }
    summary.remarks.iter().for_each(|remark| say!("  {remark}"));
}

/// Returns the speed at which `bytes` were read in the time `took`, such as `62 MB/s` or
/// `0.25 MB/s`.
pub(crate) fn speed(bytes: u64, took: Duration) -> String {
    let speed = bytes as f64 / 1e6 / took.as_secs_f64().max(1e-6);
    let decimals = if bytes > 0 && speed < 0.995 { 2 } else { 0 };
    format!("{speed:.decimals$} MB/s")
}
