//! `logtool`: inspects and converts the logs of robots.
//!
//! The program only calls: formats know the bytes, sinks know the outputs, and here
//! they meet. [`args`] is what was typed; each command is a file of [`commands`] with a
//! `run` that gives an [`Outcome`](outcome::Outcome), which is the exit status.

mod args;

mod afar;
mod clock;
mod complaint;
mod digest;
mod finding;
mod findings;
mod formats;
mod freed;
mod given;
mod human;
mod input;
mod inputs;
mod interrupt;
mod itself;
mod key;
mod labels;
mod lidar_bag;
mod lidars;
mod made;
mod message;
mod modes;
mod moved;
mod new_log;
mod open_files;
mod opened;
mod outcome;
mod paint;
mod part_times;
mod progress;
mod provenance;
mod raw;
mod reader;
mod remote;
mod row;
mod selection;
mod signals;
mod suggest;
mod terminal;
mod times;
mod translate;
mod url;
mod watched;

mod commands;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::args::Args;

fn main() -> ExitCode {
    freed::keep();
    open_files::allow_many();
    let mut args = typed();
    match commands::run(&mut args) {
        Ok(outcome) => outcome.into(),
        Err(err) => complaint::tell(&err),
    }
}

/// What was typed; ends the program where that is no command.
fn typed() -> Args {
    let words = std::env::args_os().map(url::local);
    let mut program = Args::command();
    let matches = program.try_get_matches_from_mut(words);
    let matches = matches.unwrap_or_else(|err| err.exit());
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    args.global.given = given::text(&program, &matches);
    args
}
