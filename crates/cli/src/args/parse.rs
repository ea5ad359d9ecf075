//! Parses the command line, with the defaults of variables and files.

use std::{
    env,
    error::Error as _,
    ffi::OsString,
    io::{self, Write as _},
    path::Path,
    process,
};

use clap::{
    Arg, Command, CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
};
use logtool::{input::url, text_style::TextStyle, units::is_unprintable};

use crate::{
    args::{
        Args, batch,
        defaults::Defaults,
        deferred_args::{with_all_options, with_options},
        help::{BATCH, with_full_help, with_second_paragraphs},
    },
    command_line, error, notices,
    terminal::{
        self,
        color::{self, ColorMode},
        pager, print_line,
    },
};

/// Names of commands in other programs, and the commands that do the same.
const COMMANDS_ELSEWHERE: [(&str, &str); 8] = [
    ("ls", "info"),
    ("list", "info"),
    ("du", "info"),
    ("recover", "repair"),
    ("reindex", "repair"),
    ("doctor", "check"),
    ("validate", "check"),
    ("export", "convert"),
];

/// Names of options in other programs, and the options that do the same.
const OPTIONS_ELSEWHERE: [(&str, &str); 5] = [
    ("--from", "--start"),
    ("--to", "--end' or '--format"),
    ("--until", "--end"),
    ("--time", "--clock"),
    ("--output", "--out"),
];

/// Returns the arguments that are in the command line `words`. Ends the program if they are
/// wrong, or ask for help.
pub(crate) fn parse(words: Vec<OsString>) -> Args {
    let words: Vec<OsString> = words.into_iter().map(url::local_argument).collect();
    color::set_mode(color_mode(&words));
    let mut program = Args::command().color(color::clap_choice());
    let name = command_name(&program, &words);
    // `--format CSV` and `--clock UTC` are accepted like `--format csv` and `--clock utc`.
    let ignore_case = |arg: Arg| {
        let is_choice =
            arg.get_action().takes_values() && !arg.get_possible_values().is_empty();
        if is_choice { arg.ignore_case(true) } else { arg }
    };
    program = program.mut_args(ignore_case);
    if is_about_commands(&words, name.as_deref()) {
        program = program.mut_subcommands(with_options);
    } else if let Some(name) = &name {
        program = program.mut_subcommand(name, with_options);
    }
    // Other commands stay as they are, because changing them takes longer than parsing.
    if let Some(name) = &name {
        program = program.mut_subcommand(name, |command| {
            let command = if name == BATCH { batch::adapt(command) } else { command };
            command.mut_args(ignore_case)
        });
    }
    if words.iter().any(|word| word == "--help") {
        program = with_full_help(with_second_paragraphs(program), name.as_deref());
    }
    let defaults = Defaults::read(with_all_options);
    let (mut program, given, defaults) = defaults
        .and_then(|defaults| {
            let name = name.as_deref().unwrap_or_default();
            let (program, given) = defaults.apply(program, name)?;
            Ok((program, given, defaults))
        })
        .unwrap_or_else(|err| process::exit(error::exit_status(&err, false)));
    let matches = program.try_get_matches_from_mut(&words);
    let matches = matches.unwrap_or_else(|err| end(err, &words));
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    color::set_mode(args.global.color);
    args.global.command_line = command_line::text(&program, &matches, &given);
    if !args.global.quiet {
        for (path, messages) in defaults.ignored() {
            notices::warnings(&path.display().to_string(), messages);
        }
    }
    args
}

/// Returns the name of the command among `words`.
fn command_name(program: &Command, words: &[OsString]) -> Option<String> {
    let mut names = words.iter().skip(1).filter_map(|word| word.to_str());
    names.find(|word| program.find_subcommand(word).is_some()).map(str::to_owned)
}

/// Returns whether the program may print the list of its commands, with their descriptions.
fn is_about_commands(words: &[OsString], name: Option<&str>) -> bool {
    let is = |given: &str| words.iter().any(|word| word == given);
    let is_short_help = |word: &OsString| {
        word.to_str().is_some_and(|word| {
            word.starts_with('-') && !word.starts_with("--") && word.contains('h')
        })
    };
    is("--help")
        || words.iter().any(is_short_help)
        || name.is_none() && !is("--version")
}

/// Returns when errors in the command line and help have colours: they are printed before the
/// command line is parsed.
fn color_mode(words: &[OsString]) -> ColorMode {
    let variable = || env::var("LOGTOOL_COLOR").ok();
    let value = value_of(words, "--color").or_else(variable).unwrap_or_default();
    <ColorMode as clap::ValueEnum>::from_str(&value, true).unwrap_or_default()
}

/// Returns the value of `option` among `words`, which are not parsed yet.
fn value_of(words: &[OsString], option: &str) -> Option<String> {
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if word == option {
            return words.next().map(str::to_owned);
        }
        let rest = word.strip_prefix(option);
        if let Some(value) = rest.and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.to_owned());
        }
    }
    None
}

/// Ends the program after printing the error in the command line, the help or the version.
fn end(mut err: clap::Error, words: &[OsString]) -> ! {
    if !err.use_stderr() {
        let is_paged = err.kind() == ErrorKind::DisplayHelp
            && !words.iter().any(|word| word == "--no-pager")
            && env::var("LOGTOOL_NO_PAGER").as_deref() != Ok("true");
        if is_paged && terminal::stdout_is_seen() {
            let variable = || env::var("LOGTOOL_PAGER").ok();
            pager::enable(value_of(words, "--pager").or_else(variable).as_deref());
        }
        let printed = print_help(&err.render());
        let status = printed.map_or_else(
            |err| error::exit_status(&err.into(), false),
            |()| err.exit_code(),
        );
        pager::finish();
        process::exit(status);
    }
    suggest(&mut err, words);
    let is_harmful = |word: &OsString| word.to_string_lossy().contains(is_unprintable);
    if words.iter().any(is_harmful) {
        // Without colours, because the words may have some of their own.
        err.to_string().lines().for_each(print_line);
        process::exit(err.exit_code());
    }
    // The output may be closed. The exit status reports the error all the same.
    let _ = io::stderr().write_all(with_hints(&err.render()).as_bytes());
    process::exit(err.exit_code());
}

/// Returns the text of an error of clap, with its suggestions named as other hints are.
fn with_hints(text: &clap::builder::StyledStr) -> String {
    if color::for_stderr() == TextStyle::Terminal {
        // A reset follows the styled word.
        text.ansi().to_string().replace("tip:\x1b", "hint:\x1b")
    } else {
        text.to_string().replace("\n  tip: ", "\n  hint: ")
    }
}

/// Prints a help text of clap.
pub(crate) fn print_help(text: &clap::builder::StyledStr) -> std::io::Result<()> {
    let mut out = terminal::unescaped_stdout();
    if color::for_stdout() == TextStyle::Terminal {
        write!(out, "{}", text.ansi())?;
    } else {
        write!(out, "{text}")?;
    }
    out.flush()
}

/// Adds a suggestion to an error about a command or an option that other programs have.
fn suggest(err: &mut clap::Error, words: &[OsString]) {
    if let Some(ContextValue::String(typed)) = err.get(ContextKind::InvalidSubcommand) {
        let known = COMMANDS_ELSEWHERE.iter().find(|(other, _)| other == typed);
        // A log without a command.
        let is_recording = words.iter().any(|word| word == "record");
        let of_file = if is_recording { "mavlink" } else { "info" };
        let of_file = Path::new(typed).is_file().then_some(of_file);
        let ours = known.map(|(_, ours)| *ours).or(of_file);
        if let Some(ours) = ours {
            let ours = ContextValue::Strings(vec![ours.to_owned()]);
            err.insert(ContextKind::SuggestedSubcommand, ours);
        }
    }
    if err.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = err.get(ContextKind::InvalidArg)
    {
        let typed = typed.clone();
        suggest_option(err, &typed, words);
    }
    let parser_error = err.source();
    let parser_error =
        parser_error.and_then(|err| err.downcast_ref::<logtool::Error>());
    if let Some(hint) = parser_error.and_then(logtool::Error::hint) {
        let hint = hint.to_owned();
        set_suggestion(err, hint);
    }
}

/// Adds a suggestion to the error that there is no option `typed`.
fn suggest_option(err: &mut clap::Error, typed: &str, words: &[OsString]) {
    let has = |name: &str| words.iter().any(|word| word == name);
    // clap advises to pass options that do not exist as values. That is wrong, except for
    // expressions that start with a minus.
    if !has("plot")
        && let Some(ContextValue::StyledStrs(mut texts)) =
            err.remove(ContextKind::Suggested)
    {
        texts.retain(|text| !text.to_string().contains(" as a value, use "));
        if !texts.is_empty() {
            err.insert(ContextKind::Suggested, ContextValue::StyledStrs(texts));
        }
    }
    let known = OPTIONS_ELSEWHERE.iter().find(|(other, _)| *other == typed);
    if let Some((_, ours)) = known {
        let ours = ContextValue::String((*ours).to_owned());
        err.insert(ContextKind::SuggestedArg, ours);
    } else if has("schema") && matches!(typed, "-t" | "--topic") {
        let hint =
            "topics follow the log, without an option: 'logtool schema FILE TOPIC'";
        set_suggestion(err, hint.to_owned());
    }
}

/// Sets the suggestion of an error.
fn set_suggestion(err: &mut clap::Error, text: String) {
    let texts = ContextValue::StyledStrs(vec![text.into()]);
    err.insert(ContextKind::Suggested, texts);
}
