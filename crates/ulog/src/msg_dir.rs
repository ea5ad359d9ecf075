//! Labels of enumerations, read from a folder of PX4 message definitions.
//!
//! A ULog does not say what the numbers of an enumeration mean; the `.msg` files of the
//! firmware that wrote it do, as constants next to the fields:
//!
//! ```text
//! uint8 nav_state
//! uint8 NAV_STATE_MANUAL = 0
//! ```
//!
//! Which constant belongs to which field is a convention of names (PX4 documents the
//! annotation `[@enum PREFIX]` in its "uORB Documentation Standard"):
//!
//! 1. A field annotated with `[@enum PREFIX]` takes the constants that start with
//!    `PREFIX_`; of several prefixes that fit, the longest one counts.
//! 2. Any other constant goes to the field whose name, in capitals and followed by `_`,
//!    is the longest start of the constant's name.
//! 3. Constants that fit neither and directly follow a field, in lines without a gap, belong to
//!    that field, if they have its type and several of them start with the same word.
//! 4. In all cases the field must be of an integer type that can hold the value. A
//!    constant that fits no field labels nothing, and of two constants with the same
//!    value in one field, neither does.

mod definition;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use logtool_core::{Error, ErrorKind, Labels, Result};

use crate::msg_dir::definition::Definition;

/// How far below the folder files are looked for.
const DEPTH: usize = 8;

/// The most files that are read; PX4 has about 250.
const FILES: usize = 10_000;

/// The longest file that is read; PX4's longest has about 30 KiB.
const FILE_BYTES: u64 = 1 << 20;

/// Reads all `.msg` files of a folder and of the folders in it, up to 8 deep.
///
/// A message is called as PX4 calls its topic: by the name of its file, with an `_`
/// before every capital but the first, in small letters (`VehicleStatus.msg` is
/// `vehicle_status`), and also by every name in its `# TOPICS` lines. Where two files
/// describe the same message, a value keeps its label only if both agree on it.
///
/// Hidden folders and links to folders are not followed.
///
/// # Errors
///
/// `Io` if the folder, or something in it, cannot be read; `Limit` if there are more
/// than 10 000 files, or one has more than a mebibyte.
pub fn read_msg_dir(path: &Path) -> Result<Labels> {
    let mut files = Vec::new();
    find_files(path, DEPTH, &mut files)?;
    files.sort();
    let mut merged: BTreeMap<(String, String), Values> = BTreeMap::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let definition = Definition::parse(&name, &read_text(&file)?);
        for (field, constants) in definition.labels() {
            for topic in &definition.topics {
                let values =
                    merged.entry((topic.clone(), field.to_owned())).or_default();
                for (value, label) in &constants {
                    values.add(*value, label);
                }
            }
        }
    }
    let mut labels = Labels::default();
    for ((topic, field), values) in merged {
        for (value, label) in values.0 {
            if let Some(label) = label {
                labels.insert(&topic, &field, value, label);
            }
        }
    }
    Ok(labels)
}

/// Candidates for labels; none where two different ones claimed a value.
#[derive(Default)]
struct Values(BTreeMap<i64, Option<String>>);

impl Values {
    fn add(&mut self, value: i64, label: &str) {
        let known = self.0.entry(value).or_insert_with(|| Some(label.to_owned()));
        if known.as_deref() != Some(label) {
            *known = None;
        }
    }
}

fn find_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |err| reading(folder, err);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if depth > 0 && !hidden {
                find_files(&path, depth - 1, files)?;
            }
        } else if path.extension() == Some(OsStr::new("msg")) && path.is_file() {
            files.push(path);
            if files.len() > FILES {
                let what = format!("more than {FILES} message definitions");
                return Err(Error::new(ErrorKind::Limit, what));
            }
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> Result<String> {
    let failed = |err| reading(path, err);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES {
        let what = format!("{} has more than {FILE_BYTES} bytes", path.display());
        return Err(Error::new(ErrorKind::Limit, what));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn reading(path: &Path, err: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("reading {}", path.display())).from_source(err)
}

#[cfg(test)]
mod tests;
