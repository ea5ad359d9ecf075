//! Reads the labels of enumerations from a folder of PX4 message definitions.
//!
//! A ULog does not contain the labels of enumeration values. The `.msg` files of the
//! firmware that wrote it contain them as constants next to the fields:
//!
//! ```text
//! uint8 nav_state
//! uint8 NAV_STATE_MANUAL = 0
//! ```
//!
//! The field of a constant follows from naming conventions (PX4 documents the
//! annotation `[@enum PREFIX]` in its "uORB Documentation Standard"):
//!
//! 1. A field annotated with `[@enum PREFIX]` takes the constants that start with
//!    `PREFIX_`; if several prefixes match, the longest one is used.
//! 2. Any other constant belongs to the field whose name, in capitals and followed by `_`,
//!    is the longest prefix of the name of the constant.
//! 3. Constants that match neither rule and directly follow a field, without an empty line
//!    between, belong to that field if they have its type and several of them start with
//!    the same word.
//! 4. In all cases the field must have an integer type that can hold the value. A constant
//!    that matches no field is not a label. If two constants of one field have the same
//!    value, that value has no label.

mod definition;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use logtool_core::{Error, ErrorKind, Labels, Result, open_regular_file};

use crate::labels::msg_dir::definition::Definition;

/// The maximum depth of subfolders.
const MAX_DEPTH: usize = 8;

/// The maximum number of files; PX4 has about 250.
const MAX_FILES: usize = 10_000;

/// The maximum size of a file; PX4's largest has about 30 KiB.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads all `.msg` files of a folder and its subfolders, up to 8 levels deep.
///
/// A message has the name of its PX4 topic: the name of the file in snake case
/// (`VehicleStatus.msg` is `vehicle_status`), and also every name in its `# TOPICS`
/// lines. If two files describe the same message, a value has a label only if both
/// files agree.
///
/// Hidden folders and links to folders are not read.
///
/// # Errors
///
/// `Io` if a file or folder cannot be read; `Limit` if there are more than 10,000
/// files, or a file is larger than 1 MiB.
pub fn read_msg_dir(path: &Path) -> Result<Labels> {
    let mut files = Vec::new();
    find_files(path, MAX_DEPTH, &mut files)?;
    files.sort();
    let mut merged: BTreeMap<(String, String), ValueLabels> = BTreeMap::new();
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

/// The label of each value; `None` if several constants with different names have the value.
#[derive(Default)]
struct ValueLabels(BTreeMap<i64, Option<String>>);

impl ValueLabels {
    fn add(&mut self, value: i64, label: &str) {
        let known_label = self.0.entry(value).or_insert_with(|| Some(label.to_owned()));
        if known_label.as_deref() != Some(label) {
            *known_label = None;
        }
    }
}

fn find_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |err| read_error(folder, err);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if depth > 0 && !is_hidden {
                find_files(&path, depth - 1, files)?;
            }
        } else if path.extension() == Some(OsStr::new("msg"))
            && path.exists()
            && !path.is_dir()
        {
            files.push(path);
            if files.len() > MAX_FILES {
                let message = format!("more than {MAX_FILES} message definitions");
                return Err(Error::new(ErrorKind::Limit, message));
            }
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> Result<String> {
    let failed = |err| read_error(path, err);
    let mut bytes = Vec::new();
    let file = open_regular_file(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message =
            format!("{} has more than {MAX_FILE_BYTES} bytes", path.display());
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_error(path: &Path, err: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read {}", path.display()))
        .with_source(err)
}

#[cfg(test)]
mod tests;
