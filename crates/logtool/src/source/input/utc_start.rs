//! The UTC start of a log, as the user states it.

use std::sync::Arc;

use logtool_core::{ClockFit, Manifest};

use crate::{source::session::Session, time::clock};

/// Returns `manifest` with the start that the session states; `None` if it states none, or if the log has no time that could be its start.
pub fn set(manifest: &Manifest, session: &Session) -> Option<Arc<Manifest>> {
    let start = manifest.time?.start.as_nanos();
    let offset_nanos = session.utc_start?.saturating_sub(start);
    if let Some(known) = clock::unix_offset(&manifest.clock) {
        let known = clock::Iso(start.saturating_add(known));
        let message =
            format!("the log itself starts at {known}; the given start replaces that");
        session.warn("", &message);
    }
    let mut manifest = manifest.clone();
    manifest.clock.to_unix = Some(ClockFit {
        offset_nanos,
        spread_nanos: 0,
        observations: 1,
        source: "given UTC start".to_owned(),
    });
    Some(Arc::new(manifest))
}
