//! Several logs in one order of time.

use std::mem;

use crate::{
    copy::Copied,
    error::Result,
    log::Log,
    manifest::Selection,
    merge::{Batch, Merge},
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
    let (mut batch, mut next) = (Batch::default(), Batch::default());
    merge.fill(&mut batch);
    loop {
        let write = || write(&batch, sink, &mut copied);
        let fill = || match batch.has_failed() {
            true => next = Batch::default(),
            false => merge.fill(&mut next),
        };
        rayon::join(write, fill).0?;
        progress(batch.len() as u64);
        take_damage(&mut merge, &mut copied);
        batch.failed()?;
        if next.len() == 0 {
            break next.failed()?;
        }
        mem::swap(&mut batch, &mut next);
    }
    for copied in &mut copied {
        copied.damage.sort_by_key(|damage| damage.bytes.start);
    }
    Ok(copied)
}

/// Writes the records of `batch`.
fn write(
    batch: &Batch,
    sink: &mut dyn RecordSink,
    copied: &mut [Copied],
) -> Result<()> {
    for (from, record) in batch.records() {
        sink.write(from, record)?;
        if let Some(copied) = copied.get_mut(from) {
            copied.records += 1;
        }
    }
    Ok(())
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
