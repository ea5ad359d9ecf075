//! Checks for errors and anomalies that are specific to MCAP: checksums, indexes and
//! statistics that contradict the contents, and inconsistent channels and schemas.

mod chunk;
mod codes;
mod inspection;
mod layout;
mod summary;

use std::{ops::Range, sync::Arc};

use logtool_core::{
    ChunkLimits, Damage, DamageKind, Finding, Findings, Manifest, OpenOptions, Result,
    Source,
};

use crate::check::layout::FileLayout;

pub(crate) use self::{
    codes::CODES, inspection::ChunkInspection, summary::attachment_defect,
};

/// The file to be checked, and the results of the index pass.
#[derive(Clone)]
pub(crate) struct CheckInput {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) options: OpenOptions,
    /// The limits of the decompressed chunks.
    pub(crate) limits: ChunkLimits,
    /// The damaged ranges outside chunks, in the order of the file.
    pub(crate) damaged_ranges: Arc<[Damage]>,
    /// The byte ranges of the chunks, in the order of the file.
    pub(crate) chunks: Vec<Range<u64>>,
}

/// Checks all records outside chunks. The returned inspection checks the chunks while
/// they are read.
pub(crate) fn check_outside_chunks(
    input: CheckInput,
    findings: &mut Findings,
) -> Result<ChunkInspection> {
    let layout = FileLayout::read(&input, findings)?;
    summary::check(&input, &layout, findings)?;
    Ok(ChunkInspection::new(input, layout))
}

/// Adds a finding for each topic whose schema is unusable according to the `manifest`.
pub(crate) fn check_schemas(manifest: &Manifest, findings: &mut Findings) {
    let unusable =
        manifest.damage.iter().filter(|damage| damage.kind == DamageKind::Definition);
    for (topic, damage) in unusable.filter_map(|damage| Some((damage.topic?, damage))) {
        let reason = damage.reason.clone().unwrap_or_default();
        let finding = Finding::new(&codes::SCHEMA_BROKEN, reason).with_topic(topic);
        findings.add(finding.with_bytes(damage.bytes.clone()));
    }
}
