//! Merging several logs in the order of time.

use crate::{
    error::{Error, Result},
    log::Log,
    model::manifest::Selection,
    operations::{
        copy::CopyReport,
        merge::{BatchPipeline, Merge, MergedBatch},
    },
    sink::RecordSink,
};

/// A log to merge with others.
#[derive(Clone)]
pub struct MergeJob<'m> {
    /// The log.
    pub log: &'m dyn Log,
    /// The selected records.
    pub selection: Selection,
}

/// Merges the records of `jobs` in the order of time. The jobs are the
/// [slices](crate::LogSlice) of `sink` in the same order. Records with equal times are in
/// the order of the jobs. `progress` is called with the number of further records that
/// are done.
///
/// # Errors
/// Errors of reading and writing. Damage is not an error.
pub fn merge(
    jobs: &[MergeJob<'_>],
    sink: &mut dyn RecordSink,
    progress: &dyn Fn(u64),
) -> Result<Vec<CopyReport>> {
    let logs = jobs.iter().map(|job| (job.log, job.selection.clone())).collect();
    let merge = Merge::new(logs);
    for (slice_index, job) in jobs.iter().enumerate() {
        sink.copy_attachments(slice_index, &**job.log.source())?;
    }
    let mut reports = vec![CopyReport::default(); jobs.len()];
    let encoder = sink.encoder();
    let is_encoding = encoder.is_some();
    let batches = BatchPipeline::new(merge, encoder);
    rayon::in_place_scope(|scope| {
        while let Some(mut batch) = batches.next(scope) {
            if is_encoding {
                sink.write_encoded(batch.encoded_records())?
            } else {
                write_records(&batch, sink)?
            }
            for (slice_index, count) in batch.counts() {
                if let Some(report) = reports.get_mut(slice_index) {
                    report.records += count;
                }
            }
            progress(batch.len() as u64);
            for (slice_index, damage) in batch.take_damage() {
                if let Some(report) = reports.get_mut(slice_index) {
                    damage.add_to(&mut report.damage);
                }
            }
            batch.take_error()?;
            batches.recycle(batch);
        }
        Ok::<_, Error>(())
    })?;
    for report in &mut reports {
        report.damage.sort_by_key(|damage| damage.bytes.start);
    }
    Ok(reports)
}

/// Writes the records of `batch`.
fn write_records(batch: &MergedBatch, sink: &mut dyn RecordSink) -> Result<()> {
    batch
        .records()
        .try_for_each(|(slice_index, record)| sink.write(slice_index, record))
}

impl std::fmt::Debug for MergeJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeJob")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
