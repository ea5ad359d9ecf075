//! A line about losses in one place, or in several places for one reason.

use std::fmt;

use crate::{source::losses::loss::Finding, text::units::count_of};

/// A finding, and the number of others that differ only in their place.
#[derive(Debug)]
pub(super) struct LossLine<'f> {
    pub(super) finding: &'f Finding,
    /// The number of further places.
    pub(super) more: u64,
    /// The byte offset at which the last of them ends.
    pub(super) end: u64,
}

impl LossLine<'_> {
    /// Returns whether `next` differs only in its place: it has the same kind, topic and reason.
    pub(super) fn is_like(&self, next: &Finding) -> bool {
        let (damage, next) = (&self.finding.damage, &next.damage);
        damage.reason.is_some()
            && (damage.kind, damage.topic, &damage.reason)
                == (next.kind, next.topic, &next.reason)
    }

    /// Adds `next`, which differs only in its place.
    pub(super) fn add(&mut self, next: &Finding) {
        self.more += 1;
        self.end = self.end.max(next.damage.bytes.end);
    }
}

impl fmt::Display for LossLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.finding.text)?;
        if self.more > 0 {
            let places = count_of(self.more, "place");
            let end = self.end;
            write!(f, "; likewise in {places} more, up to byte {end}")?;
        }
        Ok(())
    }
}
