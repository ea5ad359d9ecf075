//! Copying parts verbatim only after they were read without damage, and reporting records
//! that do not match their schemas. These are copied unchanged.

use crate::{
    error::Result,
    model::{
        damage::{Damage, DamageKind},
        manifest::Part,
    },
    operations::{
        copy::{RunningCopy, VerbatimParts},
        read_ahead::ReadAhead,
        trial_decode::TrialDecoder,
    },
    record::block::{Block, TopicSort},
};

/// The maximum number of bytes of a part that are kept until it is read completely.
const KEPT: usize = 64 << 20;

/// Reads and copies each part of `plan`: those without damage verbatim, if the sink
/// supports it.
pub(super) fn copy(
    copying: &mut RunningCopy<'_>,
    plan: Vec<Part>,
    verbatim_parts: &VerbatimParts,
) -> Result<()> {
    let (log, selection) = (copying.job.log, copying.job.selection.clone());
    let may_take =
        copying.retime.is_none() && copying.sink.copies_parts(copying.job.slice_index);
    let trials = TrialDecoder::new(log, None);
    let mut read_ahead = ReadAhead::new(&trials, plan.clone(), selection.clone());
    let mut spare = vec![Block::default()];
    let mut sort = TopicSort::default();
    for part in plan {
        let is_whole = may_take && verbatim_parts.is_fully_selected(&part);
        let mut is_held =
            BufferedBlocks { blocks: Vec::new(), bytes: 0, is_sound: is_whole };
        let mut block = spare.pop().unwrap_or_default();
        let mut has_more = read_ahead.fill_part(&mut block)?;
        let outcomes = trials.next_part();
        while has_more {
            is_held.is_sound &= block.damage().is_empty();
            let mut damage: Vec<Damage> = match outcomes.next(&block).decoded {
                Some(decoded) => decoded?,
                None => trials.decode(&block, &mut sort)?,
            };
            damage.retain(|damage| damage.kind == DamageKind::Undecodable);
            for damage in damage {
                damage.add_to(&mut copying.copied.undecodable);
            }
            is_held.bytes += block.bytes().len();
            is_held.blocks.push(block);
            if !is_held.is_sound || is_held.bytes > KEPT {
                is_held.is_sound = false;
                is_held.write(copying, &mut spare)?;
            }
            block = spare.pop().unwrap_or_default();
            has_more = read_ahead.fill_part(&mut block)?;
        }
        spare.push(block);
        if is_held.is_sound && copying.copy_part(&part)? {
            spare.append(&mut is_held.blocks);
            continue;
        }
        is_held.write(copying, &mut spare)?;
        (copying.job.progress)(part.bytes.end - part.bytes.start);
    }
    Ok(())
}

/// The blocks of a part that were read but not yet written.
struct BufferedBlocks {
    blocks: Vec<Block>,
    bytes: usize,
    /// Whether the part can still be copied verbatim.
    is_sound: bool,
}

impl BufferedBlocks {
    /// Writes the records.
    fn write(
        &mut self,
        copying: &mut RunningCopy<'_>,
        spare: &mut Vec<Block>,
    ) -> Result<()> {
        for block in self.blocks.drain(..) {
            copying.block(&block)?;
            spare.push(block);
        }
        spare.truncate(1);
        self.bytes = 0;
        Ok(())
    }
}
