//! The UTC start of a log, as the user states it.

use std::sync::Arc;

use logtool_core::{ClockFit, Manifest};

use crate::{args::GlobalArgs, clock, paint, terminal::say};

/// Returns `manifest` with the start that `--utc-start` states; `None` without that option,
/// or if the log has no time that could be its start.
pub(crate) fn set(manifest: &Manifest, global: &GlobalArgs) -> Option<Arc<Manifest>> {
    let start = manifest.time?.start.as_nanos();
    let offset_nanos = global.utc_start?.saturating_sub(start);
    if let Some(known) = clock::to_unix(&manifest.clock)
        && !global.quiet
    {
        let known = clock::Iso(start.saturating_add(known));
        let paint = paint::for_stderr();
        let what =
            format!("the log itself starts at {known}; --utc-start replaces that");
        say!("{} {what}", paint.yellow("warning:"));
    }
    let mut manifest = manifest.clone();
    manifest.clock.to_unix = Some(ClockFit {
        offset_nanos,
        spread_nanos: 0,
        observations: 1,
        source: "--utc-start".to_owned(),
    });
    Some(Arc::new(manifest))
}
