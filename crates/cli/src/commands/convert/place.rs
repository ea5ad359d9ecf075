//! Where what comes of each input goes: by the name that was typed, which is to be what it
//! looks like.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use logtool::{
    Error, Result,
    error::Context as _,
    formats::LogFormat,
    input::{STDIN, open, url},
};

use crate::{
    args::{ConvertArgs, Target},
    commands::convert::log,
};

/// Each input, and the folder that its tables go to, or the file that it becomes.
///
/// # Errors
/// If what was typed promises something else.
pub(super) fn places(args: &ConvertArgs) -> Result<Vec<(&Path, PathBuf)>> {
    if let Some(out) = args.out.as_deref().filter(|_| !args.is_stdout()) {
        check(out, args)?;
    }
    let mut places: Vec<(&Path, PathBuf)> = Vec::new();
    let mut taken = BTreeMap::new();
    for input in &args.inputs {
        let place = place(input, args)?;
        if let Some(other) = taken.insert(place.clone(), input) {
            let (other, input) = (other.display(), input.display());
            let place = place.display();
            let what =
                format!("the tables of {other} and {input} would both be in {place}");
            let hint = "convert them one by one, each with its own -o";
            return Err(Error::invalid(what).with_hint(hint));
        }
        places.push((input, place));
    }
    Ok(places)
}

fn place(input: &Path, args: &ConvertArgs) -> Result<PathBuf> {
    if args.target().is_log() {
        return log::place(input, args);
    }
    let is_stdin = input.as_os_str() == STDIN;
    let stem = || match is_stdin {
        true => Ok("stdin".to_owned()),
        false => open::stem(input).with_context(|| input.display().to_string()),
    };
    if let Some(file) = args.one_file() {
        if args.inputs.len() > 1 {
            let what = format!("several logs in one file, {}", file.display());
            let hint = "name a folder with -o, and a format with --to";
            return Err(Error::invalid(what).with_hint(hint));
        }
        return Ok(file.to_owned());
    }
    match &args.out {
        Some(out) if args.inputs.len() == 1 && out.is_file() => {
            let what = format!("{} is a file, and no folder", out.display());
            Err(Error::invalid(what).with_hint("name a folder with -o"))
        }
        Some(out) if args.inputs.len() == 1 => Ok(out.clone()),
        Some(out) => Ok(out.join(stem()?)),
        None if is_stdin => {
            let what = "a log from standard input has no name to call the tables after";
            Err(Error::invalid(what).with_hint("name a folder with -o"))
        }
        None => {
            let place = PathBuf::from(stem()?);
            if place.is_file() {
                let what = format!("{} is a file, and no folder", place.display());
                return Err(Error::invalid(what).with_hint("name a folder with -o"));
            }
            Ok(place)
        }
    }
}

/// Refuses a name of OUT that looks like something else than what would be made.
fn check(out: &Path, args: &ConvertArgs) -> Result<()> {
    let misuse = |what: String, hint: String| Err(Error::invalid(what).with_hint(hint));
    let end = out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let (named, told) = (Target::of_end(end), args.told_target());
    let (shown, stem) = (out.display(), out.with_extension(""));
    let stem = stem.display();
    match (named, told) {
        (Some(named), None) if url::is_folder(out) && named != Target::Csv => {
            let hint = format!("--to {} makes such in it", named.name());
            misuse(format!("{shown} is a folder"), hint)
        }
        _ if url::is_folder(out) => Ok(()),
        // A folder may be called as the log is.
        (Some(named), Some(told)) if named.is_log() && !told.is_log() => Ok(()),
        (Some(named), Some(told)) if named != told => {
            let (named, told) = (named.name(), told.name());
            let what =
                format!("{shown} looks like a file ({named}), and --to says {told}");
            misuse(what, format!("for a folder of this name, -o {shown}/"))
        }
        (Some(named), _) if !named.is_file() => {
            let what =
                format!("{shown} looks like a file, and there is one each topic");
            misuse(
                what,
                format!("-o {stem} --to {} makes a folder of them", named.name()),
            )
        }
        (None, None) if LogFormat::from_extension(end) == Some(LogFormat::Ulog) => {
            let what = format!("{shown} looks like a ULog, which no other log becomes");
            misuse(what, "`logtool filter` cuts ULogs".to_owned())
        }
        // `v1.2` is no name of a file.
        (None, None) if end.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let what = format!("no file that is written here is called .{end}");
            let hint =
                format!("--to names a format; -o {shown}/ is a folder of tables");
            misuse(what, hint)
        }
        _ => Ok(()),
    }
}
