//! Names for the values of fields, from a folder of definitions or from a log that contains them.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use logtool_core::{Labels, Manifest};
use logtool_protobuf::FileSet;
use logtool_rosmsg::{Definition, Encoding};
use logtool_ulog::{px4_labels, read_msg_dir};

use crate::{
    error::{Error, ErrorKind, Result},
    formats::LogFormat,
};

/// Returns the names for the values of fields that PX4's `.msg` files in the folder `dir`
/// define.
///
/// # Errors
/// If the folder cannot be read, or no file in it names a value.
pub fn read_folder(dir: &Path) -> Result<Arc<Labels>> {
    if !dir.is_dir() {
        let (kind, message) = match dir.exists() {
            true => (ErrorKind::Other, "it is a file, not a folder of .msg files"),
            false => (ErrorKind::NoSuchFile, "there is no such folder"),
        };
        let name = dir.display();
        let context = format!("cannot read the message definitions in {name}");
        return Err(Error::new(kind, message).context(context));
    }
    let labels = read_msg_dir(dir)?;
    if labels.is_empty() {
        let message = format!("{}: no .msg file here names a value", dir.display());
        let hint = "in PX4's sources this is the folder msg";
        return Err(Error::other(message).with_hint(hint));
    }
    Ok(Arc::new(labels))
}

/// Returns the names that the definitions in a bag or an MCAP file give to the values of fields, or
/// the names of PX4 for its own logs. If two definitions of a type disagree on a name, it is
/// dropped.
pub fn from_manifest(manifest: &Manifest) -> Option<Arc<Labels>> {
    if LogFormat::from_manifest(manifest) == Some(LogFormat::Ulog) {
        return Some(px4_labels(manifest))
            .filter(|labels| !labels.is_empty())
            .map(Arc::new);
    }
    let mut names: BTreeMap<(String, String, i64), Option<String>> = BTreeMap::new();
    for topic in &manifest.topics {
        let labels = match Encoding::from_name(&topic.encoding) {
            Some(Encoding::Ros1) => {
                Definition::parse(&topic.type_name, &topic.definition)
                    .map(|definition| definition.labels())
            }
            Some(Encoding::Protobuf) => FileSet::parse(&topic.descriptor)
                .map(|files| logtool_protobuf::labels(&files)),
            _ => continue,
        };
        let Ok(labels) = labels else { continue };
        for (message, field, value, name) in labels.iter() {
            let key = (message.to_owned(), field.to_owned(), value);
            let known = names.entry(key).or_insert_with(|| Some(name.to_owned()));
            if known.as_deref() != Some(name) {
                *known = None;
            }
        }
    }
    let mut labels = Labels::default();
    for ((message, field, value), name) in names {
        if let Some(name) = name {
            labels.insert(&message, &field, value, name);
        }
    }
    (!labels.is_empty()).then(|| Arc::new(labels))
}
