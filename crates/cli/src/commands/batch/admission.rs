//! Who may begin, and in which order: several logs are done side by side, as many as
//! the memory is enough for.

use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Lets logs in, in their order.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    memory: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The next log.
    next: usize,
    /// The memory of those that are in.
    used: u64,
    /// All logs before this one have had their turn…
    first: usize,
    /// …and so have these after it.
    passed: BTreeSet<usize>,
}

/// A log that was let in.
#[derive(Debug)]
pub(super) struct Pass<'g> {
    gate: &'g Gate,
    /// Its number.
    pub(super) index: usize,
    cost: u64,
    has_passed: bool,
}

impl Gate {
    /// Lets in what needs no more than `memory` bytes together, and always one.
    pub(super) fn new(memory: u64) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), memory }
    }

    /// Lets in the next of the logs that need `costs`, when there is room for it; nothing
    /// if there is none left.
    pub(super) fn enter(&self, costs: &[u64]) -> Option<Pass<'_>> {
        let mut state = self.lock();
        loop {
            let index = state.next;
            let cost = *costs.get(index)?;
            if state.used == 0 || state.used.saturating_add(cost) <= self.memory {
                state.next += 1;
                state.used = state.used.saturating_add(cost);
                return Some(Pass { gate: self, index, cost, has_passed: false });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Does `work` when all logs before this one have had their turn: what it decides does
    /// not depend on which log was read sooner.
    pub(super) fn in_turn<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let mut state = self.gate.lock();
        while state.first < self.index {
            state =
                self.gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let done = work();
        self.pass();
        done
    }

    /// Lets the next one have its turn.
    fn pass(&mut self) {
        if std::mem::replace(&mut self.has_passed, true) {
            return;
        }
        let mut state = self.gate.lock();
        state.passed.insert(self.index);
        while let Some(first) =
            state.passed.first().filter(|first| **first == state.first)
        {
            let first = *first;
            state.passed.remove(&first);
            state.first = first + 1;
        }
        self.gate.changed.notify_all();
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.pass();
        let mut state = self.gate.lock();
        state.used = state.used.saturating_sub(self.cost);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
