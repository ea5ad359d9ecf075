//! A line of what was lost: of one place, or of several for one reason.

use std::fmt;

use crate::{losses::loss::Finding, units::counted};

/// A finding, and how many more there are that differ only in their place.
#[derive(Debug)]
pub(super) struct Told<'f> {
    pub(super) finding: &'f Finding,
    /// In so many more places,
    pub(super) more: u64,
    /// the last of which ends here.
    pub(super) end: u64,
}

impl Told<'_> {
    /// Whether `next` is the same, elsewhere: of the same topic, and for a reason that is
    /// the same in words.
    pub(super) fn is_like(&self, next: &Finding) -> bool {
        let (damage, next) = (&self.finding.damage, &next.damage);
        damage.why.is_some()
            && (damage.kind, damage.topic, &damage.why)
                == (next.kind, next.topic, &next.why)
    }

    /// Adds `next`, which is the same elsewhere.
    pub(super) fn add(&mut self, next: &Finding) {
        self.more += 1;
        self.end = self.end.max(next.damage.bytes.end);
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.finding.text)?;
        if self.more > 0 {
            let places = counted(self.more, "place");
            let end = self.end;
            write!(f, "; likewise in {places} more, up to byte {end}")?;
        }
        Ok(())
    }
}
