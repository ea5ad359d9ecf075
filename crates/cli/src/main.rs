//! `logtool`: inspects and converts robotics logs.
//!
//! [`args`] parses the command line. Each command is a module of [`commands`] with a function
//! `run`, which calls the library and prints the result. It returns an
//! [`Outcome`](exit_status::Outcome), which is the exit status.

mod args;

mod color;
mod command_line;
mod error;
mod exit_status;
mod files;
mod interrupt;
mod key;
mod lidar_options;
mod malloc;
mod notices;
mod open_files;
mod output_summary;
mod pager;
mod progress;
mod remedies;
mod requested_format;
mod terminal;

mod commands;

use std::process;

fn main() {
    malloc::keep_freed_memory();
    open_files::allow_many();
    args::answer_completion();
    let mut args = args::parse();
    let status = match commands::run(&mut args) {
        Ok(outcome) => outcome.status(),
        Err(err) => error::exit_status(&err),
    };
    pager::finish();
    process::exit(status)
}
