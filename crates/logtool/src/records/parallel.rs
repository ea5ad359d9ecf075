//! Work on numbered parts by several threads, whose results come in the order of the parts.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// The maximum number of results of a part that wait to be received.
const WAITING: usize = 2;

/// The results of all parts, in their order.
///
/// Each thread works on one part at a time. It waits while two results of its part, or as many
/// parts as there are threads, have not been received. So the memory does not depend on the length
/// of the input. The threads end when this is dropped.
///
/// If no thread can be started, e.g. in a web browser, the caller's thread does the work: it
/// computes all results of a part when the first one is requested.
pub(crate) struct OrderedResults<T> {
    parts: Receiver<Receiver<PartEvent<T>>>,
    current: Option<Receiver<PartEvent<T>>>,
    without_threads: Option<SequentialWork<T>>,
}

/// The parts that the caller's thread works on, and the results of the current part.
struct SequentialWork<T> {
    parts: Range<usize>,
    work: Arc<PartWork<T>>,
    results: VecDeque<Result<T>>,
}

type PartWork<T> = dyn Fn(usize, PushResult<'_, T>) -> Result<()> + Send + Sync;

enum PartEvent<T> {
    Result(T),
    /// The part is finished. A part without this step was lost with its thread.
    End,
    Failed(Error),
}

/// Takes the results of a part; returns whether more are wanted.
pub(crate) type PushResult<'p, T> = &'p mut dyn FnMut(T) -> bool;

/// The next part, and where its results are announced.
struct PartQueue<T> {
    next: usize,
    parts: SyncSender<Receiver<PartEvent<T>>>,
}

impl<T: Send + 'static> OrderedResults<T> {
    /// Starts to call `work` with each part from 0 to `count`, on up to `threads` threads.
    pub(crate) fn new(
        count: usize,
        threads: usize,
        work: impl Fn(usize, PushResult<'_, T>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let threads = threads.min(count).max(1);
        let (sender, parts) = sync_channel(threads);
        let queue = Arc::new(Mutex::new(PartQueue { next: 0, parts: sender }));
        let work: Arc<PartWork<T>> = Arc::new(work);
        let mut started = 0;
        for _ in 0..threads {
            let (queue, work) = (Arc::clone(&queue), Arc::clone(&work));
            let thread = thread::Builder::new().spawn(move || {
                while let Some((part, results)) = next_part(&queue, count) {
                    let mut push =
                        |result| results.send(PartEvent::Result(result)).is_ok();
                    let end = match work(part, &mut push) {
                        Ok(()) => PartEvent::End,
                        Err(error) => PartEvent::Failed(error),
                    };
                    // If this fails, the receiver was dropped.
                    let _ = results.send(end);
                }
            });
            started += usize::from(thread.is_ok());
        }
        let without_threads = (started == 0).then(|| SequentialWork::new(count, work));
        Self { parts, current: None, without_threads }
    }
}

impl<T> SequentialWork<T> {
    fn new(count: usize, work: Arc<PartWork<T>>) -> Self {
        Self { parts: 0..count, work, results: VecDeque::new() }
    }

    fn next(&mut self) -> Option<Result<T>> {
        while self.results.is_empty() {
            let part = self.parts.next()?;
            let results = &mut self.results;
            let end = (self.work)(part, &mut |result| {
                results.push_back(Ok(result));
                true
            });
            results.extend(end.err().map(Err));
        }
        self.results.pop_front()
    }
}

/// Returns the next part and the channel for its results, or `None` if there are no more parts or
/// the receiver was dropped.
fn next_part<T>(
    queue: &Mutex<PartQueue<T>>,
    count: usize,
) -> Option<(usize, SyncSender<PartEvent<T>>)> {
    let mut queue = queue.lock();
    if queue.next == count {
        return None;
    }
    let (sender, results) = sync_channel(WAITING);
    // Under the lock, so that parts are announced in their order.
    queue.parts.send(results).ok()?;
    queue.next += 1;
    Some((queue.next - 1, sender))
}

impl<T> Iterator for OrderedResults<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if let Some(sequential) = &mut self.without_threads {
            return sequential.next();
        }
        loop {
            let Some(current) = &self.current else {
                self.current = Some(self.parts.recv().ok()?);
                continue;
            };
            match current.recv() {
                Ok(PartEvent::Result(result)) => return Some(Ok(result)),
                Ok(PartEvent::End) => self.current = None,
                Ok(PartEvent::Failed(error)) => {
                    self.current = None;
                    return Some(Err(error));
                }
                Err(_) => {
                    self.current = None;
                    let message = "a thread ended before its part of the log was read";
                    return Some(Err(Error::other(message)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_order_without_threads() {
        let work = |part: usize, push: PushResult<'_, usize>| {
            let _ = push(part) && push(part * 10);
            if part == 2 { Err(Error::other("broken")) } else { Ok(()) }
        };
        let mut sequential = SequentialWork::new(4, Arc::new(work));
        let results = std::iter::from_fn(|| sequential.next());
        let results: Vec<Option<usize>> = results.map(|result| result.ok()).collect();
        let expected = [0, 0, 1, 10, 2, 20].map(Some);
        assert_eq!(results[..6], expected);
        assert_eq!(results[6..], [None, Some(3), Some(30)]);
    }

    fn squares(count: usize, threads: usize) -> Vec<usize> {
        let work = |part: usize, push: PushResult<'_, usize>| {
            (0..part).take_while(|_| push(part * part)).for_each(drop);
            Ok(())
        };
        OrderedResults::new(count, threads, work).map(Result::unwrap).collect()
    }

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        let want: Vec<usize> =
            (0..100).flat_map(|part| vec![part * part; part]).collect();
        for threads in [1, 2, 7] {
            assert_eq!(squares(100, threads), want, "{threads} threads");
        }
        assert_eq!(squares(0, 2), [0; 0]);
    }

    #[test]
    fn errors_and_panics_are_results_and_later_parts_follow() {
        let work = |part: usize, push: PushResult<'_, usize>| match part {
            1 => Err(Error::other("broken")),
            2 => panic!("a test of panics"),
            part => {
                push(part);
                Ok(())
            }
        };
        let texts: Vec<String> = OrderedResults::new(5, 3, work)
            .map(|result| {
                result.map_or_else(|error| error.to_string(), |n| n.to_string())
            })
            .collect();
        let lost = "a thread ended before its part of the log was read";
        assert_eq!(texts, ["0", "broken", lost, "3", "4"]);
    }

    #[test]
    fn parts_that_are_not_received_are_not_started() {
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let ordered = OrderedResults::new(1_000, 2, move |part, push| {
            count.fetch_add(1, Ordering::SeqCst);
            push(part);
            Ok(())
        });
        assert_eq!(ordered.take(3).map(Result::unwrap).sum::<usize>(), 3);
        // Three are received, two wait, two are announced, and two are being worked on.
        assert!(started.load(Ordering::SeqCst) <= 9);
    }
}
