//! The memory that tables may use to buffer rows.

use logtool_core::{Topic, TopicOrigin};

use crate::row_buffers::memory_size::bits_per_row;

/// How many bytes of rows each table of a log may buffer before it writes them.
///
/// A log can have hundreds of tables. Large blocks make files smaller, but the memory of all
/// buffers together must be limited. The budget is fixed before the first row arrives, so that the
/// contents of a file depend only on its rows, and not on the rows of other tables.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget(usize);

/// The budget of all tables together. Usually less is used, because tables do not all reach their
/// maximum at the same time.
const MAX_TOTAL_BYTES: u64 = 48 << 20;
/// The maximum budget of one table.
const MAX_TABLE_BYTES: u64 = 16 << 20;

impl Default for MemoryBudget {
    /// Returns the budget of a single table.
    fn default() -> Self {
        Self(MAX_TABLE_BYTES as usize)
    }
}

impl MemoryBudget {
    /// Returns the budget of each table of `topics`. The part of an equal share that a short table
    /// does not need is divided among the longer tables.
    pub fn for_topics<'t>(topics: impl IntoIterator<Item = &'t Topic>) -> Self {
        let mut table_bytes: Vec<u64> =
            topics.into_iter().map(estimated_bytes).collect();
        table_bytes.sort_unstable();
        let mut remaining_bytes = MAX_TOTAL_BYTES;
        let mut remaining_tables = table_bytes.len() as u64;
        for bytes in table_bytes {
            let share = remaining_bytes / remaining_tables;
            if bytes > share {
                return Self(share.min(MAX_TABLE_BYTES) as usize);
            }
            remaining_bytes -= bytes;
            remaining_tables -= 1;
        }
        Self::default()
    }

    /// Returns the budget in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

/// Estimates the bytes of the table of `topic`; `u64::MAX` if its number of rows is unknown.
fn estimated_bytes(topic: &Topic) -> u64 {
    let (Some(records), TopicOrigin::Logged) = (topic.records, topic.origin) else {
        return u64::MAX;
    };
    let (mut row_bits, mut is_exact) = (0_u64, true);
    for field in topic.schema.fields() {
        let (field_bits, is_field_exact) = bits_per_row(field.data_type());
        row_bits = row_bits.saturating_add(field_bits);
        is_exact &= is_field_exact;
    }
    // Strings and lists of variable length are not longer than the records of the topic.
    let variable_bytes =
        if is_exact || records == 0 { 0 } else { topic.bytes.unwrap_or(u64::MAX) };
    (row_bits / 8).saturating_mul(records).saturating_add(variable_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    /// A topic of rows of 8 bytes.
    fn topic(records: Option<u64>) -> Topic {
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
        Topic { records, ..Topic::new("t", Arc::new(schema)) }
    }

    fn budget(topics: &[Topic]) -> usize {
        MemoryBudget::for_topics(topics).bytes()
    }

    #[test]
    fn budget_not_needed_by_short_tables_is_assigned_to_long_tables() {
        const MIB: u64 = 1 << 20;
        let long = || topic(None);
        assert_eq!(budget(&[]), 16 << 20);
        assert_eq!(budget(&[long()]), 16 << 20, "no table holds more");
        assert_eq!(budget(&[long(), long(), long(), long()]), 12 << 20);
        let short = topic(Some(MIB)); // 8 MiB
        assert_eq!(budget(&[long(), short.clone(), long(), long(), long()]), 10 << 20);
        let shorter = topic(Some(MIB / 2)); // 4 MiB
        assert_eq!(
            budget(&[long(), shorter.clone(), long(), long(), long()]),
            11 << 20
        );
        assert_eq!(budget(&[shorter, short]), 16 << 20, "all tables fit");
        let many: Vec<Topic> = (0..1_000).map(|_| long()).collect();
        assert_eq!(budget(&many), (48 << 20) / 1_000);
    }

    #[test]
    fn table_with_unknown_number_of_rows_counts_as_long() {
        let derived = Topic { origin: TopicOrigin::Derived, ..topic(Some(1)) };
        let schema = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let strings = Topic { schema: Arc::new(schema), ..topic(Some(1)) };
        let strings_of_known_size = Topic { bytes: Some(1_000), ..strings.clone() };
        assert_eq!(estimated_bytes(&derived), u64::MAX);
        assert_eq!(estimated_bytes(&strings), u64::MAX);
        assert_eq!(estimated_bytes(&strings_of_known_size), 1_004);
    }
}
