//! Options for opening ULogs.

use std::sync::Arc;

use logtool_core::OpenOptions;

use crate::events::Catalog;

/// Options for opening a ULog.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UlogOptions {
    /// The options of all formats.
    pub open: OpenOptions,
    /// The definitions of events that the log does not define.
    pub events: Option<Arc<Catalog>>,
}

impl UlogOptions {
    /// Supplies definitions of events, for those that the log does not define.
    #[must_use]
    pub fn with_events(mut self, events: Arc<Catalog>) -> Self {
        self.events = Some(events);
        self
    }
}

impl From<OpenOptions> for UlogOptions {
    fn from(open: OpenOptions) -> Self {
        Self { open, events: None }
    }
}
