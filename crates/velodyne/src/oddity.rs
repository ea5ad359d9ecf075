//! Anomalies of a log: a code and a sentence for the manifest.

use logtool_core::{Code, Finding, Findings};
use serde::{Deserialize, Serialize};

/// An anomaly of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Oddity {
    /// The name of its code, e.g. `vel.index`.
    code: String,
    pub(crate) text: String,
}

impl Oddity {
    pub(crate) fn new(code: &'static Code, text: impl Into<String>) -> Self {
        Self { code: code.name.to_owned(), text: text.into() }
    }
}

/// Adds the anomalies that have one of `codes` to `findings`.
pub(crate) fn tell(
    oddities: &[Oddity],
    codes: &[&'static Code],
    findings: &mut Findings,
) {
    for odd in oddities {
        if let Some(code) = codes.iter().find(|code| code.name == odd.code) {
            findings.add(Finding::new(code, odd.text.clone()));
        }
    }
}
