//! Concurrent requests to an object store.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use parking_lot::Mutex;

use crate::error::{Context as _, Error, Result};

/// The number of threads.
const THREADS: usize = 8;

/// Calls `work` with each of `items`, on several threads. After an error, no further call is
/// started.
pub(super) fn for_each<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    if let [item] = items {
        return work(item);
    }
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None::<Error>));
    let worker = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failure.lock().is_some() {
                return;
            }
            if let Err(err) = work(item) {
                failure.lock().get_or_insert(err);
                return;
            }
        }
    };
    thread::scope(|scope| -> Result<()> {
        for _ in 0..THREADS.min(items.len()) {
            let thread = thread::Builder::new().name("store".to_owned());
            let started = thread.spawn_scoped(scope, worker);
            started.context("the threads cannot be started")?;
        }
        Ok(())
    })?;
    failure.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU64, time::Duration};

    use super::*;

    #[test]
    fn for_each_calls_once_with_each_item() {
        let items: Vec<u64> = (0..100).collect();
        let sum = AtomicU64::new(0);
        let add = |item: &u64| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        };
        for_each(&items, add).unwrap();
        for_each(&[], add).unwrap();
        for_each(&[50], add).unwrap();
        assert_eq!(sum.into_inner(), 99 * 50 + 50);
    }

    #[test]
    fn for_each_returns_the_error_and_stops() {
        let count = AtomicUsize::new(0);
        let work = |item: &usize| {
            count.fetch_add(1, Ordering::Relaxed);
            // Longer than a thread needs to notice the error of another thread.
            thread::sleep(Duration::from_millis(1));
            if *item == 3 { Err(Error::other(format!("no {item}"))) } else { Ok(()) }
        };
        let items: Vec<usize> = (0..10_000).collect();
        assert_eq!(for_each(&items, work).unwrap_err().to_string(), "no 3");
        assert!(count.into_inner() < items.len());
    }
}
