//! The file `provenance.json`, beside files that cannot say where they are from.

use std::sync::Arc;

use logtool::Result;
use logtool_core::Provenance;
use logtool_sinks::{Existing, Outputs};
use serde::Serialize;

use crate::args::Target;

/// What is in the file.
#[derive(Serialize)]
struct Sidecar<'p> {
    #[serde(flatten)]
    provenance: &'p Provenance,
    /// The files that were made, all in the folder of this one or below.
    files: Vec<String>,
}

/// Whether files of `target` have no place for what they are from.
pub(super) fn is_wanted(target: Target) -> bool {
    matches!(target, Target::Csv | Target::Jsonl | Target::Kitti | Target::Images)
}

/// Writes the file beside all that is among `outputs`, and says what it is called: by
/// another number than those that are there already, if they may not be replaced.
pub(super) fn write(
    outputs: &Arc<Outputs>,
    existing: Existing,
    provenance: &Provenance,
) -> Result<Option<String>> {
    let files = outputs.names();
    if files.is_empty() {
        return Ok(None);
    }
    let is_free = |name: &String| {
        existing == Existing::Replace || !outputs.dir().join(name).exists()
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
