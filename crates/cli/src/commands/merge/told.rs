//! What people say of the clocks of logs that are merged: offsets, drifts, and what
//! `logtool align` found.

use std::path::{Path, PathBuf};

use logtool::{Error, Result, error::Context as _};
use logtool_core::{Shift, TimeRange, Timestamp};
use serde::Deserialize;

use crate::args::{Drift, MergeArgs, Offset};

/// What is said of the clock of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// What to add to its times.
    pub(super) offset: Option<i64>,
    /// Whether that is what `logtool align` found.
    pub(super) is_aligned: bool,
    /// How many millionths to add for the time since a moment on its own clock, which is its
    /// start if nothing else is said.
    drift: Option<(f64, Option<i64>)>,
    /// Whether the drift of an alignment is not known well enough.
    pub(super) lacks_drift: bool,
}

/// What `logtool align --json` prints, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Alignment {
    a: Side,
    b: Side,
    aligned: bool,
    offset_ns: i64,
    reference_ns: i64,
    drift_ppm: f64,
    drift_known: bool,
}

#[derive(Debug, Deserialize)]
struct Side {
    file: String,
}

impl Told {
    /// What takes the drift out of a log whose records happened at `time`, if there is one.
    pub(super) fn without_drift(&self, time: Option<TimeRange>) -> Option<Shift> {
        let (ppm, reference) = self.drift?;
        let start = time.map_or(Timestamp::default(), |time| time.start);
        let reference = reference.map_or(start, Timestamp::from_nanos);
        Some(Shift::default().with_drift(ppm, reference))
    }
}

/// What is said of each of `files`.
pub(super) fn told(files: &[PathBuf], args: &MergeArgs) -> Result<Vec<Told>> {
    let mut all = vec![Told::default(); files.len()];
    let twice = |of: &str| Error::invalid(format!("{of}: it was given twice"));
    for Offset { name, nanos } in &args.offsets {
        let of = format!("--offset {name}");
        if place(files, &mut all, name, &of)?.offset.replace(*nanos).is_some() {
            return Err(twice(&of));
        }
    }
    for Drift { name, ppm, reference } in &args.drifts {
        let of = format!("--drift {name}");
        let drift = (*ppm, *reference);
        if place(files, &mut all, name, &of)?.drift.replace(drift).is_some() {
            return Err(twice(&of));
        }
    }
    let mut kept = Vec::new();
    for path in &args.alignments {
        let of = format!("--align {}", path.display());
        let found = read(path).with_context(|| of.clone())?;
        if !found.aligned {
            return Err(Error::failed(format!("{of}: it says that they do not fit")));
        }
        let told = place(files, &mut all, &found.b.file, &of)?;
        if told.offset.replace(found.offset_ns).is_some() || told.drift.is_some() {
            return Err(twice(&format!("{of}: the clock of {}", found.b.file)));
        }
        told.is_aligned = true;
        match found.drift_known {
            true => told.drift = Some((found.drift_ppm, Some(found.reference_ns))),
            false => told.lacks_drift = true,
        }
        kept.push((index(files, &found.a.file, &of)?, of, found.a.file));
    }
    // Offsets are from the first log that has none.
    let first = all.iter().position(|told| told.offset.is_none());
    if let Some((_, of, name)) = kept.into_iter().find(|(at, ..)| Some(*at) != first) {
        let what = format!("{of}: it is an alignment with {name}");
        let hint = "the log that others are aligned with is the first that has no offset \
                    of its own";
        return Err(Error::invalid(what).with_hint(hint));
    }
    Ok(all)
}

fn read(path: &Path) -> Result<Alignment> {
    let text = std::fs::read(path)?;
    serde_json::from_slice(&text).context("it is no output of `logtool align --json`")
}

/// What is said of the file that `name` means.
fn place<'t>(
    files: &[PathBuf],
    all: &'t mut [Told],
    name: &str,
    of: &str,
) -> Result<&'t mut Told> {
    let index = index(files, name, of)?;
    all.get_mut(index).context("there is no such file")
}

/// Which of `files` is meant by `name`: a path, a file's name, or a number.
fn index(files: &[PathBuf], name: &str, of: &str) -> Result<usize> {
    let is_path = |file: &PathBuf| file.as_os_str() == name;
    // The same file under another path.
    let real = std::fs::canonicalize(name).ok();
    let is_same =
        |file: &PathBuf| real.is_some() && std::fs::canonicalize(file).ok() == real;
    let is_name = |file: &PathBuf| file.file_name().is_some_and(|own| own == name);
    let all = |is: &dyn Fn(&PathBuf) -> bool| -> Vec<usize> {
        let found = files.iter().enumerate().filter(|(_, file)| is(file));
        found.map(|(index, _)| index).collect()
    };
    let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number =
        || number.filter(|index| *index < files.len()).into_iter().collect();
    let found = [all(&is_path), all(&is_same), all(&is_name), by_number()];
    match found.into_iter().find(|found: &Vec<usize>| !found.is_empty()).as_deref() {
        Some([index]) => Ok(*index),
        Some(_) => {
            let what = format!("{of}: several files have the name {name}");
            let hint = "their numbers tell them apart, as 2=-2.345";
            Err(Error::invalid(what).with_hint(hint))
        }
        None => {
            let what = format!("{of}: none of the files has the name {name}");
            Err(Error::invalid(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_meant_by_path_name_or_number() {
        let files = ["a/x.bag", "b/x.bag", "c/y.ulg"].map(PathBuf::from);
        let of = |name: &str| index(&files, name, "--offset").ok();
        assert_eq!(["b/x.bag", "y.ulg", "1"].map(of), [Some(1), Some(2), Some(0)]);
        for wrong in ["x.bag", "z", "4", "0"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
