//! Several things at once that mostly wait.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use logtool::{Error, Result, error::Context as _};

/// How many are under way at once.
const LANES: usize = 8;

/// Does `work` with each of `items`. After the first failure nothing new is begun.
pub(super) fn each<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    if let [item] = items {
        return work(item);
    }
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None::<Error>));
    let lock = || failure.lock().unwrap_or_else(PoisonError::into_inner);
    let lane = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if lock().is_some() {
                return;
            }
            if let Err(err) = work(item) {
                lock().get_or_insert(err);
                return;
            }
        }
    };
    thread::scope(|scope| -> Result<()> {
        for _ in 0..LANES.min(items.len()) {
            let thread = thread::Builder::new().name("store".to_owned());
            thread
                .spawn_scoped(scope, lane)
                .context("the threads cannot be started")?;
        }
        Ok(())
    })?;
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use logtool::Error;

    use super::*;

    #[test]
    fn each_item_is_done_once() {
        let items: Vec<u64> = (0..100).collect();
        let sum = AtomicU64::new(0);
        let add = |item: &u64| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        };
        each(&items, add).unwrap();
        each(&[], add).unwrap();
        each(&[50], add).unwrap();
        assert_eq!(sum.into_inner(), 99 * 50 + 50);
    }

    #[test]
    fn a_failure_is_told_and_ends_it() {
        let done = AtomicUsize::new(0);
        let work = |item: &usize| {
            done.fetch_add(1, Ordering::Relaxed);
            // Longer than it takes to see that another has failed.
            thread::sleep(std::time::Duration::from_millis(1));
            if *item == 3 { Err(Error::failed(format!("no {item}"))) } else { Ok(()) }
        };
        let items: Vec<usize> = (0..10_000).collect();
        assert_eq!(each(&items, work).unwrap_err().to_string(), "no 3");
        assert!(done.into_inner() < items.len());
    }
}
