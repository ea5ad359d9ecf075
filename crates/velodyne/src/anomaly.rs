//! Anomalies of a log: a code and a sentence for the manifest.

use logtool_core::{Finding, FindingCode, Findings};
use serde::{Deserialize, Serialize};

/// An anomaly of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anomaly {
    /// The name of its finding code, e.g. `vel.index`.
    code: String,
    pub(crate) text: String,
}

impl Anomaly {
    pub(crate) fn new(code: &'static FindingCode, text: impl Into<String>) -> Self {
        Self { code: code.name.to_owned(), text: text.into() }
    }
}

/// Adds the anomalies that have one of `codes` to `findings`.
pub(crate) fn add_to_findings(
    anomalies: &[Anomaly],
    codes: &[&'static FindingCode],
    findings: &mut Findings,
) {
    for anomaly in anomalies {
        if let Some(code) = codes.iter().find(|code| code.name == anomaly.code) {
            findings.add(Finding::new(code, anomaly.text.clone()));
        }
    }
}
