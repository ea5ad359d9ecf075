//! Logs from other sources. They are not in the repository. A test that does not find
//! them reports that and passes.

use std::path::{Path, PathBuf};

use bytes::Bytes;

/// Returns the path of the file or folder `name` in the folder of samples. That is the
/// value of the environment variable `LOGTOOL_SAMPLES`, or `shared/data` next to the
/// repository.
pub fn sample_path(name: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("LOGTOOL_SAMPLES").map_or(default, PathBuf::from);
    let path = root.join(name);
    if !path.exists() {
        eprintln!("sample {name} not found: set LOGTOOL_SAMPLES; nothing is checked");
        return None;
    }
    Some(path)
}

/// Returns the content of the sample `name`.
///
/// # Panics
/// Panics if the file exists and cannot be read.
pub fn sample(name: &str) -> Option<Bytes> {
    let path = sample_path(name)?;
    Some(std::fs::read(path).expect("a sample that is there can be read").into())
}

/// Returns the samples in `folder` with one of these `extensions`, sorted by name.
///
/// # Panics
/// Panics if the folder or a file in it exists and cannot be read.
pub fn samples(
    folder: &str,
    extensions: &[&str],
) -> impl Iterator<Item = (String, Bytes)> {
    let entries = sample_path(folder).into_iter().flat_map(|folder| {
        std::fs::read_dir(folder).expect("a folder of samples can be read")
    });
    let is_selected = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let paths = entries.map(|entry| entry.expect("a sample can be listed").path());
    let mut paths: Vec<PathBuf> = paths.filter(is_selected).collect();
    paths.sort();
    paths.into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("a sample can be read").into())
    })
}
