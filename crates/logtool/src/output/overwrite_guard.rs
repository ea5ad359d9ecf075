//! No log is written over itself.

use std::{fs, path::Path};

use crate::{
    error::{Error, Result},
    input::url,
    remote,
};

/// Refuses the output `out`, if it is one of `inputs`: with --force too, as what is read
/// would be gone.
pub fn refuse<'p>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<()> {
    let real = fs::canonicalize(out).ok().filter(|out| out.is_file());
    let is_it = |input: &Path| match (url::of(out), url::of(input)) {
        (Some(out), Some(input)) => remote::is_same(out, input),
        (None, None) => real.is_some() && fs::canonicalize(input).ok() == real,
        _ => false,
    };
    match inputs.into_iter().find(|input| is_it(input)) {
        None => Ok(()),
        Some(input) => {
            let what = format!("{} would be written over itself", input.display());
            let hint = "name another file with -o, and move it when it is whole";
            Err(Error::invalid(what).with_hint(hint))
        }
    }
}
