//! `logtool help`: the help of commands, and texts about topics.

use std::io::Write as _;

use clap::Command;
use logtool::{Error, Result, suggest};

use crate::{
    args::{HELP_TOPICS, HelpArgs, print_help, program, with_full_help},
    exit_status::Outcome,
    terminal,
};

/// The texts of the topics, in the order of [`HELP_TOPICS`].
const TEXTS: [&str; HELP_TOPICS.len()] = [
    include_str!("help/outputs.txt"),
    include_str!("help/expressions.txt"),
    include_str!("help/clocks.txt"),
    include_str!("help/lidars.txt"),
    include_str!("help/config.txt"),
];

/// The topic whose text the list of functions follows.
const EXPRESSIONS: &str = "expressions";

pub(super) fn run(args: &HelpArgs) -> Result<Outcome> {
    let mut topics = HELP_TOPICS.iter().zip(TEXTS);
    let topic = topics.find(|(name, _)| args.words == [**name]);
    if let Some((_, text)) = topic {
        let mut out = terminal::unescaped_stdout();
        out.write_all(text.as_bytes())?;
        if args.words == [EXPRESSIONS] {
            let functions = logtool::series::language::text_reference();
            out.write_all(functions.trim_end().as_bytes())?;
            writeln!(out)?;
        }
        out.flush()?;
        return Ok(Outcome::Done);
    }
    if let Some(word) = args.words.first()
        && program().find_subcommand(word).is_none()
    {
        return Err(unknown_topic_error(word, &program()));
    }
    let mut program = with_full_help(program(), args.words.first().map(String::as_str));
    program.build();
    let mut command = &mut program;
    for word in &args.words {
        if command.find_subcommand(word).is_none() {
            return Err(unknown_topic_error(word, command));
        }
        let subcommand = command.find_subcommand_mut(word);
        command = subcommand
            .ok_or_else(|| Error::invalid_request(format!("no command `{word}`")))?;
    }
    print_help(&command.render_help())?;
    Ok(Outcome::Done)
}

/// Returns the error for a `word` that is neither a command of `command` nor a topic.
fn unknown_topic_error(word: &str, command: &Command) -> Error {
    let commands = command.get_subcommands().map(Command::get_name);
    let names = commands.chain(HELP_TOPICS);
    let hint = suggest::hint(word, names, "`logtool help` lists commands and topics");
    Error::invalid_request(format!("there is no command or topic `{word}`"))
        .with_hint(hint)
}
