//! Copying parts verbatim only after they were read without damage, and reporting records
//! that do not match their schemas. These are copied unchanged.

use crate::{
    error::Result,
    model::{
        damage::{Damage, DamageKind},
        manifest::{Part, Selection},
        topic::TopicOrigin,
    },
    operations::{
        copy::{RunningCopy, VerbatimParts},
        read_ahead::ReadAhead,
        trial_decode::TrialDecoder,
    },
    record::{
        block::{Block, TopicSort},
        doubtful_records::DoubtfulRecords,
    },
};

/// The maximum number of bytes of a part that are in memory until it is read completely.
const MAX_BUFFERED_BYTES: usize = 64 << 20;

/// Reads and copies each part of `plan`: those without damage verbatim, if the sink
/// supports it.
pub(super) fn copy(
    copying: &mut RunningCopy<'_>,
    plan: Vec<Part>,
    verbatim_parts: &VerbatimParts,
) -> Result<()> {
    let (log, selection) = (copying.job.log, &copying.job.selection);
    let selected_topics = &selection.topics;
    // Derived records show whether those that they are made of can be decoded.
    let topics = log.manifest().topics().filter(|(id, topic)| {
        selected_topics.contains(*id) || topic.origin == TopicOrigin::Derived
    });
    let read_selection =
        Selection { topics: topics.map(|(id, _)| id).collect(), time: selection.time };
    let sink_copies_parts =
        copying.retime.is_none() && copying.sink.copies_parts(copying.job.slice_index);
    let trial_decoder = TrialDecoder::new(log, None);
    let mut read_ahead = ReadAhead::new(&trial_decoder, plan.clone(), read_selection);
    let mut unused_blocks = vec![Block::default()];
    let mut sort = TopicSort::default();
    for part in plan {
        let mut buffered = BufferedBlocks {
            blocks: Vec::new(),
            bytes: 0,
            can_copy_part: sink_copies_parts && verbatim_parts.is_fully_selected(&part),
        };
        let mut block = unused_blocks.pop().unwrap_or_default();
        let mut has_more = read_ahead.fill_part(&mut block)?;
        let trial_results = trial_decoder.next_part();
        while has_more {
            buffered.can_copy_part &= block.damage().is_empty();
            let mut damage: Vec<Damage> = match trial_results.next(&block).decoded {
                Some(decoded) => decoded?,
                None => trial_decoder.decode(&block, &mut sort)?,
            };
            let is_dropped = copying.job.drops_doubtful
                && !DoubtfulRecords::in_block(&block).is_empty();
            if is_dropped {
                damage.clear();
            }
            for damage in damage {
                let report = &mut copying.report;
                match damage.kind {
                    DamageKind::Undecodable => damage.add_to(&mut report.undecodable),
                    DamageKind::ExtraBytes | DamageKind::TypeMismatch => {
                        damage.add_to(&mut report.unfitting)
                    }
                    _ => {}
                }
            }
            block.retime(|topic, _| selected_topics.contains(topic));
            buffered.bytes += block.bytes().len();
            buffered.blocks.push(block);
            if !buffered.can_copy_part || buffered.bytes > MAX_BUFFERED_BYTES {
                buffered.can_copy_part = false;
                buffered.write(copying, &mut unused_blocks)?;
            }
            block = unused_blocks.pop().unwrap_or_default();
            has_more = read_ahead.fill_part(&mut block)?;
        }
        unused_blocks.push(block);
        if buffered.can_copy_part && copying.copy_part(&part)? {
            unused_blocks.append(&mut buffered.blocks);
            continue;
        }
        buffered.write(copying, &mut unused_blocks)?;
        (copying.job.progress)(part.bytes.end - part.bytes.start);
    }
    Ok(())
}

/// The blocks of a part that were read but not yet written.
struct BufferedBlocks {
    blocks: Vec<Block>,
    bytes: usize,
    /// Whether the part can still be copied verbatim.
    can_copy_part: bool,
}

impl BufferedBlocks {
    /// Writes the records. One of the blocks is kept in `unused_blocks` for reuse.
    fn write(
        &mut self,
        copying: &mut RunningCopy<'_>,
        unused_blocks: &mut Vec<Block>,
    ) -> Result<()> {
        for block in self.blocks.drain(..) {
            copying.write_block(&block)?;
            unused_blocks.push(block);
        }
        unused_blocks.truncate(1);
        self.bytes = 0;
        Ok(())
    }
}
