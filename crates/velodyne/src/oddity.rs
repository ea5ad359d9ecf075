//! What is odd about a log, in words that its manifest remarks, and by a code.

use logtool_core::{Code, Finding, Findings};
use serde::{Deserialize, Serialize};

/// Something odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Oddity {
    /// The name of its code.
    code: String,
    pub(crate) text: String,
}

impl Oddity {
    pub(crate) fn new(code: &'static Code, text: impl Into<String>) -> Self {
        Self { code: code.name.to_owned(), text: text.into() }
    }
}

/// Adds `oddities` to `findings`, which are of these `codes`.
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
