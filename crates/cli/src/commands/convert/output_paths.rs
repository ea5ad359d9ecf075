//! Where the output of each input goes. A name must not look like something else.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use logtool::{
    Error, Result,
    convert::{Destination, OutputFormat},
    error::Context as _,
    input::{STDIN, open, url},
};

use crate::args::ConvertArgs;

/// Returns each input with its destination.
///
/// # Errors
/// If the name of the output looks like something else, or two inputs have the same.
pub(super) fn places(args: &ConvertArgs) -> Result<Vec<(&Path, Destination)>> {
    if let Some(out) = args.out.as_deref().filter(|_| !args.is_stdout()) {
        check(out, args)?;
    }
    let mut places: Vec<(&Path, Destination)> = Vec::new();
    let mut taken: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for input in &args.inputs {
        let place = place(input, args)?;
        let path = match &place {
            Destination::Folder(path) | Destination::File(path) => path.clone(),
            _ => PathBuf::from(STDIN),
        };
        if let Some(other) = taken.insert(path.clone(), input) {
            let (other, input) = (other.display(), input.display());
            let place = path.display();
            let what =
                format!("the tables of {other} and {input} would both be in {place}");
            let hint = "convert them one by one, each with its own -o";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        places.push((input, place));
    }
    Ok(places)
}

fn place(input: &Path, args: &ConvertArgs) -> Result<Destination> {
    let is_stdin = input.as_os_str() == STDIN;
    let stem = || {
        if is_stdin {
            Ok("stdin".to_owned())
        } else {
            open::stem(input).with_context(|| input.display().to_string())
        }
    };
    if args.is_stdout() {
        return Ok(Destination::Stdout);
    }
    if args.output_format().is_log() {
        return new_log(args, &stem()?);
    }
    if let Some(file) = args.one_file() {
        if args.inputs.len() > 1 {
            let what = format!("several logs in one file, {}", file.display());
            let hint = "name a folder with -o, and a format with --format";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        return Ok(Destination::File(file.to_owned()));
    }
    let folder = match &args.out {
        Some(out) if args.inputs.len() == 1 => out.clone(),
        Some(out) => out.join(stem()?),
        None if is_stdin => {
            let what =
                "a log from standard input has no name for the folder of its tables";
            return Err(Error::invalid_request(what).with_hint("name a folder with -o"));
        }
        None => PathBuf::from(stem()?),
    };
    Ok(Destination::Folder(folder))
}

/// Returns where the log goes that an input called `stem` becomes: to OUT, or into it if it
/// is a folder or there are several inputs.
fn new_log(args: &ConvertArgs, stem: &str) -> Result<Destination> {
    let name = format!("{stem}.{}", args.output_format().name());
    let path = match &args.out {
        Some(out) if args.inputs.len() == 1 && !url::is_folder(out) => out.clone(),
        Some(out) if args.inputs.len() > 1 && out.extension().is_some() => {
            let what = format!("several logs in one file, {}", out.display());
            let hint = "`logtool merge` makes one log of several";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        Some(out) => out.join(name),
        None => name.into(),
    };
    Ok(Destination::File(path))
}

/// Refuses a name of OUT that looks like something else than the output.
fn check(out: &Path, args: &ConvertArgs) -> Result<()> {
    let misuse =
        |what: String, hint: String| Err(Error::invalid_request(what).with_hint(hint));
    let extension =
        out.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let (named, chosen) = (OutputFormat::from_extension(extension), args.format);
    let (shown, stem) = (out.display(), out.with_extension(""));
    let stem = stem.display();
    match (named, chosen) {
        (Some(named), None) if url::is_folder(out) && named != OutputFormat::Csv => {
            let hint = format!("--format {} writes such files into it", named.name());
            misuse(format!("{shown} is a folder"), hint)
        }
        _ if url::is_folder(out) => Ok(()),
        // A folder may be called as the log is.
        (Some(named), Some(chosen)) if named.is_log() && !chosen.is_log() => Ok(()),
        (Some(named), Some(chosen)) if named != chosen => {
            let (named, chosen) = (named.name(), chosen.name());
            let what = format!(
                "{shown} looks like a file ({named}), and --format is {chosen}"
            );
            misuse(what, format!("for a folder of this name, -o {shown}/"))
        }
        (Some(named), _) if !named.is_file() => {
            let what = format!(
                "{shown} looks like a file, but each topic has a file of its own"
            );
            misuse(
                what,
                format!("-o {stem} --format {} makes a folder of them", named.name()),
            )
        }
        // `v1.2` is not the name of a file.
        (None, None) if extension.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let what = format!("no output format has the extension .{extension}");
            let hint =
                format!("--format names a format; -o {shown}/ is a folder of tables");
            misuse(what, hint)
        }
        _ => Ok(()),
    }
}
