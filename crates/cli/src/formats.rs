//! The one list of the formats that are read.

use logtool_core::Format;

/// All formats, the likelier first.
pub(crate) const FORMATS: &[&dyn Format] = &[&logtool_ulog::FORMAT];

/// Their names, for people.
pub(crate) fn names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name()).collect();
    names.join(", ")
}
