//! Bytes that changed between opening a file and reading its records.

use logtool_core::{Damage, DamageKind, ScanStep};

/// Returns the step that reports the bytes `unscanned` at `offset` as damaged. The index pass
/// found a record there, but now they do not start with one.
pub(crate) fn changed_bytes(offset: u64, unscanned: &[u8]) -> ScanStep {
    let len = unscanned.len().max(1) as u64;
    let damage = Damage::new(DamageKind::Garbled, offset..offset.saturating_add(len));
    let damage = damage.with_reason("the file has changed since it was opened");
    ScanStep::Damaged { len, damage: Box::new(damage) }
}
