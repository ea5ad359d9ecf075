//! The command `logtool`, which inspects and converts robotics logs.
//!
//! It is a library so that the Python package contains the command too. The module `args`
//! parses the command line. Each command is a module of `commands` with a function `run`, which
//! calls the library `logtool` and prints the result. It returns an `Outcome`, which is the exit
//! status.

mod args;

mod command_line;
mod error;
mod exit_status;
mod key;
mod lidar_options;
mod notices;
mod output_summary;
mod process;
mod progress;
mod remedies;
mod requested_format;
mod terminal;

mod commands;

use std::ffi::OsString;

pub use crate::process::panic_hook::leave_out_caught_panics;

/// Runs the command with the arguments `words`, which start with the name of the program, and
/// returns the exit status.
///
/// The process must do nothing else: the command handles signals, writes to standard output, sets
/// the allocator, the panic hook and the global threads of rayon, and may end the process.
pub fn run(words: impl IntoIterator<Item = OsString>) -> i32 {
    let words: Vec<OsString> = words.into_iter().collect();
    process::malloc::keep_freed_memory();
    process::open_files::allow_many();
    process::file_size::report_limit();
    process::panic_hook::leave_out_caught_panics();
    args::answer_completion(&words);
    let mut args = args::parse(words);
    let status = match commands::run(&mut args) {
        Ok(outcome) => outcome.status(),
        Err(err) => error::exit_status(&err, args.global.quiet),
    };
    terminal::pager::finish();
    status
}
