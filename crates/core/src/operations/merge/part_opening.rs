//! Opening parts: completely, or segment by segment if that would take too much memory.
//!
//! A part from which records were dropped has been read to its end once, so the start
//! times of its blocks are known. It is read a second time, each time only as far as the
//! merge requires.

use std::cmp::Reverse;

use crate::{
    error::Result,
    log::Cursor,
    model::{
        damage::{Damage, DamageKind},
        time::Timestamp,
    },
    operations::merge::{Key, Merge, open_part::Lane},
};

/// A segment takes this fraction (1/16) of the budget.
const SHARE: usize = 16;
/// The maximum number of paused parts. Of more parts, the shortest are read again from
/// their start. The cursor of a part can use a lot of memory, and all parts may overlap.
pub(super) const PAUSED: usize = 16;
/// The reason that is reported if the first records of a part come too late.
const LATE: &str = "the log says that this part begins later than it does, so that its first \
                    records come after later ones";

/// A part that is continued when the merge reaches the start of its rest.
pub(super) struct Paused {
    reader: Box<dyn Cursor>,
    /// Records before this position were returned when the part was open earlier.
    from: Key,
}

/// The start times of the blocks of a part, each with the index of the first record after
/// the block.
type Begins = Vec<(u64, Timestamp)>;

/// The block starts of a part from which records were dropped.
pub(super) enum Known {
    /// The start times of the records in each block and all later ones.
    Begins(Begins),
    /// The start times are useless, because late blocks start early. The records from
    /// this index on are read and dropped as often as necessary.
    Mixed(u64),
}

impl Merge<'_> {
    /// Opens or continues the part at the position `key`.
    pub(super) fn open(&mut self, key: Key) -> Result<()> {
        let (_, rank, first) = key;
        let is_first = self.waiting.as_slice().first() == Some(&key);
        let (log, part) = &self.parts[rank as usize];
        let (log, bytes) = (*log, part.bytes.clone());
        let (mut reader, mut lane) = if is_first {
            self.waiting.next();
            (None, Lane::new(rank, None, self.horizon))
        } else {
            self.again.pop();
            let (reader, lane) = match self.paused.remove(&rank) {
                Some(Paused { reader, from }) => {
                    (reader, Lane::stretch(rank, first, from))
                }
                None => {
                    let (log, selection) = &self.logs[log];
                    let lane = match self.known.get(&rank) {
                        Some(Known::Begins(_)) => Lane::stretch(rank, 0, key),
                        Some(Known::Mixed(first)) => {
                            Lane::new(rank, Some(key), self.horizon).behind(*first)
                        }
                        None => Lane::new(rank, Some(key), self.horizon),
                    };
                    (log.read(part, selection)?, lane)
                }
            };
            (Some(reader), lane)
        };
        self.held += self.counted(&lane);
        let mut begins = Begins::new();
        loop {
            let mut block = self.spare.pop().unwrap_or_default();
            let is_more = match &mut reader {
                Some(reader) => reader.fill(&mut block)?,
                None => self.ahead.fill_part(&mut block)?,
            };
            if !is_more {
                break;
            }
            let damage = block.take_damage();
            let begin = block.entries().iter().map(|entry| entry.time).min();
            let more = lane.add(block);
            if is_first {
                self.damage.extend(damage.into_iter().map(|damage| (log, damage)));
                begins.extend(begin.map(|begin| (lane.read(), begin)));
            }
            if !lane.is_stretch {
                self.held += more;
                if self.held > self.budget {
                    self.narrow(&mut lane);
                }
            } else if self.stretches() + lane.cost() >= self.budget / 2 {
                // If segments start early and end late, or are whole parts, many are open
                // at a time.
                self.known.insert(rank, Known::Mixed(lane.first()));
                lane.is_stretch = false;
                self.held += lane.cost();
                self.narrow(&mut lane);
            } else if lane.cost() >= self.budget / SHARE
                && let Some(begin) = self.next_begin(rank, lane.read())
                && lane.times().start < begin
                && let (Some(reader), Some(from)) = (reader.take(), lane.from())
            {
                self.pause(rank, Paused { reader, from });
                self.again.push(Reverse((begin, rank, lane.read())));
                break;
            }
        }
        lane.finish();
        if is_first && lane.key().is_some_and(|(time, ..)| time < self.reached) {
            let late = Damage::new(DamageKind::Doubtful, bytes);
            self.damage.push((log, late.with_reason(LATE)));
        }
        if is_first && lane.forgotten().is_some() {
            let mut earliest = Timestamp::MAX;
            for (_, begin) in begins.iter_mut().rev() {
                earliest = earliest.min(*begin);
                *begin = earliest;
            }
            self.known.insert(rank, Known::Begins(begins));
        }
        self.seat(lane);
        Ok(())
    }

    /// Keeps the reader of the part `rank`, up to a maximum number of readers.
    fn pause(&mut self, rank: u32, paused: Paused) {
        self.paused.insert(rank, paused);
        if self.paused.len() > PAUSED {
            let length = |rank: u32| {
                let bytes = &self.parts[rank as usize].1.bytes;
                bytes.end - bytes.start
            };
            let ranks = self.paused.keys().copied();
            let shortest = ranks.min_by_key(|rank| (length(*rank), *rank));
            shortest.and_then(|rank| self.paused.remove(&rank));
        }
    }

    /// Returns the memory of the open segments in bytes.
    fn stretches(&self) -> usize {
        let lanes = self.lanes.iter().flatten();
        lanes.filter(|lane| lane.is_stretch).map(Lane::cost).sum()
    }

    /// Returns the start time of the records of the part `rank` from the index `from` on,
    /// if it is known and there are any.
    fn next_begin(&self, rank: u32, from: u64) -> Option<Timestamp> {
        let Some(Known::Begins(begins)) = self.known.get(&rank) else { return None };
        let next = begins.partition_point(|(behind, _)| *behind <= from);
        Some(begins.get(next)?.1)
    }

    /// Adds `open_part` to the open parts.
    fn seat(&mut self, lane: Lane) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        });
        let key = lane.key();
        self.lanes[index] = Some(lane);
        match key {
            Some(key) => self.next.push(Reverse((key, index))),
            None => self.close(index),
        }
    }

    /// Returns the memory that counts towards the budget. Segments have their own limit.
    pub(super) fn counted(&self, lane: &Lane) -> usize {
        if lane.is_stretch { 0 } else { lane.cost() }
    }

    /// Drops the latest records of all open parts and of the one that is being opened, so
    /// that about half of the budget is free.
    fn narrow(&mut self, opening: &mut Lane) {
        let mut costs: Vec<(Key, usize)> = Vec::new();
        let lanes = self.lanes.iter().flatten().chain([&*opening]);
        lanes
            .filter(|lane| !lane.is_stretch)
            .for_each(|lane| costs.extend(lane.costs()));
        costs.sort_unstable();
        let mut sum = 0;
        let mut fits = |(_, cost): &(Key, usize)| {
            sum += cost;
            sum <= self.budget / 2
        };
        let kept = costs.iter().take_while(|cost| fits(cost)).count().max(1);
        if let Some((horizon, _)) = costs.get(kept) {
            self.horizon = Some(*horizon);
        }
        drop(costs);
        self.held = 0;
        let lanes = self.lanes.iter_mut().flatten().chain([opening]);
        for lane in lanes.filter(|lane| !lane.is_stretch) {
            self.held += lane.narrow(self.horizon);
        }
    }
}
