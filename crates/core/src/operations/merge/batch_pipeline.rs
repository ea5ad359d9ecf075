//! Batches that are found, and encoded, by some threads while another writes those before them.

use std::{
    any::Any,
    collections::VecDeque,
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use rayon::{Scope, Yield};

use crate::{
    operations::merge::{
        Batch, Merge,
        batch::{BYTES, ENCODED_BYTES},
    },
    sink::Encoder,
};

/// So many batches wait to be written at most.
const READY: usize = 3;

/// The batches of a merge in their order.
///
/// Tasks of the current rayon pool find the next ones, up to three, while somebody writes
/// one. One thread at a time finds a batch; it encodes it then, if that is asked for, while
/// another finds the next. Nobody waits for what nobody has begun: where the next is not ready,
/// and no thread finds one, who wants it does; and does what else the pool has to do where one is.
pub(crate) struct Batches<'l> {
    encoder: Option<Arc<dyn Encoder>>,
    state: Mutex<State<'l>>,
    changed: Condvar,
}

struct State<'l> {
    filling: Filling<'l>,
    /// Those that are found, and nothing for one that is being encoded.
    found: VecDeque<Option<Batch>>,
    /// How many were taken out of it.
    taken: usize,
    /// Those that are written.
    spare: Vec<Batch>,
    /// The panic of whoever found one, or encoded it.
    panicked: Option<Box<dyn Any + Send>>,
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
}

impl<'l> Batches<'l> {
    /// The batches of `merge`, with what `encoder` makes of their records, if there is one.
    pub(crate) fn new(merge: Merge<'l>, encoder: Option<Arc<dyn Encoder>>) -> Self {
        let state = State {
            filling: Filling::Paused(Box::new(merge)),
            found: VecDeque::new(),
            taken: 0,
            spare: Vec::new(),
            panicked: None,
            is_waited: false,
        };
        Self { encoder, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next batch, or nothing at the end; lets a task of `scope` find those behind it.
    pub(crate) fn next<'s>(&'s self, scope: &Scope<'s>) -> Option<Batch>
    where
        'l: 's,
    {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.take() {
                let is_paused = matches!(state.filling, Filling::Paused(_));
                // To wake a thread takes a while: it is to have some to find.
                let wakes = is_paused && state.found.len() < READY - 1;
                drop(state);
                if wakes && rayon::current_num_threads() > 1 {
                    scope.spawn(|_| self.fill_ahead());
                }
                return Some(batch);
            }
            if let Some(panic) = state.panicked.take() {
                drop(state);
                panic::resume_unwind(panic);
            } else if let Some(merge) = state.begin() {
                drop(state);
                state = self.fill(merge);
            } else if state.is_awaited() {
                drop(state);
                let has_worked = rayon::yield_now() == Some(Yield::Executed);
                state = self.lock();
                if !has_worked && state.is_awaited() {
                    state.is_waited = true;
                    let woken = self.changed.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
            } else if !state.is_found() {
                return None;
            }
        }
    }

    /// Takes a batch back that is written.
    pub(crate) fn give_back(&self, batch: Batch) {
        self.lock().spare.push(batch);
    }

    /// Finds batches, unless somebody does, until so many are found as may be.
    fn fill_ahead(&self) {
        let mut state = self.lock();
        while let Some(merge) = state.begin() {
            drop(state);
            state = self.fill(merge);
        }
    }

    /// Finds the next batch, and encodes it.
    fn fill(&self, mut merge: Box<Merge<'l>>) -> MutexGuard<'_, State<'l>> {
        let mut batch = self.lock().spare.pop().unwrap_or_default();
        let bytes = if self.encoder.is_some() { ENCODED_BYTES } else { BYTES };
        let filled =
            panic::catch_unwind(AssertUnwindSafe(|| merge.fill(&mut batch, bytes)));
        let mut state = self.lock();
        state.filling = match filled {
            Ok(()) if !batch.is_last() => Filling::Paused(merge),
            _ => Filling::Ended,
        };
        let number = state.taken + state.found.len();
        state.found.push_back(None);
        let encoded = match &self.encoder {
            Some(encoder) if filled.is_ok() => {
                drop(state);
                let encode = AssertUnwindSafe(|| batch.encode(&**encoder));
                let encoded = panic::catch_unwind(encode);
                state = self.lock();
                encoded
            }
            _ => filled,
        };
        match encoded {
            // Nobody takes those behind one that is missing.
            Err(panic) => state.panicked = Some(panic),
            Ok(()) => {
                let place = number - state.taken;
                let place = state.found.get_mut(place);
                place
                    .into_iter()
                    .for_each(|place| *place = Some(mem::take(&mut batch)));
            }
        }
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

impl<'l> State<'l> {
    /// The first batch, if it can be written.
    fn take(&mut self) -> Option<Batch> {
        let first = self.found.front_mut()?.take()?;
        self.found.pop_front();
        self.taken += 1;
        Some(first)
    }

    /// The merge, if nobody is at it, and one more batch may be found.
    fn begin(&mut self) -> Option<Box<Merge<'l>>> {
        if self.found.len() >= READY || self.panicked.is_some() {
            return None;
        }
        match mem::replace(&mut self.filling, Filling::Busy) {
            Filling::Paused(merge) => Some(merge),
            other => {
                self.filling = other;
                None
            }
        }
    }

    /// Whether the first batch can be written.
    fn is_found(&self) -> bool {
        matches!(self.found.front(), Some(Some(_)))
    }

    /// Whether somebody is about to have the first batch.
    fn is_awaited(&self) -> bool {
        let is_begun = match self.found.front() {
            Some(first) => first.is_none(),
            None => matches!(self.filling, Filling::Busy),
        };
        is_begun && self.panicked.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, ErrorKind, Result},
        model::{damage::DamageKind, manifest::Selection},
        parallel::test_pools::in_pools,
        record::block::Record,
        testing::mock_log::{Play, Scripted},
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
        let merge = Merge::with_budget(1 << 20, 0, vec![(log, Selection::default())]);
        let batches = Batches::new(merge, None);
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

    /// Encodes records as their times, but for one, with which it fails or panics.
    enum Clock {
        Fails(i64),
        Panics(i64),
    }

    impl Encoder for Clock {
        fn encode(
            &self,
            from: usize,
            record: Record<'_>,
            bytes: &mut Vec<u8>,
        ) -> Result<()> {
            let time = record.time.as_nanos();
            match self {
                Self::Fails(at) if *at == time => {
                    return Err(Error::new(ErrorKind::Unsupported, "no such time"));
                }
                Self::Panics(at) if *at == time => panic!("at {at}"),
                Self::Fails(_) | Self::Panics(_) => {}
            }
            assert_eq!((from, record.payload), (0, &[1][..]));
            bytes.extend(time.to_le_bytes());
            Ok(())
        }
    }

    /// The times of three parts of 700 records that alternate, as `clock` encodes them, until
    /// that fails.
    fn encoded(clock: Clock) -> (Vec<i64>, Option<ErrorKind>) {
        let log = Scripted::new((0..3).map(|first| part(first, 700, 3)).collect());
        let merge = Merge::with_budget(1 << 20, 0, vec![(&log, Selection::default())]);
        let batches = Batches::new(merge, Some(Arc::new(clock)));
        let mut bytes = Vec::new();
        let failed = rayon::in_place_scope(|scope| {
            while let Some(mut batch) = batches.next(scope) {
                if let Err(err) = batch.failed() {
                    return Some(err.kind());
                }
                let counted: u64 = batch.counts().map(|(_, count)| count).sum();
                assert_eq!(counted * 8, batch.encoded().len() as u64);
                bytes.append(batch.encoded());
                batches.give_back(batch);
            }
            None
        });
        let times = bytes.as_chunks().0.iter().map(|time| i64::from_le_bytes(*time));
        (times.collect(), failed)
    }

    #[test]
    fn what_is_encoded_comes_in_the_same_order() {
        let want: Vec<i64> = (0..2100).collect();
        for _ in 0..20 {
            in_pools(|| {
                let (times, failed) = encoded(Clock::Fails(-1));
                assert!(times == want, "{times:?}");
                assert_eq!(failed, None);
            });
        }
    }

    #[test]
    fn what_cannot_be_encoded_ends_it_in_its_turn() {
        in_pools(|| {
            let (times, failed) = encoded(Clock::Fails(1_000));
            assert_eq!(failed, Some(ErrorKind::Unsupported));
            let want: Vec<i64> = (0..times.len() as i64).collect();
            assert!(times == want && times.len() <= 1_000, "{times:?}");
            let panicked = AssertUnwindSafe(|| encoded(Clock::Panics(1_000)));
            assert!(panic::catch_unwind(panicked).is_err());
        });
    }

    #[test]
    fn who_asks_no_more_ends_it() {
        let log = Scripted::new(vec![part(0, 64 * 40, 1)]);
        in_pools(|| {
            let merge =
                Merge::with_budget(1 << 20, 0, vec![(&log, Selection::default())]);
            let batches = Batches::new(merge, None);
            let first = rayon::in_place_scope(|scope| batches.next(scope));
            assert!(first.is_some_and(|batch| batch.len() > 0));
            assert!(batches.lock().found.len() <= READY);
        });
    }
}
