//! The inputs of `logtool merge`, and the corrections of their clocks that its options state.

use std::path::{Path, PathBuf};

use logtool::{
    Error, Result,
    error::Context as _,
    input::side_file,
    merge::{ClockDrift, MergeInput},
};
use logtool_core::Timestamp;
use serde::Deserialize;

use crate::args::{Drift, MergeArgs, Offset};

/// The maximum size of a file with an alignment in bytes. `logtool align --json` prints about a
/// kilobyte.
const MAX_ALIGNMENT_BYTES: u64 = 1 << 20;

/// The correction of the clock of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ClockCorrection {
    /// The nanoseconds to add to its times.
    offset: Option<i64>,
    /// Whether the offset is the result of an alignment.
    is_aligned: bool,
    drift: Option<ClockDrift>,
}

/// The fields of the output of `logtool align --json` that are used here.
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

impl ClockCorrection {
    /// Returns the input at `path` with this correction.
    fn input(&self, path: &Path) -> MergeInput {
        let input = MergeInput::new(path);
        match (self.offset, self.drift) {
            (Some(offset), drift) if self.is_aligned => {
                input.with_alignment(offset, drift)
            }
            (Some(offset), Some(drift)) => input.with_offset(offset).with_drift(drift),
            (Some(offset), None) => input.with_offset(offset),
            (None, Some(drift)) => input.with_drift(drift),
            (None, None) => input,
        }
    }
}

/// Returns the inputs that `args` state.
pub(super) fn inputs(args: &MergeArgs) -> Result<Vec<MergeInput>> {
    let corrections = corrections(&args.files, args)?;
    let inputs = corrections.iter().zip(&args.files);
    Ok(inputs.map(|(correction, path)| correction.input(path)).collect())
}

/// Returns the correction of the clock of each of `files`.
fn corrections(files: &[PathBuf], args: &MergeArgs) -> Result<Vec<ClockCorrection>> {
    let mut all = vec![ClockCorrection::default(); files.len()];
    let duplicate_error =
        |option: &str| Error::invalid_request(format!("{option}: it is stated twice"));
    for Offset { name, nanos } in &args.offsets {
        let option = format!("--offset {name}");
        if correction(files, &mut all, name, &option)?.offset.replace(*nanos).is_some()
        {
            return Err(duplicate_error(&option));
        }
    }
    for Drift { name, ppm, reference } in &args.drifts {
        let option = format!("--drift {name}");
        let reference = reference.map(Timestamp::from_nanos);
        let drift = ClockDrift { ppm: *ppm, reference };
        if correction(files, &mut all, name, &option)?.drift.replace(drift).is_some() {
            return Err(duplicate_error(&option));
        }
    }
    let mut references = Vec::new();
    for path in &args.alignments {
        let option = format!("--align {}", path.display());
        let text = side_file::read(path, "the alignment", MAX_ALIGNMENT_BYTES)?;
        let found = alignment(&text).with_context(|| option.clone())?;
        if !found.aligned {
            let what = format!("{option}: it states that the signals do not fit");
            return Err(Error::other(what));
        }
        let correction = correction(files, &mut all, &found.b.file, &option)?;
        if correction.offset.replace(found.offset_ns).is_some()
            || correction.drift.is_some()
        {
            let option = format!("{option}: the clock of {}", found.b.file);
            return Err(duplicate_error(&option));
        }
        correction.is_aligned = true;
        if found.drift_known {
            let reference = Some(Timestamp::from_nanos(found.reference_ns));
            correction.drift = Some(ClockDrift { ppm: found.drift_ppm, reference });
        }
        references.push((index(files, &found.a.file, &option)?, option, found.a.file));
    }
    // Offsets are relative to the first log without one.
    let first = all.iter().position(|correction| correction.offset.is_none());
    if let Some((_, option, name)) =
        references.into_iter().find(|(index, ..)| Some(*index) != first)
    {
        let what = format!("{option}: it is an alignment with {name}");
        let hint = "the log that others are aligned with is the first that has no offset \
                    of its own";
        return Err(Error::invalid_request(what).with_hint(hint));
    }
    Ok(all)
}

/// Parses the output of `logtool align --json`.
fn alignment(text: &[u8]) -> Result<Alignment> {
    serde_json::from_slice(text)
        .context("it is not an output of `logtool align --json`")
}

/// Returns the correction of the file that `name` means.
fn correction<'t>(
    files: &[PathBuf],
    all: &'t mut [ClockCorrection],
    name: &str,
    option: &str,
) -> Result<&'t mut ClockCorrection> {
    let index = index(files, name, option)?;
    all.get_mut(index).context("there is no such file")
}

/// Returns the index of the file that `name` means: a path, a file name, or a number from 1.
fn index(files: &[PathBuf], name: &str, option: &str) -> Result<usize> {
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
            let what = format!("{option}: several files have the name {name}");
            let hint = "use their numbers instead, for example 2=-2.345";
            Err(Error::invalid_request(what).with_hint(hint))
        }
        None => {
            let what = format!("{option}: none of the files has the name {name}");
            Err(Error::invalid_request(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_meant_by_path_name_or_number() {
        let files = ["a/x.bag", "b/x.bag", "c/y.ulg"].map(PathBuf::from);
        let found = |name: &str| index(&files, name, "--offset").ok();
        assert_eq!(["b/x.bag", "y.ulg", "1"].map(found), [Some(1), Some(2), Some(0)]);
        for wrong in ["x.bag", "z", "4", "0"] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }
}
