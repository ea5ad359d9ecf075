//! No log is written over itself.

use std::{fs, path::Path};

use anyhow::Result;

use crate::complaint::Complaint;

/// Refuses the output `out`, if it is one of `inputs`: with --force too, as what is read
/// would be gone.
pub(crate) fn refuse<'p>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'p std::path::PathBuf>,
) -> Result<()> {
    let Ok(out) = fs::canonicalize(out) else { return Ok(()) };
    let is_it = |input: &Path| fs::canonicalize(input).is_ok_and(|input| input == out);
    match inputs.into_iter().find(|input| out.is_file() && is_it(input)) {
        None => Ok(()),
        Some(input) => {
            let what = format!("{} would be written over itself", input.display());
            let hint = "name another file with -o, and move it when it is whole";
            Err(Complaint::misuse(what).hint(hint).into())
        }
    }
}
