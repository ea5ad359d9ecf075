//! `logtool`: inspects and converts the logs of robots.
//!
//! The program only calls: formats know the bytes, sinks know the outputs, and here
//! they meet. [`args`] is what was typed; each command is a file of [`commands`] with a
//! `run` that gives an [`Outcome`](exit_status::Outcome), which is the exit status.

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
mod progress;
mod terminal;

mod commands;

use std::{ffi::OsString, process::ExitCode};

use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue},
};

use crate::args::Args;

fn main() -> ExitCode {
    malloc::keep();
    open_files::allow_many();
    let mut args = typed();
    match commands::run(&mut args) {
        Ok(outcome) => outcome.into(),
        Err(err) => error::tell(&err),
    }
}

/// What was typed; ends the program where that is no command.
fn typed() -> Args {
    let words = std::env::args_os().map(logtool::input::url::local);
    // `--format CSV` and `--clock UTC` are accepted like `--format csv` and `--clock utc`.
    let no_case = |arg: clap::Arg| {
        let is_choice =
            arg.get_action().takes_values() && !arg.get_possible_values().is_empty();
        if is_choice { arg.ignore_case(true) } else { arg }
    };
    let mut program =
        Args::command().mut_subcommands(|command| command.mut_args(no_case));
    let matches = program.try_get_matches_from_mut(words);
    let matches = matches.unwrap_or_else(|err| refuse(err));
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    args.global.given = command_line::text(&program, &matches);
    args
}

/// Names of commands in other programs, and our commands that do the same.
const KNOWN_ELSEWHERE: [(&str, &str); 8] = [
    ("ls", "info"),
    ("list", "info"),
    ("du", "info"),
    ("recover", "repair"),
    ("reindex", "repair"),
    ("doctor", "check"),
    ("validate", "check"),
    ("export", "convert"),
];

/// Ends the program after printing the error in the command line, or the help.
fn refuse(mut err: clap::Error) -> ! {
    if let Some(ContextValue::String(typed)) = err.get(ContextKind::InvalidSubcommand) {
        let known = KNOWN_ELSEWHERE.iter().find(|(other, _)| other == typed);
        if let Some((_, ours)) = known {
            let ours = ContextValue::Strings(vec![(*ours).to_owned()]);
            err.insert(ContextKind::SuggestedSubcommand, ours);
        }
    }
    let is_harmful = |word: OsString| {
        word.to_string_lossy().contains(logtool::units::acts_on_terminal)
    };
    if err.use_stderr() && std::env::args_os().any(is_harmful) {
        // Without colours, as those that were typed would be among them.
        err.to_string().lines().for_each(terminal::print_line);
        std::process::exit(err.exit_code());
    }
    err.exit()
}
