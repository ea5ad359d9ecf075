//! The decoded rows that the table still needs.

use crate::{error::Result, operations::asof::topic_rows::Lane};

/// The rows of each topic from which the rows `done..limit` of the table will be built.
#[derive(Debug)]
pub(super) struct Pending {
    /// The number of finished rows of the table.
    pub(super) done: u32,
    /// The end of the rows of the table that are currently considered.
    pub(super) limit: u32,
    /// The rows of each topic.
    pub(super) lanes: Vec<Lane>,
}

impl Pending {
    /// Creates an empty state for the rows `done..limit` of the table and this number of
    /// `topics`.
    pub(super) fn new(done: u32, limit: u32, topics: usize) -> Self {
        let lanes = std::iter::repeat_with(Lane::default).take(topics).collect();
        Self { done, limit, lanes }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    /// Adds the rows of `other`, up to the lower limit of both.
    pub(super) fn absorb(&mut self, other: Self) {
        self.limit = self.limit.min(other.limit);
        for (lane, other) in self.lanes.iter_mut().zip(other.lanes) {
            lane.absorb(other);
            lane.forget_from(self.limit);
        }
    }

    /// Marks the rows of the table before `done` as finished.
    pub(super) fn advance(&mut self, done: u32) -> Result<()> {
        self.done = done;
        self.lanes.iter_mut().try_for_each(|lane| lane.forget_before(done))
    }

    /// Lowers the limit until at most `budget` bytes are used, but not below one row.
    pub(super) fn shrink(&mut self, budget: usize) -> Result<()> {
        if self.bytes() <= budget || self.limit <= self.done {
            return Ok(()); // only the values that hold at the limit are left
        }
        self.lanes.iter_mut().try_for_each(Lane::compact)?;
        // Only half of it, so that this is not called again soon.
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
