//! The format of an output file: that of `--format`, or else that of the extension of `-o`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use logtool::{
    Error, Result,
    convert::OutputFormat,
    error::Context as _,
    formats::LogFormat,
    input::{STDIN, open},
};

/// Returns the output file and its format: `out`, or else a file in the current folder with the
/// name of the log `input` and the extension of the format. Without `out` and `requested`, the
/// format is the first of `F`.
///
/// # Errors
/// Those of [`choose`], and without `out` if `input` is standard input, which has no name.
pub(crate) fn output_file<F: ValueEnum + Clone>(
    out: Option<&Path>,
    requested: Option<F>,
    input: &Path,
) -> Result<(PathBuf, F)> {
    if let Some(out) = out {
        return Ok((out.to_owned(), choose(out, requested)?));
    }
    if input.as_os_str() == STDIN {
        let what = "a log from standard input has no name to call the output after";
        return Err(Error::invalid_request(what).with_hint("name a file with -o"));
    }
    let format = requested.or_else(|| F::value_variants().first().cloned());
    let format = format.context("the output has no format")?;
    let stem = open::stem(input).with_context(|| input.display().to_string())?;
    Ok((PathBuf::from(format!("{stem}.{}", name(&format))), format))
}

/// Returns the format of the file `out`: `requested`, or else that of its extension. The extensions
/// of a format are its name and its aliases.
///
/// # Errors
/// If neither names a format, if the extension is that of another format, or if `out` is standard
/// output (`-`), which these outputs cannot be written to.
pub(crate) fn choose<F: ValueEnum>(out: &Path, requested: Option<F>) -> Result<F> {
    if out.as_os_str() == "-" {
        let what = "this output cannot be written to standard output";
        return Err(Error::invalid_request(what).with_hint("name a file with -o"));
    }
    let by_name = F::from_str(extension(out), true).ok();
    match (requested, by_name) {
        (Some(format), named) => {
            let named = named.as_ref().map(name);
            check_name(out, named.as_deref(), &name(&format))?;
            Ok(format)
        }
        (None, Some(format)) => Ok(format),
        (None, None) => {
            let formats = F::value_variants().iter().map(name);
            let extensions: Vec<String> =
                formats.map(|name| format!(".{name}")).collect();
            let extensions = extensions.join(" or ");
            let what = format!("the name {} does not state a format", out.display());
            let hint = format!("let the name end in {extensions}, or use --format");
            Err(Error::invalid_request(what).with_hint(hint))
        }
    }
}

/// Refuses the name `out` of a log of the format `requested` if its extension is that of
/// something else.
pub(crate) fn check_log_name(out: &Path, requested: LogFormat) -> Result<()> {
    let file_name = out.file_name().unwrap_or_default().to_string_lossy();
    let log = LogFormat::from_file_name(&file_name).map(LogFormat::option_name);
    let other = || OutputFormat::from_extension(extension(out)).map(OutputFormat::name);
    check_name(out, log.or_else(other), requested.option_name())
}

/// Refuses the name `out` if its extension names another format than `requested`.
fn check_name(out: &Path, named: Option<&str>, requested: &str) -> Result<()> {
    let Some(named) = named.filter(|named| *named != requested) else { return Ok(()) };
    let what =
        format!("{} looks like {named}, but --format is {requested}", out.display());
    Err(Error::invalid_request(what)
        .with_hint("use another name, or leave out --format"))
}

/// Returns the name of `format` in the command line.
fn name<F: ValueEnum>(format: &F) -> String {
    let value = format.to_possible_value();
    value.map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}
