//! A pipeline of batches: some threads find and encode the next batches while another
//! thread writes the earlier ones.

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
        Merge, MergedBatch,
        batch::{ENCODED_BYTES, MAX_BYTES},
    },
    sink::Encoder,
};

/// The maximum number of batches that are ready to be written.
const MAX_READY: usize = 3;

/// The batches of a merge in order.
///
/// Tasks of the current rayon pool prepare up to three batches while the caller writes
/// one. One thread at a time finds a batch. It then encodes the batch, if there is an
/// encoder, while another thread finds the next one. A caller never waits for a task that
/// has not started: if the next batch is not ready and no thread works on it, the caller
/// finds the batch itself. If a thread works on it, the caller runs other tasks of the
/// pool.
pub(crate) struct BatchPipeline<'l> {
    encoder: Option<Arc<dyn Encoder>>,
    state: Mutex<PipelineState<'l>>,
    changed: Condvar,
}

struct PipelineState<'l> {
    reader: ReaderState<'l>,
    /// The batches in order, with `None` for a batch that is being encoded.
    batches: VecDeque<Option<MergedBatch>>,
    /// The number of batches that were removed from the front.
    taken_count: usize,
    /// Written batches, for reuse.
    spare_batches: Vec<MergedBatch>,
    /// The panic of a thread that found or encoded a batch.
    panic: Option<Box<dyn Any + Send>>,
    /// Whether the caller waits for the next batch. Notifying no thread would still be a
    /// system call, so this flag avoids it.
    is_thread_waiting: bool,
}

enum ReaderState<'l> {
    /// No thread is reading.
    Paused(Box<Merge<'l>>),
    /// A thread is reading.
    Busy,
    /// All records were read, or nothing more can be read.
    Ended,
}

impl<'l> BatchPipeline<'l> {
    /// Creates the batches of `merge`. If there is an `encoder`, their records are
    /// encoded.
    pub(crate) fn new(merge: Merge<'l>, encoder: Option<Arc<dyn Encoder>>) -> Self {
        let state = PipelineState {
            reader: ReaderState::Paused(Box::new(merge)),
            batches: VecDeque::new(),
            taken_count: 0,
            spare_batches: Vec::new(),
            panic: None,
            is_thread_waiting: false,
        };
        Self { encoder, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns the next batch, or `None` at the end. A task of `scope` prepares the
    /// following ones.
    pub(crate) fn next<'s>(&'s self, scope: &Scope<'s>) -> Option<MergedBatch>
    where
        'l: 's,
    {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.take() {
                let is_paused = matches!(state.reader, ReaderState::Paused(_));
                // Waking a thread is slow, so it should have several batches to prepare.
                let should_wake_thread =
                    is_paused && state.batches.len() < MAX_READY - 1;
                drop(state);
                if should_wake_thread && rayon::current_num_threads() > 1 {
                    scope.spawn(|_| self.fill_ahead());
                }
                return Some(batch);
            }
            if let Some(panic) = state.panic.take() {
                drop(state);
                panic::resume_unwind(panic);
            } else if let Some(merge) = state.take_merge() {
                drop(state);
                state = self.fill(merge);
            } else if state.is_awaited() {
                drop(state);
                let has_worked = rayon::yield_now() == Some(Yield::Executed);
                state = self.lock();
                if !has_worked && state.is_awaited() {
                    state.is_thread_waiting = true;
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            } else if !state.is_first_ready() {
                return None;
            }
        }
    }

    /// Returns a written batch for reuse.
    pub(crate) fn recycle(&self, batch: MergedBatch) {
        self.lock().spare_batches.push(batch);
    }

    /// Prepares batches until enough are ready, unless another thread does.
    fn fill_ahead(&self) {
        let mut state = self.lock();
        while let Some(merge) = state.take_merge() {
            drop(state);
            state = self.fill(merge);
        }
    }

    /// Finds and encodes the next batch.
    fn fill(&self, mut merge: Box<Merge<'l>>) -> MutexGuard<'_, PipelineState<'l>> {
        let mut batch = self.lock().spare_batches.pop().unwrap_or_default();
        let bytes = if self.encoder.is_some() { ENCODED_BYTES } else { MAX_BYTES };
        let filled =
            panic::catch_unwind(AssertUnwindSafe(|| merge.fill(&mut batch, bytes)));
        let mut state = self.lock();
        state.reader = match filled {
            Ok(()) if !batch.is_last() => ReaderState::Paused(merge),
            _ => ReaderState::Ended,
        };
        let number = state.taken_count + state.batches.len();
        state.batches.push_back(None);
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
            // The batches after a missing one are never taken.
            Err(panic) => state.panic = Some(panic),
            Ok(()) => {
                let index = number - state.taken_count;
                if let Some(slot) = state.batches.get_mut(index) {
                    *slot = Some(batch);
                }
            }
        }
        if mem::take(&mut state.is_thread_waiting) {
            self.changed.notify_one(); // only one thread takes batches
        }
        state
    }

    /// Locks the state, even after a panic in another thread, which is handled
    /// separately.
    fn lock(&self) -> MutexGuard<'_, PipelineState<'l>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'l> PipelineState<'l> {
    /// Removes the first batch if it is ready.
    fn take(&mut self) -> Option<MergedBatch> {
        let first = self.batches.front_mut()?.take()?;
        self.batches.pop_front();
        self.taken_count += 1;
        Some(first)
    }

    /// Takes the merge if no thread is reading and another batch is allowed.
    fn take_merge(&mut self) -> Option<Box<Merge<'l>>> {
        if self.batches.len() >= MAX_READY || self.panic.is_some() {
            return None;
        }
        match mem::replace(&mut self.reader, ReaderState::Busy) {
            ReaderState::Paused(merge) => Some(merge),
            other => {
                self.reader = other;
                None
            }
        }
    }

    /// Returns whether the first batch is ready.
    fn is_first_ready(&self) -> bool {
        matches!(self.batches.front(), Some(Some(_)))
    }

    /// Returns whether a thread is working on the first batch.
    fn is_awaited(&self) -> bool {
        let has_started = match self.batches.front() {
            Some(first) => first.is_none(),
            None => matches!(self.reader, ReaderState::Busy),
        };
        has_started && self.panic.is_none()
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
        testing::mock_log::{MockLog, MockResult},
    };

    /// Creates a part of blocks with one record each. A batch has at most 64 of them.
    fn part(first: i64, blocks: i64, step: i64) -> Vec<MockResult> {
        let block = |number| MockResult::Block(vec![(first + number * step, vec![1])]);
        (0..blocks).map(block).collect()
    }

    /// The times of each batch, the damage up to then, and the error at the end.
    type ReadResult = (Vec<Vec<i64>>, Vec<DamageKind>, Option<ErrorKind>);

    /// Reads to the end or to the first error.
    fn read(log: &MockLog) -> ReadResult {
        let merge = Merge::with_budget(1 << 20, 0, vec![(log, Selection::default())]);
        let batches = BatchPipeline::new(merge, None);
        let (mut times, mut damage) = (Vec::new(), Vec::new());
        let failed = rayon::in_place_scope(|scope| {
            while let Some(mut batch) = batches.next(scope) {
                times.push(batch.records().map(|(_, r)| r.time.as_nanos()).collect());
                damage.extend(
                    batch.take_damage().into_iter().map(|(_, damage)| damage.kind),
                );
                if let Err(err) = batch.take_error() {
                    return Some(err.kind());
                }
                batches.recycle(batch);
            }
            None
        });
        (times, damage, failed)
    }

    #[test]
    fn batches_are_in_order_on_any_number_of_threads() {
        let parts = vec![part(0, 700, 3), part(1, 700, 3), part(2, 700, 3)];
        let log = MockLog::new(parts);
        let expected: Vec<i64> = (0..2100).collect();
        for _ in 0..20 {
            in_pools(|| {
                let (times, damage, failed) = read(&log);
                assert!(times.len() > 2100 / 64, "{}", times.len());
                assert!(times.concat() == expected, "{times:?}");
                assert_eq!((damage.len(), failed), (0, None));
            });
        }
    }

    #[test]
    fn error_comes_after_all_earlier_records() {
        let mut results = part(0, 300, 1);
        results.insert(100, MockResult::Damage);
        let log = MockLog::new(vec![results, vec![MockResult::Error]]);
        in_pools(|| {
            let (times, damage, failed) = read(&log);
            assert!(times.concat() == (0..300).collect::<Vec<_>>(), "{times:?}");
            assert_eq!((damage.len(), failed), (1, Some(ErrorKind::Io)));
        });
    }

    #[test]
    fn panic_is_resumed_in_the_caller() {
        let mut results = part(0, 500, 1);
        results.push(MockResult::Panic);
        let log = MockLog::new(vec![results]);
        in_pools(|| {
            let read = panic::catch_unwind(AssertUnwindSafe(|| read(&log)));
            assert!(read.is_err());
        });
    }

    /// Encodes records as their times. At one time, it fails or panics.
    enum TimeEncoder {
        Fails(i64),
        Panics(i64),
    }

    impl Encoder for TimeEncoder {
        fn encode(
            &self,
            slice_index: usize,
            record: Record<'_>,
            bytes: &mut Vec<u8>,
        ) -> Result<()> {
            let time = record.time.as_nanos();
            match self {
                Self::Fails(failing_time) if *failing_time == time => {
                    return Err(Error::new(ErrorKind::Unsupported, "no such time"));
                }
                Self::Panics(panic_time) if *panic_time == time => panic!("at {time}"),
                Self::Fails(_) | Self::Panics(_) => {}
            }
            assert_eq!((slice_index, record.payload), (0, &[1][..]));
            bytes.extend(time.to_le_bytes());
            Ok(())
        }
    }

    /// Returns the times of three alternating parts of 700 records, as encoded by
    /// `encoder`, up to its error.
    fn encode_times(encoder: TimeEncoder) -> (Vec<i64>, Option<ErrorKind>) {
        let log = MockLog::new((0..3).map(|first| part(first, 700, 3)).collect());
        let merge = Merge::with_budget(1 << 20, 0, vec![(&log, Selection::default())]);
        let batches = BatchPipeline::new(merge, Some(Arc::new(encoder)));
        let mut bytes = Vec::new();
        let failed = rayon::in_place_scope(|scope| {
            while let Some(mut batch) = batches.next(scope) {
                if let Err(err) = batch.take_error() {
                    return Some(err.kind());
                }
                let counted: u64 = batch.counts().map(|(_, count)| count).sum();
                assert_eq!(counted * 8, batch.encoded_records().len() as u64);
                bytes.append(batch.encoded_records());
                batches.recycle(batch);
            }
            None
        });
        let times = bytes.as_chunks().0.iter().map(|time| i64::from_le_bytes(*time));
        (times.collect(), failed)
    }

    #[test]
    fn encoded_records_are_in_the_same_order() {
        let expected: Vec<i64> = (0..2100).collect();
        for _ in 0..20 {
            in_pools(|| {
                let (times, failed) = encode_times(TimeEncoder::Fails(-1));
                assert!(times == expected, "{times:?}");
                assert_eq!(failed, None);
            });
        }
    }

    #[test]
    fn encoding_error_comes_after_earlier_records() {
        in_pools(|| {
            let (times, failed) = encode_times(TimeEncoder::Fails(1_000));
            assert_eq!(failed, Some(ErrorKind::Unsupported));
            let expected: Vec<i64> = (0..times.len() as i64).collect();
            assert!(times == expected && times.len() <= 1_000, "{times:?}");
            let panicked =
                AssertUnwindSafe(|| encode_times(TimeEncoder::Panics(1_000)));
            assert!(panic::catch_unwind(panicked).is_err());
        });
    }

    #[test]
    fn pipeline_stops_if_the_caller_stops() {
        let log = MockLog::new(vec![part(0, 64 * 40, 1)]);
        in_pools(|| {
            let merge =
                Merge::with_budget(1 << 20, 0, vec![(&log, Selection::default())]);
            let batches = BatchPipeline::new(merge, None);
            let first = rayon::in_place_scope(|scope| batches.next(scope));
            assert!(first.is_some_and(|batch| batch.len() > 0));
            assert!(batches.lock().batches.len() <= MAX_READY);
        });
    }
}
