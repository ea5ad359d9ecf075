//! The memory that tables may use to buffer rows.

use logtool_core::{Topic, TopicOrigin};

use crate::row_buffers::memory_size::bits_per_row;

/// How many bytes of rows each table of a log may buffer before it writes them.
///
/// A log has hundreds of tables. Each is written best in large blocks, but all buffers together
/// must be small. The budget is fixed before the first row arrives, so that the contents of a file
/// depend only on its rows, and not on the rows of other tables.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget(usize);

/// The budget of all tables together, which do not all reach their maximum at the same time.
const ALL_BYTES: u64 = 48 << 20;
/// The maximum budget of one table.
const MAX_BYTES: u64 = 16 << 20;

impl Default for MemoryBudget {
    /// Returns the budget of a single table.
    fn default() -> Self {
        Self(MAX_BYTES as usize)
    }
}

impl MemoryBudget {
    /// Returns the budget of each table of `topics`. Short tables need less; their share is divided
    /// among the others.
    pub fn for_topics<'t>(topics: impl IntoIterator<Item = &'t Topic>) -> Self {
        let mut tables: Vec<u64> = topics.into_iter().map(estimated_bytes).collect();
        tables.sort_unstable();
        let mut left = ALL_BYTES;
        for (bytes, others) in tables.iter().zip((1..=tables.len() as u64).rev()) {
            let share = left / others;
            if *bytes > share {
                return Self(share.min(MAX_BYTES) as usize);
            }
            left -= bytes;
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
    let types =
        topic.schema.fields().iter().map(|field| bits_per_row(field.data_type()));
    let (bits, is_all) =
        types.fold((0_u64, true), |(bits, is_all), (more, is_all_of_it)| {
            (bits.saturating_add(more), is_all && is_all_of_it)
        });
    let moving =
        if is_all || records == 0 { 0 } else { topic.bytes.unwrap_or(u64::MAX) };
    (bits / 8).saturating_mul(records).saturating_add(moving)
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
        let texts = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let texts = Topic { schema: Arc::new(texts), ..topic(Some(1)) };
        let known = Topic { bytes: Some(1_000), ..texts.clone() };
        assert_eq!(estimated_bytes(&derived), u64::MAX);
        assert_eq!(estimated_bytes(&texts), u64::MAX);
        assert_eq!(estimated_bytes(&known), 1_004);
    }
}
