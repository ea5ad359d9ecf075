//! `logtool completions`: what a shell needs to complete commands.

use std::io::Write as _;

use clap::CommandFactory as _;
use logtool::Result;

use crate::{
    args::{Args, CompletionsArgs},
    exit_status::Outcome,
    terminal,
};

pub(super) fn run(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    let mut command = Args::command();
    clap_complete::generate(args.shell, &mut command, "logtool", &mut script);
    let mut out = terminal::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Outcome::Done)
}
