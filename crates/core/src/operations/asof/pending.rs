//! All that the table still needs of what was read.

use crate::{error::Result, operations::asof::topic_rows::Lane};

/// The rows of each topic from which rows `done..limit` of the table will be made.
#[derive(Debug)]
pub(super) struct Pending {
    /// How many rows of the table are made.
    pub(super) done: u32,
    /// Rows of the table from here on are not thought of yet.
    pub(super) limit: u32,
    /// One for each topic.
    pub(super) lanes: Vec<Lane>,
}

impl Pending {
    /// Nothing yet, for rows `done..limit` of the table, of so many `topics`.
    pub(super) fn new(done: u32, limit: u32, topics: usize) -> Self {
        let lanes = std::iter::repeat_with(Lane::default).take(topics).collect();
        Self { done, limit, lanes }
    }

    /// About how many bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    /// Adds what `other` has, for as many rows of the table as both think of.
    pub(super) fn absorb(&mut self, other: Self) {
        self.limit = self.limit.min(other.limit);
        for (lane, other) in self.lanes.iter_mut().zip(other.lanes) {
            lane.absorb(other);
            lane.forget_from(self.limit);
        }
    }

    /// Says that the rows of the table before `done` are made.
    pub(super) fn advance(&mut self, done: u32) -> Result<()> {
        self.done = done;
        self.lanes.iter_mut().try_for_each(|lane| lane.forget_before(done))
    }

    /// Thinks of fewer rows of the table, but of one at least, where it takes more than
    /// `budget` bytes.
    pub(super) fn shrink(&mut self, budget: usize) -> Result<()> {
        if self.bytes() <= budget || self.limit <= self.done {
            return Ok(()); // what holds at the limit is all that is kept
        }
        self.lanes.iter_mut().try_for_each(Lane::compact)?;
        // Half, so that there is room until the next time.
        let budget = budget / 2;
        if self.bytes() <= budget {
            return Ok(());
        }
        let mut costs = Vec::new();
        for lane in &self.lanes {
            let each = lane.bytes() / lane.rows().len().max(1);
            costs.extend(lane.rows().iter().map(|row| (row.row, each)));
        }
        costs.sort_unstable();
        let mut total = 0_usize;
        let over = costs.iter().find(|(_, bytes)| {
            total = total.saturating_add(*bytes);
            total > budget
        });
        let Some((row, _)) = over else { return Ok(()) };
        self.limit = self.limit.min((*row).max(self.done.saturating_add(1)));
        for lane in &mut self.lanes {
            lane.forget_from(self.limit);
            lane.compact()?;
        }
        Ok(())
    }
}
