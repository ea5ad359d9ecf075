//! Completion of commands and names, and of what is in the logs that the command line names.

mod shells;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    path::Path,
    process,
    sync::{Arc, OnceLock},
};

use clap::{CommandFactory as _, error::ErrorKind};
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
};
use logtool::{
    Result, Session, info::InfoRequest, input::open, parameters::ParametersRequest,
};
use logtool_velodyne::{model::Model, points::Formula};

use self::shells::{SHELLS, unquote_words};
use crate::{
    args::help::{HELP_TOPICS, program},
    process::files::MapFiles,
};

/// The variable with which completion scripts ask for completions: the name of the shell.
pub(crate) const VARIABLE: &str = "LOGTOOL_COMPLETE";

/// The words of the command line that is being typed, after the name of the program.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Prints the completions and ends the program, if a completion script asks for them.
pub(crate) fn answer(words: &[OsString]) {
    let Some(shell) = env::var_os(VARIABLE) else { return };
    let words = unquote_words(&shell, words);
    // Completion scripts pass the command line after `--`.
    let typed = words.iter().skip_while(|word| *word != "--").skip(2);
    TYPED.get_or_init(|| typed.cloned().collect());
    let completions = CompleteEnv::with_factory(program).var(VARIABLE).shells(SHELLS);
    let current_dir = env::current_dir().ok();
    let answered = completions.try_complete(words, current_dir.as_deref());
    let written = answered.and_then(|is_answered| {
        io::stdout().flush()?;
        Ok(is_answered)
    });
    match written {
        Ok(true) => process::exit(0),
        Ok(false) => {}
        // A message would appear in the command line that is being typed.
        Err(err) if err.kind() == ErrorKind::Io => process::exit(1),
        Err(err) => err.exit(),
    }
}

/// Returns the completer of topics.
pub(super) fn topics() -> ArgValueCompleter {
    of_logs(|path, session| labels(path, session, ""))
}

/// Returns the completer of fields, which completes the topic and the dot.
pub(super) fn fields() -> ArgValueCompleter {
    of_logs(|path, session| labels(path, session, "."))
}

/// Returns the completer of the names of parameters.
pub(super) fn parameters() -> ArgValueCompleter {
    of_logs(|path, session| {
        let list = ParametersRequest::new(path).run(session)?.list;
        Ok(list.into_iter().map(|parameter| parameter.name).collect())
    })
}

/// Returns the completer of the entries of the information of a log.
pub(super) fn information() -> ArgValueCompleter {
    of_logs(|path, session| {
        Ok(InfoRequest::new(path).run(session)?.information_names())
    })
}

/// Returns the completer of the models of lidars, as they can be typed without quotes.
pub(super) fn models() -> ArgValueCompleter {
    let name = |model: Model| model.name().to_lowercase().replace(' ', "-");
    of_names(move || Model::ALL.map(name).to_vec())
}

/// Returns the completer of the formulas of points.
pub(super) fn formulas() -> ArgValueCompleter {
    of_names(|| Formula::ALL.map(|formula| formula.name().to_owned()).to_vec())
}

/// Returns the completer of commands.
pub(super) fn commands() -> ArgValueCompleter {
    of_names(command_names)
}

/// Returns the completer of commands, and of the topics that `logtool help` explains.
pub(super) fn help_topics() -> ArgValueCompleter {
    of_names(|| {
        let topics = HELP_TOPICS.iter().map(|name| (*name).to_owned());
        command_names().into_iter().chain(topics).collect()
    })
}

fn command_names() -> Vec<String> {
    let program = super::Args::command();
    program.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// Returns the labels of the topics of the log at `path`, each followed by `suffix`.
fn labels(path: &Path, session: &Session, suffix: &str) -> Result<Vec<String>> {
    let opened = open::open(path, session)?;
    let topics = opened.log.manifest().topics.iter();
    Ok(topics.map(|topic| format!("{}{suffix}", topic.label())).collect())
}

/// Returns the completer of what `names` finds in the logs that the command line names.
fn of_logs(
    names: impl Fn(&Path, &Session) -> Result<Vec<String>> + Send + Sync + 'static,
) -> ArgValueCompleter {
    of_names(move || {
        let session = Session::new().with_files(Arc::new(MapFiles));
        let words = TYPED.get().map_or(&[][..], Vec::as_slice);
        let files = words.iter().map(Path::new).filter(|path| path.is_file());
        // The user is typing: a file that is not a log has nothing to offer.
        let found = files.filter_map(|path| names(path, &session).ok()).flatten();
        // A name that starts with a hyphen would be read as an option.
        found.filter(|name| !name.starts_with('-')).collect()
    })
}

/// Returns the completer of `names`.
fn of_names(
    names: impl Fn() -> Vec<String> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Some(current) = current.to_str() else { return Vec::new() };
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        let found = names.into_iter().filter(|name| name.starts_with(current));
        found.map(CompletionCandidate::new).collect()
    })
}
