//! Several logs in one order of time.

use crate::{
    copy::Copied, error::Result, log::Log, manifest::Selection, merge::Merge,
    sink::RecordSink,
};

/// A log that is to be merged with others.
#[derive(Clone)]
pub struct MergeJob<'m> {
    /// The log.
    pub log: &'m dyn Log,
    /// The records of it that are wanted.
    pub selection: Selection,
}

/// So many records are done between two times that this is told.
const TOLD_EVERY: u64 = 4096;

/// Copies what `jobs` want, the first being the first [extract](crate::Extract) of
/// `sink`, in the order of time; of records at one time, those of the first log come
/// first. `progress` is told, as it goes, how many more records are done.
///
/// # Errors
/// Whatever ends the reading or the writing; damage does not.
pub fn merge(
    jobs: &[MergeJob<'_>],
    sink: &mut dyn RecordSink,
    progress: &dyn Fn(u64),
) -> Result<Vec<Copied>> {
    let logs = jobs.iter().map(|job| (job.log, job.selection.clone()));
    let mut merge = Merge::new(logs.collect());
    for (from, job) in jobs.iter().enumerate() {
        sink.beside(from, &**job.log.source())?;
    }
    let mut copied = vec![Copied::default(); jobs.len()];
    let mut done = 0;
    while let Some((from, record)) = merge.next()? {
        sink.write(from, record)?;
        if let Some(copied) = copied.get_mut(from) {
            copied.records += 1;
        }
        done += 1;
        if done == TOLD_EVERY {
            progress(done);
            done = 0;
            take_damage(&mut merge, &mut copied);
        }
    }
    progress(done);
    take_damage(&mut merge, &mut copied);
    for copied in &mut copied {
        copied.damage.sort_by_key(|damage| damage.bytes.start);
    }
    Ok(copied)
}

fn take_damage(merge: &mut Merge<'_>, copied: &mut [Copied]) {
    for (from, damage) in merge.take_damage() {
        if let Some(copied) = copied.get_mut(from) {
            damage.add_to(&mut copied.damage);
        }
    }
}

impl std::fmt::Debug for MergeJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeJob")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
