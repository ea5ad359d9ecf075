//! How much the tables of a log may hold back.

use logtool_core::{Topic, TopicOrigin};

use crate::memory_size::bits_a_row;

/// How many bytes of its rows each table of a log may hold until it writes them.
///
/// A log has hundreds of tables, each of which would rather write much at a time, and all
/// together are to hold little. What each may is known before the first row comes, so
/// that what is in a file depends on its rows only, and not on those of others meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Room(usize);

/// What all tables together may hold. They do not all hold the most at once.
const ALL_BYTES: u64 = 48 << 20;
/// What one may hold.
const MAX_BYTES: u64 = 16 << 20;

impl Default for Room {
    /// That of a table that is alone.
    fn default() -> Self {
        Self(MAX_BYTES as usize)
    }
}

impl Room {
    /// That of tables of `topics`: what those leave that are short, all others share.
    pub fn of<'t>(topics: impl IntoIterator<Item = &'t Topic>) -> Self {
        let mut tables: Vec<u64> = topics.into_iter().map(about).collect();
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

    /// How many bytes that is.
    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

/// About how many bytes the table of `topic` has. One that may have any number of rows is
/// taken for long.
fn about(topic: &Topic) -> u64 {
    let (Some(records), TopicOrigin::Logged) = (topic.records, topic.origin) else {
        return u64::MAX;
    };
    let types = topic.schema.fields().iter().map(|field| bits_a_row(field.data_type()));
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

    fn room(topics: &[Topic]) -> usize {
        Room::of(topics).bytes()
    }

    #[test]
    fn who_has_little_leaves_the_rest_to_the_others() {
        const MIB: u64 = 1 << 20;
        let long = || topic(None);
        assert_eq!(room(&[]), 16 << 20);
        assert_eq!(room(&[long()]), 16 << 20, "no table holds more");
        assert_eq!(room(&[long(), long(), long(), long()]), 12 << 20);
        let short = topic(Some(MIB)); // 8 MiB
        assert_eq!(room(&[long(), short.clone(), long(), long(), long()]), 10 << 20);
        let shorter = topic(Some(MIB / 2)); // 4 MiB
        assert_eq!(room(&[long(), shorter.clone(), long(), long(), long()]), 11 << 20);
        assert_eq!(room(&[shorter, short]), 16 << 20, "there is room for all");
        let many: Vec<Topic> = (0..1_000).map(|_| long()).collect();
        assert_eq!(room(&many), (48 << 20) / 1_000);
    }

    #[test]
    fn a_table_of_which_the_rows_are_not_known_is_taken_for_long() {
        let derived = Topic { origin: TopicOrigin::Derived, ..topic(Some(1)) };
        let texts = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let texts = Topic { schema: Arc::new(texts), ..topic(Some(1)) };
        let known = Topic { bytes: Some(1_000), ..texts.clone() };
        assert_eq!(about(&derived), u64::MAX);
        assert_eq!(about(&texts), u64::MAX);
        assert_eq!(about(&known), 1_004);
    }
}
