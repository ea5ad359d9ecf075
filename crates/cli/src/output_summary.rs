//! Prints summaries of outputs.

use std::time::Instant;

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
    let speed = summary.input_bytes as f64 / 1e6 / took.as_secs_f64().max(1e-6);
    say!(
        "{from} → {}: {}, {} in {} ({speed:.0} MB/s)",
        summary.path.display(),
        count_of(summary.records, "record"),
        Bytes(summary.bytes),
        Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
    );
    // The remarks state which records are missing.
    if summary.records == 0 && summary.remarks.is_empty() {
        say!("  no records are selected, or there are none");
    }
    summary.remarks.iter().for_each(|remark| say!("  {remark}"));
}
