//! Progress bars on terminals.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use logtool::{NoticeLevel, Progress, Remedy, Task, units::escape_unprintable};

use crate::{
    args::GlobalArgs,
    notices,
    terminal::{self, color, pager, say},
};

/// The numbers of a bar of bytes, in the decimal units of other texts.
const BYTES: &str = "{decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}";

/// The numbers of a bar of bytes whose total is not known.
const RECEIVED_BYTES: &str = "{decimal_bytes}  {decimal_bytes_per_sec}";

/// The duration after which a bar appears. Short commands do not flicker.
const DELAY: Duration = Duration::from_millis(300);

/// Returns whether bars are shown.
pub(crate) fn is_seen(global: &GlobalArgs) -> bool {
    !global.quiet && terminal::stderr_is_seen() && !pager::is_running()
}

/// Returns a bar for `logs` logs of `bytes` bytes together. Its message is the number of
/// finished logs.
pub(crate) fn for_logs(logs: u64, bytes: u64, global: &GlobalArgs) -> ProgressBar {
    if !is_seen(global) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(bytes);
    bar.set_style(style(&format!("{{msg}}  {BYTES}")));
    bar.set_prefix("logs");
    bar.set_message(format!("0/{logs}"));
    bar
}

/// Returns the style of a bar that shows these `numbers`.
fn style(numbers: &str) -> ProgressStyle {
    let template = format!("{{prefix}} {{wide_bar}} {numbers}  {{eta}}");
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shows bars and notices on standard error.
pub(crate) struct TerminalProgress {
    is_quiet: bool,
}

impl TerminalProgress {
    /// Creates a progress that is hidden if `is_quiet`. Without a terminal it has no bars.
    pub(crate) fn new(is_quiet: bool) -> Self {
        Self { is_quiet }
    }
}

impl Progress for TerminalProgress {
    fn is_visible(&self) -> bool {
        !self.is_quiet && terminal::stderr_is_seen() && !pager::is_running()
    }

    fn start(&self, name: &str, bytes: u64) -> Box<dyn Task> {
        let numbers = if bytes > 0 { BYTES } else { RECEIVED_BYTES };
        Box::new(Bar::new(name, bytes, numbers))
    }

    fn start_records(&self, name: &str, records: u64) -> Box<dyn Task> {
        Box::new(Bar::new(name, records, "{human_pos}/{human_len}  {per_sec}"))
    }

    fn notice(&self, level: NoticeLevel, name: &str, text: &str) {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        match level {
            NoticeLevel::Note | NoticeLevel::Selection if self.is_quiet => {}
            NoticeLevel::Note => say!("{name}{text}"),
            NoticeLevel::Warning | NoticeLevel::Selection => {
                say!("{} {name}{text}", color::for_stderr().yellow("warning:"));
            }
        }
    }

    fn remedy(&self, remedy: &Remedy) {
        if !self.is_quiet {
            notices::remedy(remedy);
        }
    }
}

/// A bar on standard error, which appears if the task takes longer than [`DELAY`].
struct Bar {
    bar: ProgressBar,
    start: Instant,
}

impl Bar {
    /// Creates a bar of this length that shows these `numbers`.
    fn new(name: &str, length: u64, numbers: &str) -> Self {
        let hidden = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some(length), hidden);
        bar.set_style(style(numbers));
        bar.set_prefix(escape_unprintable(name));
        Self { bar, start: Instant::now() }
    }
}

impl Task for Bar {
    fn set_position(&self, done: u64) {
        if pager::is_running() {
            self.bar.finish_and_clear();
            return;
        }
        if self.bar.is_hidden() && self.start.elapsed() >= DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
