//! Batches that are found by one thread while another writes those before them.

use std::{
    any::Any,
    collections::VecDeque,
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use rayon::{Scope, Yield};

use crate::merge::{Batch, Merge};

/// So many batches wait to be written at most.
const READY: usize = 3;

/// The batches of a merge in their order.
///
/// A task of the current rayon pool finds the next ones, up to three, while somebody writes
/// one. Nobody waits for what nobody has begun: where none is ready, and no thread is at it,
/// who wants the next finds it himself; and does what else the pool has to do where one is.
pub(crate) struct Batches<'l> {
    state: Mutex<State<'l>>,
    changed: Condvar,
}

struct State<'l> {
    filling: Filling<'l>,
    ready: VecDeque<Batch>,
    /// Those that are written.
    spare: Vec<Batch>,
    /// Whether somebody waits for the next: to wake nobody is a call of the system, too.
    is_waited: bool,
}

enum Filling<'l> {
    /// Nobody is at it.
    Paused(Box<Merge<'l>>),
    /// Somebody is.
    Busy,
    /// All is read, or nothing can be read on.
    Ended,
    /// Whoever was at it panicked.
    Panicked(Box<dyn Any + Send>),
}

impl<'l> Batches<'l> {
    pub(crate) fn new(merge: Merge<'l>) -> Self {
        let state = State {
            filling: Filling::Paused(Box::new(merge)),
            ready: VecDeque::new(),
            spare: Vec::new(),
            is_waited: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next batch, or nothing at the end; lets a task of `scope` find those behind it.
    pub(crate) fn next<'s>(&'s self, scope: &Scope<'s>) -> Option<Batch>
    where
        'l: 's,
    {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.ready.pop_front() {
                let is_paused = matches!(state.filling, Filling::Paused(_));
                drop(state);
                if is_paused && rayon::current_num_threads() > 1 {
                    scope.spawn(|_| self.fill_ahead());
                }
                return Some(batch);
            }
            match mem::replace(&mut state.filling, Filling::Ended) {
                Filling::Ended => return None,
                Filling::Panicked(panic) => {
                    drop(state);
                    panic::resume_unwind(panic);
                }
                Filling::Paused(merge) => {
                    state.filling = Filling::Busy;
                    drop(state);
                    state = self.fill(merge);
                }
                Filling::Busy => {
                    state.filling = Filling::Busy;
                    drop(state);
                    let has_worked = rayon::yield_now() == Some(Yield::Executed);
                    state = self.lock();
                    if !has_worked && state.is_awaited() {
                        state.is_waited = true;
                        let woken = self.changed.wait(state);
                        state = woken.unwrap_or_else(PoisonError::into_inner);
                    }
                }
            }
        }
    }

    /// Takes a batch back that is written.
    pub(crate) fn give_back(&self, batch: Batch) {
        self.lock().spare.push(batch);
    }

    /// Finds batches, unless somebody does, until so many are ready as may be.
    fn fill_ahead(&self) {
        let mut state = self.lock();
        while state.ready.len() < READY {
            match mem::replace(&mut state.filling, Filling::Busy) {
                Filling::Paused(merge) => {
                    drop(state);
                    state = self.fill(merge);
                }
                other => {
                    state.filling = other;
                    return;
                }
            }
        }
    }

    /// Finds the next batch.
    fn fill(&self, mut merge: Box<Merge<'l>>) -> MutexGuard<'_, State<'l>> {
        let mut batch = self.lock().spare.pop().unwrap_or_default();
        let filled = panic::catch_unwind(AssertUnwindSafe(|| merge.fill(&mut batch)));
        let mut state = self.lock();
        state.filling = match filled {
            Err(panic) => Filling::Panicked(panic),
            Ok(()) if batch.is_last() => Filling::Ended,
            Ok(()) => Filling::Paused(merge),
        };
        state.ready.push_back(batch);
        if mem::take(&mut state.is_waited) {
            self.changed.notify_one(); // only one takes batches
        }
        state
    }

    /// Locks, also after a panic elsewhere, which is carried on by itself.
    fn lock(&self) -> MutexGuard<'_, State<'l>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State<'_> {
    /// Whether somebody is about to have the next batch.
    fn is_awaited(&self) -> bool {
        self.ready.is_empty() && matches!(self.filling, Filling::Busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        damage::DamageKind,
        error::ErrorKind,
        manifest::Selection,
        pools::in_pools,
        scripted::{Play, Scripted},
    };

    /// A part of so many blocks, of one record each; those of a batch are 64.
    fn part(first: i64, blocks: i64, step: i64) -> Vec<Play> {
        let block = |number| Play::Block(vec![(first + number * step, vec![1])]);
        (0..blocks).map(block).collect()
    }

    /// The times of each batch, what was damaged until then, and how it ended.
    type Got = (Vec<Vec<i64>>, Vec<DamageKind>, Option<ErrorKind>);

    /// All there is to the end, or the first error.
    fn read(log: &Scripted) -> Got {
        let merge = Merge::within(1 << 20, 0, vec![(log, Selection::default())]);
        let batches = Batches::new(merge);
        let (mut times, mut damage) = (Vec::new(), Vec::new());
        let failed = rayon::in_place_scope(|scope| {
            while let Some(mut batch) = batches.next(scope) {
                times.push(batch.records().map(|(_, r)| r.time.as_nanos()).collect());
                damage.extend(
                    batch.take_damage().into_iter().map(|(_, found)| found.kind),
                );
                if let Err(err) = batch.failed() {
                    return Some(err.kind());
                }
                batches.give_back(batch);
            }
            None
        });
        (times, damage, failed)
    }

    #[test]
    fn they_come_in_their_order_on_any_number_of_threads() {
        let parts = vec![part(0, 700, 3), part(1, 700, 3), part(2, 700, 3)];
        let log = Scripted::new(parts);
        let want: Vec<i64> = (0..2100).collect();
        for _ in 0..20 {
            in_pools(|| {
                let (times, damage, failed) = read(&log);
                assert!(times.len() > 2100 / 64, "{}", times.len());
                assert!(times.concat() == want, "{times:?}");
                assert_eq!((damage.len(), failed), (0, None));
            });
        }
    }

    #[test]
    fn an_error_comes_behind_all_that_is_before_it() {
        let mut plays = part(0, 300, 1);
        plays.insert(100, Play::Damage);
        let log = Scripted::new(vec![plays, vec![Play::Error]]);
        in_pools(|| {
            let (times, damage, failed) = read(&log);
            assert!(times.concat() == (0..300).collect::<Vec<_>>(), "{times:?}");
            assert_eq!((damage.len(), failed), (1, Some(ErrorKind::Io)));
        });
    }

    #[test]
    fn a_panic_reaches_who_asks() {
        let mut plays = part(0, 500, 1);
        plays.push(Play::Panic);
        let log = Scripted::new(vec![plays]);
        in_pools(|| {
            let read = panic::catch_unwind(AssertUnwindSafe(|| read(&log)));
            assert!(read.is_err());
        });
    }

    #[test]
    fn who_asks_no_more_ends_it() {
        let log = Scripted::new(vec![part(0, 64 * 40, 1)]);
        in_pools(|| {
            let merge = Merge::within(1 << 20, 0, vec![(&log, Selection::default())]);
            let batches = Batches::new(merge);
            let first = rayon::in_place_scope(|scope| batches.next(scope));
            assert!(first.is_some_and(|batch| batch.len() > 0));
            assert!(batches.lock().ready.len() <= READY);
        });
    }
}
