//! `logtool completions`: the completion scripts of shells.

use std::io::Write as _;

use clap_complete::env::Shells;
use logtool::{Error, Result};

use crate::{
    args::{COMPLETION_VARIABLE, CompletionsArgs},
    exit_status::Outcome,
    terminal,
};

/// The name of the program, which completion scripts run.
const PROGRAM: &str = "logtool";

pub(super) fn run(args: &CompletionsArgs) -> Result<Outcome> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .ok_or_else(|| Error::invalid_request(format!("no completions for {shell}")))?;
    let mut out = terminal::stdout();
    completer.write_registration(
        COMPLETION_VARIABLE,
        PROGRAM,
        PROGRAM,
        PROGRAM,
        &mut out,
    )?;
    out.flush()?;
    Ok(Outcome::Done)
}
