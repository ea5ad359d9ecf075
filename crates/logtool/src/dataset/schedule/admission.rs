//! The admission of logs: as many at the same time as fit into the memory, in their order.

use std::{collections::BTreeSet, mem};

use parking_lot::{Condvar, Mutex};

/// Admits logs in their order, while they fit into the memory together.
#[derive(Debug)]
pub(super) struct AdmissionScheduler {
    state: Mutex<AdmissionState>,
    changed: Condvar,
    memory: u64,
}

#[derive(Debug, Default)]
struct AdmissionState {
    /// The index of the next log.
    next: usize,
    /// The memory of the admitted logs.
    used: u64,
    /// All logs before this index have had their turn.
    first_without_turn: usize,
    /// The logs after that index that have had their turn.
    later_turns: BTreeSet<usize>,
}

/// The permit to process a log. Dropping it releases the memory.
#[derive(Debug)]
pub(in crate::dataset) struct Permit<'s> {
    scheduler: &'s AdmissionScheduler,
    index: usize,
    cost: u64,
    had_turn: bool,
}

impl AdmissionScheduler {
    /// Creates a scheduler for logs that need up to `memory` bytes together. It always admits
    /// one log.
    pub(super) fn new(memory: u64) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), memory }
    }

    /// Waits until the next of the logs that need `costs` fits, and admits it; returns `None`
    /// if all were admitted.
    pub(super) fn admit(&self, costs: &[u64]) -> Option<Permit<'_>> {
        let mut state = self.state.lock();
        loop {
            let index = state.next;
            let cost = *costs.get(index)?;
            if state.used == 0 || state.used.saturating_add(cost) <= self.memory {
                state.next += 1;
                state.used = state.used.saturating_add(cost);
                return Some(Permit { scheduler: self, index, cost, had_turn: false });
            }
            self.changed.wait(&mut state);
        }
    }
}

impl Permit<'_> {
    /// Returns the index of the log.
    pub(in crate::dataset) fn index(&self) -> usize {
        self.index
    }

    /// Runs `work` when all logs before this one have had their turn, so that the decisions of
    /// `work` do not depend on which log is read faster.
    pub(in crate::dataset) fn in_turn<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let mut state = self.scheduler.state.lock();
        while state.first_without_turn < self.index {
            self.scheduler.changed.wait(&mut state);
        }
        drop(state);
        let result = work();
        self.end_turn();
        result
    }

    /// Lets the next log have its turn.
    fn end_turn(&mut self) {
        if mem::replace(&mut self.had_turn, true) {
            return;
        }
        let mut state = self.scheduler.state.lock();
        let mut first = state.first_without_turn;
        state.later_turns.insert(self.index);
        while state.later_turns.remove(&first) {
            first += 1;
        }
        state.first_without_turn = first;
        self.scheduler.changed.notify_all();
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.end_turn();
        let mut state = self.scheduler.state.lock();
        state.used = state.used.saturating_sub(self.cost);
        self.scheduler.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
