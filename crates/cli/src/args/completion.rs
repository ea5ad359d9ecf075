//! Completion of topics, from the logs that the command line names.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process,
    sync::Arc,
};

use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
};
use logtool::{Session, input::open};

use crate::{args::help::program, process::files::MapFiles};

/// The variable with which completion scripts ask for completions: the name of the shell.
pub(crate) const VARIABLE: &str = "LOGTOOL_COMPLETE";

/// Prints the completions and ends the program, if a completion script asks for them.
pub(crate) fn answer(words: &[OsString]) {
    let completions = CompleteEnv::with_factory(program).var(VARIABLE);
    let current_dir = env::current_dir().ok();
    let answered = completions.try_complete(words, current_dir.as_deref());
    if answered.unwrap_or_else(|err| err.exit()) {
        process::exit(0);
    }
}

/// Returns the completer of topics.
pub(super) fn topics() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current, ""))
}

/// Returns the completer of fields, which completes the topic and the dot.
pub(super) fn fields() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current, "."))
}

/// Returns the labels of the topics that start with `current`, each followed by `suffix`.
fn candidates(current: &OsStr, suffix: &str) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let session = Session::new().with_files(Arc::new(MapFiles));
    let mut labels = Vec::new();
    for word in words().iter().filter(|word| Path::new(word).is_file()) {
        // The user is typing: a file that is not a log has no topics to offer.
        let Ok(opened) = open::open(Path::new(word), &session) else { continue };
        let topics = &opened.log.manifest().topics;
        labels.extend(topics.iter().map(|topic| format!("{}{suffix}", topic.label())));
    }
    labels.sort_unstable();
    labels.dedup();
    let found = labels.into_iter().filter(|label| label.starts_with(current));
    found.map(CompletionCandidate::new).collect()
}

/// Returns the words of the command line that is being typed, which completion scripts pass
/// after `--`, without the name of the program.
fn words() -> Vec<OsString> {
    env::args_os().skip_while(|word| word != "--").skip(2).collect()
}
