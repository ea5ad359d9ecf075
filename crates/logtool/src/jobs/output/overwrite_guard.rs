//! Prevents that a log is overwritten by itself.

use std::{fs, path::Path};

use crate::{
    error::{Error, Result},
    source::{input::url, remote},
};

/// Rejects the output `out` if it is one of `inputs`, even if files may be replaced, because the input would be
/// destroyed while it is read.
pub fn refuse<'p>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<()> {
    let real = fs::canonicalize(out).ok().filter(|out| out.is_file());
    let is_match = |input: &Path| match (url::from_path(out), url::from_path(input)) {
        (Some(out), Some(input)) => remote::is_same(out, input),
        (None, None) => real.is_some() && fs::canonicalize(input).ok() == real,
        _ => false,
    };
    match inputs.into_iter().find(|input| is_match(input)) {
        None => Ok(()),
        Some(input) => {
            let message = format!("{} would be overwritten by itself", input.display());
            let hint = "write another file, and rename it when it is complete";
            Err(Error::invalid_request(message).with_hint(hint))
        }
    }
}
