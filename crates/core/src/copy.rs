//! From one log into another: records as they are, whole parts where that can be.

mod held;
mod merge;
mod restamp;
#[cfg(test)]
mod tests;
mod verify;

use crate::{
    ahead::ReadAhead,
    block::{Block, Record},
    damage::Damage,
    error::Result,
    log::Log,
    manifest::{Manifest, Part, Selection},
    sink::RecordSink,
    time::{TimeRange, Timestamp},
    topic::{TopicId, TopicOrigin, TopicSet},
};

pub use self::{
    held::{Held, held},
    merge::{MergeJob, merge},
    restamp::Restamp,
};

/// What to copy of a log.
#[derive(Clone)]
pub struct CopyJob<'c> {
    /// The log.
    pub log: &'c dyn Log,
    /// The index of the [extract](crate::Extract) of the sink that it is.
    pub from: usize,
    /// The records of it that are wanted.
    pub selection: Selection,
    /// Whether a part is read before it is copied as the bytes that it is, and taken
    /// apart if something in it is damaged. Otherwise only parts are that are known to
    /// be damaged.
    pub verify: bool,
    /// Told, as it goes, how many more bytes of the log are done.
    pub progress: &'c dyn Fn(u64),
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many records.
    pub records: u64,
    /// How many of those in parts that were taken as the bytes that they are.
    pub in_parts: u64,
    /// Everything that was found damaged, in the order of the file.
    pub damage: Vec<Damage>,
    /// The records that were copied as they are though they do not fit their schema, if
    /// the job was to [verify](CopyJob::verify).
    pub undecodable: Vec<Damage>,
}

/// Gives records other times than they have.
pub trait Retime {
    /// Puts the times of the records of `block` into `times`, in the block's order.
    ///
    /// # Errors
    /// Whatever ends the copying.
    fn retime(&mut self, block: &Block, times: &mut Vec<Timestamp>) -> Result<()>;
}

/// Copies what `job` wants into `sink`, in the order of the file; with `retime`, at
/// other times.
///
/// # Errors
/// Whatever ends the reading or the writing; damage does not.
pub fn copy<'c>(
    job: &'c CopyJob<'c>,
    retime: Option<&'c mut (dyn Retime + 'c)>,
    sink: &'c mut (dyn RecordSink + 'c),
) -> Result<Copied> {
    let mut copying =
        Copying { job, retime, times: Vec::new(), sink, copied: Copied::default() };
    let manifest = job.log.manifest();
    copying.sink.beside(job.from, &**job.log.source())?;
    let plan = manifest.plan(&job.selection, 0);
    match job.verify {
        true => verify::copy(&mut copying, plan)?,
        false => copying.parts(plan, &Known::new(manifest))?,
    }
    let mut copied = copying.copied;
    copied.damage.sort_by_key(|damage| damage.bytes.start);
    copied.undecodable.sort_by_key(|damage| damage.bytes.start);
    Ok(copied)
}

/// A copying that is under way.
struct Copying<'c> {
    job: &'c CopyJob<'c>,
    retime: Option<&'c mut (dyn Retime + 'c)>,
    times: Vec<Timestamp>,
    sink: &'c mut (dyn RecordSink + 'c),
    copied: Copied,
}

impl Copying<'_> {
    /// Copies `plan`: whole parts as they are, if the sink takes them, and records.
    fn parts(&mut self, plan: Vec<Part>, known: &Known<'_>) -> Result<()> {
        let is_whole = |part: &Part| {
            self.retime.is_none()
                && is_wholly_wanted(known.manifest, part, &self.job.selection)
                && !known.is_damaged(part)
        };
        let plan: Vec<(Part, bool)> = plan
            .into_iter()
            .map(|part| {
                let is_whole = is_whole(&part);
                (part, is_whole)
            })
            .collect();
        let mut rest = plan.as_slice();
        // Whether the sink takes whole parts: if not the first, then none.
        let mut takes_parts = None;
        while let Some((part, is_whole)) = rest.first() {
            if *is_whole && takes_parts != Some(false) {
                let taken = self.take(part)?;
                takes_parts.get_or_insert(taken);
                if taken {
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
            }
            // Those that have to be read, up to the next that may be taken.
            let more = rest.iter().skip(1);
            let more = more
                .take_while(|(_, is_whole)| !is_whole || takes_parts == Some(false));
            let (read, later) = rest.split_at(1 + more.count());
            self.read(read.iter().map(|(part, _)| part.clone()).collect())?;
            rest = later;
        }
        Ok(())
    }

    /// Lets the sink take `part` as it is, if it does.
    fn take(&mut self, part: &Part) -> Result<bool> {
        let source = self.job.log.source();
        let Some(records) = self.sink.copy(self.job.from, part, &**source)? else {
            return Ok(false);
        };
        self.copied.records += records;
        self.copied.in_parts += records;
        source.release(part.bytes.clone());
        (self.job.progress)(part.bytes.end - part.bytes.start);
        Ok(true)
    }

    /// Copies the records of `plan`.
    fn read(&mut self, plan: Vec<Part>) -> Result<()> {
        let lengths: Vec<u64> =
            plan.iter().map(|part| part.bytes.end - part.bytes.start).collect();
        let (log, selection) = (self.job.log, &self.job.selection);
        let is_whole = |part: &Part| is_wholly_wanted(log.manifest(), part, selection);
        // Where little is wanted, there is little to encode.
        let encodes = self.retime.is_none() && plan.iter().all(is_whole);
        let encoder = encodes.then(|| self.sink.encoder()).flatten();
        let encodes = encoder.is_some();
        let ahead = ReadAhead::new(log, plan, selection.clone());
        let mut ahead = match encoder {
            Some(encoder) => ahead.encoding(encoder, self.job.from),
            None => ahead.gathering(),
        };
        let mut block = Block::default();
        for length in lengths {
            while ahead.fill_part(&mut block)? {
                match encodes {
                    true => self.encoded(&mut block)?,
                    false => self.block(&block)?,
                }
            }
            (self.job.progress)(length);
        }
        Ok(())
    }

    /// Copies the records of `block`, which are encoded.
    fn encoded(&mut self, block: &mut Block) -> Result<()> {
        self.copied.damage.extend_from_slice(block.damage());
        self.copied.records += block.len() as u64;
        self.sink.write_encoded(block.encoded())
    }

    /// Copies the records of `block`.
    fn block(&mut self, block: &Block) -> Result<()> {
        self.copied.damage.extend_from_slice(block.damage());
        self.copied.records += block.len() as u64;
        let Some(retime) = &mut self.retime else {
            return block
                .iter()
                .try_for_each(|record| self.sink.write(self.job.from, record));
        };
        self.times.clear();
        retime.retime(block, &mut self.times)?;
        for (record, time) in block.iter().zip(&self.times) {
            self.sink.write(self.job.from, Record { time: *time, ..record })?;
        }
        Ok(())
    }
}

/// What is known of the damage of a log.
struct Known<'m> {
    manifest: &'m Manifest,
}

impl<'m> Known<'m> {
    fn new(manifest: &'m Manifest) -> Self {
        Self { manifest }
    }

    fn is_damaged(&self, part: &Part) -> bool {
        // Usually there is none; the list is in the order of the file, but for the ends.
        self.manifest.damage.iter().any(|damage| {
            damage.bytes.start < part.bytes.end && damage.bytes.end > part.bytes.start
        })
    }
}

/// Whether `selection` wants all records of `part`.
fn is_wholly_wanted(manifest: &Manifest, part: &Part, selection: &Selection) -> bool {
    let TimeRange { start, end } = selection.time;
    let is_in_time =
        start <= part.time.start && (part.time.end <= end || end == Timestamp::MAX);
    is_in_time && is_within(manifest, &part.topics, &selection.topics)
}

/// Whether `wanted` has all of `topics`, but for those that are derived.
fn is_within(manifest: &Manifest, topics: &TopicSet, wanted: &TopicSet) -> bool {
    let is_wanted = |id: TopicId| {
        let topic = manifest.topics.get(id.index());
        wanted.contains(id) || topic.is_some_and(|t| t.origin == TopicOrigin::Derived)
    };
    *wanted == TopicSet::All
        || manifest
            .topics()
            .filter(|(id, _)| topics.contains(*id))
            .all(|t| is_wanted(t.0))
}

impl std::fmt::Debug for CopyJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyJob")
            .field("from", &self.from)
            .field("selection", &self.selection)
            .field("verify", &self.verify)
            .finish_non_exhaustive()
    }
}
