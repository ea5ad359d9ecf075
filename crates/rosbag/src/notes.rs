//! What a bag's manifest notes, so that it is resumed without reading anything.

use logtool_core::{Error, ErrorKind, Manifest, Result};
use serde::{Deserialize, Serialize};

use crate::{head::Head, table::StoredEntry};

/// All that readers of parts need beside the manifest. (No key: those stay secret.)
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notes {
    pub(crate) head: Head,
    pub(crate) connections: Vec<StoredEntry>,
}

impl Notes {
    pub(crate) fn to_text(&self) -> Result<String> {
        let odd = |err| Error::new(ErrorKind::Malformed, "notes").from_source(err);
        serde_json::to_string(self).map_err(odd)
    }

    pub(crate) fn from_manifest(manifest: &Manifest) -> Result<Self> {
        let odd = |err| {
            Error::new(ErrorKind::Malformed, "a manifest that is none of a bag")
                .from_source(err)
        };
        serde_json::from_str(&manifest.notes).map_err(odd)
    }
}
