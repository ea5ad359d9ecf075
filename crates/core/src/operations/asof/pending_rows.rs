//! The decoded rows that the table still needs.

use crate::{error::Result, operations::asof::topic_rows::TopicRows};

/// The rows of each topic from which the rows `rows_done..limit` of the table will be built.
#[derive(Debug)]
pub(super) struct PendingRows {
    /// The number of finished rows of the table.
    pub(super) rows_done: u32,
    /// The end of the rows of the table that are currently considered.
    pub(super) limit: u32,
    /// The rows of each topic.
    pub(super) topic_rows: Vec<TopicRows>,
}

impl PendingRows {
    /// Creates an empty state for the rows `rows_done..limit` of the table and this number of
    /// `topics`.
    pub(super) fn new(rows_done: u32, limit: u32, topics: usize) -> Self {
        let topic_rows =
            std::iter::repeat_with(TopicRows::default).take(topics).collect();
        Self { rows_done, limit, topic_rows }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.topic_rows.iter().map(TopicRows::bytes).sum()
    }

    /// Adds the rows of `other`, up to the lower limit of both.
    pub(super) fn merge_with(&mut self, other: Self) {
        self.limit = self.limit.min(other.limit);
        for (rows_of_topic, other) in self.topic_rows.iter_mut().zip(other.topic_rows) {
            rows_of_topic.merge_with(other);
            rows_of_topic.forget_from(self.limit);
        }
    }

    /// Marks the rows of the table before `rows_done` as finished.
    pub(super) fn advance(&mut self, rows_done: u32) -> Result<()> {
        self.rows_done = rows_done;
        self.topic_rows
            .iter_mut()
            .try_for_each(|rows_of_topic| rows_of_topic.forget_before(rows_done))
    }

    /// Lowers the limit until at most `budget` bytes are used, but not below one row.
    pub(super) fn shrink(&mut self, budget: usize) -> Result<()> {
        if self.bytes() <= budget || self.limit <= self.rows_done {
            return Ok(()); // only the values that hold at the limit are left
        }
        self.topic_rows.iter_mut().try_for_each(TopicRows::compact)?;
        // Only half of it, so that this is not called again soon.
        let budget = budget / 2;
        if self.bytes() <= budget {
            return Ok(());
        }
        let mut costs = Vec::new();
        for rows_of_topic in &self.topic_rows {
            let each = rows_of_topic.bytes() / rows_of_topic.rows().len().max(1);
            costs.extend(rows_of_topic.rows().iter().map(|row| (row.row, each)));
        }
        costs.sort_unstable();
        let mut total = 0_usize;
        let over = costs.iter().find(|(_, bytes)| {
            total = total.saturating_add(*bytes);
            total > budget
        });
        let Some((row, _)) = over else { return Ok(()) };
        self.limit = self.limit.min((*row).max(self.rows_done.saturating_add(1)));
        for rows_of_topic in &mut self.topic_rows {
            rows_of_topic.forget_from(self.limit);
            rows_of_topic.compact()?;
        }
        Ok(())
    }
}
