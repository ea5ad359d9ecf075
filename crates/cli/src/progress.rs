//! A bar, where somebody looks.

use indicatif::{ProgressBar, ProgressStyle};

use crate::{args::GlobalArgs, human::plain, terminal};

/// Whether there is somebody to see one.
pub(crate) fn is_seen(global: &GlobalArgs) -> bool {
    !global.quiet && terminal::stderr_is_seen()
}

/// A bar for `bytes` bytes of the log called `name`; an invisible one where nobody
/// looks.
pub(crate) fn bar(name: &str, bytes: u64, global: &GlobalArgs) -> ProgressBar {
    of(name, bytes, "{bytes}/{total_bytes}  {bytes_per_sec}", global)
}

/// The same for `records` records.
pub(crate) fn of_records(name: &str, records: u64, global: &GlobalArgs) -> ProgressBar {
    of(name, records, "{human_pos}/{human_len}  {per_sec}", global)
}

/// One for `logs` logs of `bytes` bytes together; its message says how many are done.
pub(crate) fn of_logs(logs: u64, bytes: u64, global: &GlobalArgs) -> ProgressBar {
    let numbers = "{msg}  {bytes}/{total_bytes}  {bytes_per_sec}";
    let bar = of("logs", bytes, numbers, global);
    bar.set_message(format!("0/{logs}"));
    bar
}

fn of(name: &str, length: u64, numbers: &str, global: &GlobalArgs) -> ProgressBar {
    if !is_seen(global) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template(&format!(
        "{{prefix}} {{wide_bar}} {numbers}  {{eta}}"
    ));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(plain(name));
    bar
}
