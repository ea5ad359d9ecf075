//! Checks for errors and anomalies that are specific to MCAP: checksums, indexes and
//! statistics that contradict the contents, and inconsistent channels and schemas.

mod chunk;
mod codes;
mod inspection;
mod layout;
mod summary;

use std::{ops::Range, sync::Arc};

use logtool_core::{
    Damage, DamageKind, Finding, Findings, Manifest, OpenOptions, Result, Source,
};

use crate::check::layout::FileLayout;

pub(crate) use self::{codes::CODES, inspection::ChunkInspection};

/// The file to be checked.
#[derive(Clone)]
pub(crate) struct CheckInput {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) options: OpenOptions,
    /// The damaged ranges outside chunks, as found by the index pass.
    pub(crate) damaged_ranges: Arc<[Damage]>,
    /// The byte ranges of the chunks, as found by the index pass.
    pub(crate) chunks: Vec<Range<u64>>,
}

/// Checks all records outside chunks. The returned inspection checks the chunks while
/// they are read.
pub(crate) fn check(
    log: CheckInput,
    findings: &mut Findings,
) -> Result<ChunkInspection> {
    let layout = FileLayout::read(&log, findings)?;
    summary::check(&log, &layout, findings)?;
    Ok(ChunkInspection::new(log, layout))
}

/// Adds a finding for each topic whose schema the index pass found unusable.
pub(crate) fn schemas(manifest: &Manifest, findings: &mut Findings) {
    let unusable =
        manifest.damage.iter().filter(|damage| damage.kind == DamageKind::Definition);
    for (topic, damage) in unusable.filter_map(|damage| Some((damage.topic?, damage))) {
        let reason = damage.reason.clone().unwrap_or_default();
        let finding = Finding::new(&codes::SCHEMA_BROKEN, reason).with_topic(topic);
        findings.add(finding.with_bytes(damage.bytes.clone()));
    }
}
