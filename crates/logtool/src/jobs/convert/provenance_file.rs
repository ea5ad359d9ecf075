//! The file `provenance.json`, alongside files that cannot state their origin.

use std::sync::Arc;

use logtool_core::Provenance;
use logtool_sinks::{ExistingFiles, Outputs};
use serde::Serialize;

use crate::error::Result;

/// The content of the file.
#[derive(Serialize)]
struct Sidecar<'p> {
    #[serde(flatten)]
    provenance: &'p Provenance,
    /// The files that were written, relative to the folder of this one.
    files: Vec<String>,
}

/// Writes the file to `outputs`, and returns its name, which has a number if such a file exists
/// and may not be replaced. Returns `None` if there are no outputs.
pub(super) fn write(
    outputs: &Arc<Outputs>,
    existing: ExistingFiles,
    provenance: &Provenance,
) -> Result<Option<String>> {
    let files = outputs.names();
    if files.is_empty() {
        return Ok(None);
    }
    let is_free = |name: &String| {
        existing == ExistingFiles::Replace || !outputs.dir().join(name).exists()
    };
    let names = (2_u64..).map(|number| format!("{}_{number}.json", Provenance::NAME));
    let first = format!("{}.json", Provenance::NAME);
    let Some(name) = std::iter::once(first).chain(names).find(is_free) else {
        return Ok(None);
    };
    let mut text = serde_json::to_vec_pretty(&Sidecar { provenance, files })?;
    text.push(b'\n');
    outputs.write_last(&name, &text)?;
    Ok(Some(name))
}
