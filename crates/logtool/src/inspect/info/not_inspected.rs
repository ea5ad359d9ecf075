//! The contents that a description does not inspect.

use logtool_core::LogAccess;
use serde::Serialize;

/// The contents that were not inspected when a log was described, because that would take as long as
/// to read it. [`check`](crate::check::check) inspects everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotInspected {
    /// The records: the log is described by its index.
    Records,
    /// The payloads of the records, which were found by reading the file.
    Payloads,
}

impl NotInspected {
    /// Returns the contents that are not inspected with this `access`.
    pub(super) fn by_access(access: LogAccess) -> Self {
        match access {
            LogAccess::Indexed => Self::Records,
            _ => Self::Payloads,
        }
    }

    /// Returns a sentence for users.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Records => {
                "the index; the records were not read (`logtool check` reads and decodes them)"
            }
            Self::Payloads => {
                "the structure; payloads were not decoded (`logtool check` decodes them)"
            }
        }
    }
}
