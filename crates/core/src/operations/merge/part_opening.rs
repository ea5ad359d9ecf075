//! Opening parts: all of one, or stretch by stretch where that is too much.
//!
//! A part of which something was forgotten has been read to its end: of each of its blocks it
//! is known then when it begins. So it is read once more, and no further than the order of time
//! needs it.

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

/// This share of the budget is read at a time of a part of which something was forgotten.
const SHARE: usize = 16;
/// So many parts are paused at a time. Of more, the shortest are read again from their start:
/// what a reader of one keeps may be long, and all parts may overlap.
pub(super) const PAUSED: usize = 16;
/// What is told of a part of which the first records came too late.
const LATE: &str = "the log says that this part begins later than it does, so that its first \
                    records come after later ones";

/// A part that is read on when the order of time comes to where the rest begins.
pub(super) struct Paused {
    reader: Box<dyn Cursor>,
    /// What comes before was given out when the part was open before.
    from: Key,
}

/// When the blocks of a part begin, each with the number of the record behind it.
type Begins = Vec<(u64, Timestamp)>;

/// What is known of a part of which something was forgotten.
pub(super) enum Known {
    /// When what is in its blocks or behind them begins.
    Begins(Begins),
    /// That this is of no use, as late blocks begin early: the records from this number on are
    /// read, and forgotten, as often as it takes.
    Mixed(u64),
}

impl Merge<'_> {
    /// Opens the part that begins with `key`, or goes on with it.
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
                // Of stretches that begin early and end late, or are whole parts, many are open
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

    /// Keeps the reader of part `rank`, and no more than a few.
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

    /// How much memory the stretches take that are open.
    fn stretches(&self) -> usize {
        let lanes = self.lanes.iter().flatten();
        lanes.filter(|lane| lane.is_stretch).map(Lane::cost).sum()
    }

    /// When the records of part `rank` from number `from` on begin, if that is known, and there
    /// are some.
    fn next_begin(&self, rank: u32, from: u64) -> Option<Timestamp> {
        let Some(Known::Begins(begins)) = self.known.get(&rank) else { return None };
        let next = begins.partition_point(|(behind, _)| *behind <= from);
        Some(begins.get(next)?.1)
    }

    /// Gives `lane` a place among the others.
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

    /// How much of the budget a lane takes: a stretch has its own bounds.
    pub(super) fn counted(&self, lane: &Lane) -> usize {
        if lane.is_stretch { 0 } else { lane.cost() }
    }

    /// Forgets the latest records of all lanes and of the one that is being opened, so
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
