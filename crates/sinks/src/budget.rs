//! How much all tables together may hold back.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The bytes that the tables of a sink hold before they write them.
///
/// A log has hundreds of tables, each of which would rather write much at a time.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    held: AtomicUsize,
    tables: AtomicUsize,
}

/// What one table holds.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

/// What all tables together may hold.
const MAX_BYTES: usize = 32 << 20;

impl Budget {
    /// The share of one more table.
    pub(crate) fn share(budget: &Arc<Self>) -> Share {
        budget.tables.fetch_add(1, Ordering::Relaxed);
        Share { budget: budget.clone(), bytes: 0 }
    }
}

impl Share {
    /// How much the table holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Says that the table holds `bytes`, and asks whether it should write them: when
    /// all together hold too much, and this table no less than its fair part.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        let budget = &self.budget;
        let old = std::mem::replace(&mut self.bytes, bytes);
        let held = match bytes.checked_sub(old) {
            Some(more) => budget.held.fetch_add(more, Ordering::Relaxed) + more,
            None => {
                budget.held.fetch_sub(old - bytes, Ordering::Relaxed) - (old - bytes)
            }
        };
        let tables = budget.tables.load(Ordering::Relaxed).max(1);
        held > MAX_BYTES && bytes >= MAX_BYTES / tables
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
        self.budget.tables.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_its_fair_part_writes_when_all_hold_too_much() {
        let budget = Arc::new(Budget::default());
        let (mut a, mut b) = (Budget::share(&budget), Budget::share(&budget));
        assert!(!a.set(31 << 20));
        assert!(!b.set(1 << 20));
        assert!(!b.set(2 << 20), "too much, but the other one has it");
        assert!(a.set(32 << 20));
        assert!(!a.set(0));
        drop(a);
        assert!(!b.set(32 << 20));
        assert!(b.set((32 << 20) + 1));
    }
}
