//! What goes wrong, and how it is told.

use std::{
    error, fmt,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::Result;
use serde_json::json;

use crate::{
    paint,
    terminal::{self, say},
};

/// A failure that knows what to do about it.
#[derive(Debug)]
pub(crate) struct Complaint {
    what: String,
    hint: Option<String>,
    is_misuse: bool,
    is_nothing: bool,
}

impl Complaint {
    /// A failure: `what` went wrong.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, is_misuse: false, is_nothing: false }
    }

    /// The command cannot be what was meant.
    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self { is_misuse: true, ..Self::new(what) }
    }

    /// The log has nothing of what was asked for: of many logs, that is no failure.
    pub(crate) fn nothing(what: impl Into<String>) -> Self {
        Self { is_nothing: true, ..Self::new(what) }
    }

    /// The same; `hint` says what may help.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl error::Error for Complaint {}

/// Whether `err` says that a log has nothing of what was asked for.
pub(crate) fn is_nothing(err: &anyhow::Error) -> bool {
    err.downcast_ref::<Complaint>().is_some_and(|complaint| complaint.is_nothing)
}

/// Whether `err` says that the command cannot be what was meant.
pub(crate) fn is_misuse(err: &anyhow::Error) -> bool {
    err.downcast_ref::<Complaint>().is_some_and(|complaint| complaint.is_misuse)
}

/// `err`, which is about the log `name`; a complaint says so itself.
pub(crate) fn about(err: anyhow::Error, name: &str) -> anyhow::Error {
    match err.is::<Complaint>() {
        true => err,
        false => err.context(name.to_owned()),
    }
}

/// Tells why the program fails, and says with which status it does.
///
/// That nobody reads the output any more (`logtool cat x.ulg | head`) is no failure.
pub(crate) fn tell(err: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(err) {
        return ExitCode::SUCCESS;
    }
    print(err);
    if is_misuse(err) { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// Tells why something failed: one line, and one for the hint if there is one.
pub(crate) fn print(err: &anyhow::Error) {
    let paint = paint::for_stderr();
    say!("{} {err:#}", paint.red("error:"));
    let hint = match err.downcast_ref::<Complaint>() {
        Some(complaint) => complaint.hint.as_deref(),
        None => err.chain().find_map(remedy),
    };
    if let Some(hint) = hint {
        say!("{} {hint}", paint.bold("hint:"));
    }
}

/// Prints on standard output why nothing else can be printed of `file`, as a JSON object:
/// who reads one for each file finds one. Of what was typed wrong, and where nobody reads
/// any more, it prints none.
pub(crate) fn print_json(file: &Path, err: &anyhow::Error) -> Result<()> {
    let complaint = err.downcast_ref::<Complaint>();
    if is_broken_pipe(err) || complaint.is_some_and(|complaint| complaint.is_misuse) {
        return Ok(());
    }
    let (file, why) = (file.display().to_string(), format!("{err:#}"));
    let mut out = terminal::stdout();
    serde_json::to_writer(&mut out, &json!({ "file": file, "error": why }))
        .map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// What may help against an error of the libraries.
fn remedy(cause: &(dyn error::Error + 'static)) -> Option<&'static str> {
    const REMEDIES: [(&str, &str); 2] = [
        (
            "its key is needed",
            "--key names a file with the key, or LOGTOOL_KEY_FILE does",
        ),
        (
            "not written as ROS 1 writes them, but as \"cdr\"",
            "`logtool convert` makes a bag of it, with messages of ROS 1",
        ),
    ];
    let text = cause.downcast_ref::<logtool_core::Error>()?.to_string();
    let found = REMEDIES.iter().find(|(known, _)| text.contains(known));
    found.map(|(_, remedy)| *remedy)
}

/// Whether it all comes from a reader of the output who has gone.
pub(crate) fn is_broken_pipe(err: &anyhow::Error) -> bool {
    let broken = |err: &io::Error| err.kind() == io::ErrorKind::BrokenPipe;
    err.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
}
