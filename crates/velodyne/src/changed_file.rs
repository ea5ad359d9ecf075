//! Bytes that changed between opening a file and reading its records.

use logtool_core::{Damage, DamageKind, ScanStep};

/// Returns the damage of the bytes `unscanned` at `offset`, which have no record where the index
/// pass found one.
pub(crate) fn changed_bytes(offset: u64, unscanned: &[u8]) -> ScanStep {
    let len = unscanned.len().max(1) as u64;
    let damage = Damage::new(DamageKind::Garbled, offset..offset.saturating_add(len));
    let damage = damage.with_reason("the file has changed since it was opened");
    ScanStep::Damaged { len, damage: Box::new(damage) }
}
