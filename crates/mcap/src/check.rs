//! What is wrong with an MCAP file, or odd, that only its format knows: its checksums, its
//! indexes and statistics against what is there, its channels and schemas.

mod chunk;
mod codes;
mod declared;
mod inside;
mod layout;
mod summary;

use std::{ops::Range, sync::Arc};

use logtool_core::{
    Damage, DamageKind, Finding, Findings, Manifest, OpenOptions, Result, Source,
};

pub(crate) use self::{codes::CODES, inside::Inside};
use crate::check::layout::Layout;

/// What there is to be looked at.
#[derive(Clone)]
pub(crate) struct Checked {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) options: OpenOptions,
    /// Where there are no records, as the survey found.
    pub(crate) gaps: Arc<[Damage]>,
    /// Where the chunks are, as the survey found.
    pub(crate) chunks: Vec<Range<u64>>,
}

/// Looks at all records that are in no chunk. What is in the chunks is left to be looked
/// at.
pub(crate) fn check(log: Checked, findings: &mut Findings) -> Result<Inside> {
    let layout = Layout::read(&log, findings)?;
    summary::check(&log, &layout, findings)?;
    Ok(Inside::new(log, layout))
}

/// Adds a finding for each topic whose schema cannot be used, as the survey found.
pub(crate) fn schemas(manifest: &Manifest, findings: &mut Findings) {
    let unusable =
        manifest.damage.iter().filter(|damage| damage.kind == DamageKind::Definition);
    for (topic, damage) in unusable.filter_map(|damage| Some((damage.topic?, damage))) {
        let why = damage.why.clone().unwrap_or_default();
        let finding = Finding::new(&codes::SCHEMA_BROKEN, why).of(topic);
        findings.add(finding.at(damage.bytes.clone()));
    }
}
