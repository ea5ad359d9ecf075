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
    known: &VerbatimParts,
) -> Result<()> {
    let (log, selection) = (copying.job.log, copying.job.selection.clone());
    let may_take =
        copying.retime.is_none() && copying.sink.copies_parts(copying.job.from);
    let trials = TrialDecoder::new(log, None);
    let mut read_ahead = ReadAhead::new(&trials, plan.clone(), selection.clone());
    let mut spare = vec![Block::default()];
    let mut sort = TopicSort::default();
    for part in plan {
        let is_whole = may_take && known.is_fully_selected(&part);
        let mut held =
            BufferedBlocks { blocks: Vec::new(), bytes: 0, is_sound: is_whole };
        let mut block = spare.pop().unwrap_or_default();
        let mut more = read_ahead.fill_part(&mut block)?;
        let outcomes = trials.next_part();
        while more {
            held.is_sound &= block.damage().is_empty();
            let mut damage: Vec<Damage> = match outcomes.next(&block).decoded {
                Some(decoded) => decoded?,
                None => trials.decode(&block, &mut sort)?,
            };
            damage.retain(|damage| damage.kind == DamageKind::Undecodable);
            for damage in damage {
                damage.add_to(&mut copying.copied.undecodable);
            }
            held.bytes += block.bytes().len();
            held.blocks.push(block);
            if !held.is_sound || held.bytes > KEPT {
                held.is_sound = false;
                held.write(copying, &mut spare)?;
            }
            block = spare.pop().unwrap_or_default();
            more = read_ahead.fill_part(&mut block)?;
        }
        spare.push(block);
        if held.is_sound && copying.copy_part(&part)? {
            spare.append(&mut held.blocks);
            continue;
        }
        held.write(copying, &mut spare)?;
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
