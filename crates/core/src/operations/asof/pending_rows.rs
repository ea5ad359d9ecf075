//! The decoded rows that the table still needs.

use crate::{error::Result, operations::asof::topic_rows::TopicRows};

/// The rows of each topic from which the rows `rows_done..limit` of the table will be built.
#[derive(Debug)]
pub(super) struct PendingRows {
    /// The number of finished rows of the table.
    pub(super) rows_done: u32,
    /// The end of the rows of the table that are currently being built.
    pub(super) limit: u32,
    /// The rows of each topic.
    pub(super) topic_rows: Vec<TopicRows>,
}

impl PendingRows {
    /// Creates an empty state for the rows `rows_done..limit` of the table and `topic_count`
    /// topics.
    pub(super) fn new(rows_done: u32, limit: u32, topic_count: usize) -> Self {
        let topic_rows =
            std::iter::repeat_with(TopicRows::default).take(topic_count).collect();
        Self { rows_done, limit, topic_rows }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.topic_rows.iter().map(TopicRows::bytes).sum()
    }

    /// Adds the rows of `other`, up to the lower limit of both.
    pub(super) fn merge_with(&mut self, other: Self) {
        self.limit = self.limit.min(other.limit);
        for (rows_of_topic, other_rows) in
            self.topic_rows.iter_mut().zip(other.topic_rows)
        {
            rows_of_topic.merge_with(other_rows);
            rows_of_topic.drop_from(self.limit);
        }
    }

    /// Marks the rows of the table before `rows_done` as finished.
    pub(super) fn advance(&mut self, rows_done: u32) -> Result<()> {
        self.rows_done = rows_done;
        self.topic_rows
            .iter_mut()
            .try_for_each(|rows_of_topic| rows_of_topic.drop_before(rows_done))
    }

    /// Lowers the limit until at most `budget` bytes are used, but not below one row.
    pub(super) fn shrink(&mut self, budget: usize) -> Result<()> {
        if self.bytes() <= budget || self.limit <= self.rows_done {
            return Ok(()); // the remaining values are carried into the row at the limit
        }
        self.topic_rows.iter_mut().try_for_each(TopicRows::compact)?;
        // Only half of the budget, so that this is not necessary again soon.
        let target_bytes = budget / 2;
        if self.bytes() <= target_bytes {
            return Ok(());
        }
        let mut table_row_bytes = Vec::new();
        for rows_of_topic in &self.topic_rows {
            let mean_bytes = rows_of_topic.bytes() / rows_of_topic.rows().len().max(1);
            let rows = rows_of_topic.rows().iter();
            table_row_bytes.extend(rows.map(|row| (row.table_row, mean_bytes)));
        }
        table_row_bytes.sort_unstable();
        let mut total_bytes = 0_usize;
        let first_above_target = table_row_bytes.iter().find(|(_, bytes)| {
            total_bytes = total_bytes.saturating_add(*bytes);
            total_bytes > target_bytes
        });
        let Some((table_row, _)) = first_above_target else { return Ok(()) };
        let next_row = self.rows_done.saturating_add(1);
        self.limit = self.limit.min((*table_row).max(next_row));
        for rows_of_topic in &mut self.topic_rows {
            rows_of_topic.drop_from(self.limit);
            rows_of_topic.compact()?;
        }
        Ok(())
    }
}
