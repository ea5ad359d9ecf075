//! The two levels of help: `-h` shows the frequent options on one screen, and `--help` all.

use clap::Command;

use crate::args::{batch, deferred_args};

/// The name of the command whose options are adapted.
pub(crate) const BATCH: &str = "batch";

/// The topics that `logtool help` explains.
pub(crate) const HELP_TOPICS: [&str; 5] =
    ["outputs", "expressions", "clocks", "lidars", "config"];

/// Returns the program with all its commands and their long help texts.
pub(crate) fn program() -> Command {
    with_second_paragraphs(
        deferred_args::with_all_options().mut_subcommand(BATCH, batch::adapt),
    )
}

/// Returns `command` with the second paragraph of each long help text only, which repeats what
/// the short help says.
pub(crate) fn with_second_paragraphs(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let long = arg.get_long_help().map(ToString::to_string);
        match long.as_deref().and_then(|text| text.split_once("\n\n")) {
            Some((_, second)) => arg.long_help(second.to_owned()),
            None => arg,
        }
    });
    command.mut_subcommands(with_second_paragraphs)
}

/// Returns `program` with a help that shows all options and the long descriptions: of the
/// command `name`, or of the program itself. The global options are shown with those of the
/// program only.
///
/// The long help of clap needs three lines for each option. This help has one line for most
/// options, like the short help.
pub(crate) fn with_full_help(program: Command, name: Option<&str>) -> Command {
    match name {
        Some(name) => program.mut_subcommand(name, |command| {
            with_long_texts(command).mut_subcommands(with_long_texts)
        }),
        None => with_long_texts(program),
    }
}

/// Returns `command` with the long texts in place of the short ones.
fn with_long_texts(command: Command) -> Command {
    let about = command.get_long_about().cloned();
    let after = command.get_after_long_help().cloned();
    let command = command.mut_args(|arg| {
        let help = arg.get_long_help().cloned();
        let arg = arg.hide_short_help(false);
        if let Some(help) = help { arg.help(help) } else { arg }
    });
    let command = if let Some(about) = about { command.about(about) } else { command };
    if let Some(after) = after { command.after_help(after) } else { command }
}
