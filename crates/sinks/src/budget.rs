//! How much all tables together may hold back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes that the tables of a sink hold before they write them.
///
/// A log has hundreds of tables, each of which would rather write much at a time.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// What each table holds.
    shares: Mutex<Vec<usize>>,
}

/// What one table holds.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    index: usize,
    bytes: usize,
}

/// What all tables together may hold.
const MAX_BYTES: usize = 32 << 20;

impl Budget {
    /// The share of one more table.
    pub(crate) fn share(budget: &Arc<Self>) -> Share {
        let mut shares = budget.lock();
        shares.push(0);
        Share { budget: budget.clone(), index: shares.len() - 1, bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// How much the table holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Says that the table holds `bytes`, and asks whether it should write them: when
    /// all together hold too much, and no table more than twice as much as this one.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        self.bytes = bytes;
        let mut shares = self.budget.lock();
        if let Some(share) = shares.get_mut(self.index) {
            *share = bytes;
        }
        let (all, most) = shares
            .iter()
            .fold((0, 0), |(all, most), share| (all + share, most.max(*share)));
        all > MAX_BYTES && bytes >= most / 2
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_holds_the_most_writes_when_all_hold_too_much() {
        let budget = Arc::new(Budget::default());
        let (mut a, mut b) = (Budget::share(&budget), Budget::share(&budget));
        assert!(!a.set(31 << 20));
        assert!(!b.set(1 << 20));
        assert!(!b.set(2 << 20), "too much, but the other one has it");
        assert!(a.set(32 << 20));
        assert!(!a.set(0));
        assert!(!b.set(32 << 20));
        assert!(!a.set(1 << 20));
        assert!(a.set(17 << 20), "half of the most is as good");
        drop(a);
        assert!(!b.set(32 << 20));
        assert!(b.set((32 << 20) + 1));
    }
}
