//! A log with shifted times and renamed topics.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log, no_excerpts_error},
    model::{
        clock_transform::ClockTransform,
        excerpt::Excerpt,
        layout::Layout,
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::Block,
};

/// A log whose records have shifted times and whose topics have new names. The payloads
/// are unchanged, including timestamps in them, and so are the times of damage.
pub struct ShiftedLog {
    log: Arc<dyn Log>,
    manifest: Manifest,
    transform: ClockTransform,
}

impl ShiftedLog {
    /// Returns `log` with the times transformed by `transform`, and with new `names` for
    /// some of its topics.
    pub fn new(
        log: Arc<dyn Log>,
        transform: ClockTransform,
        names: &BTreeMap<TopicId, String>,
    ) -> Self {
        let mut manifest = log.manifest().clone();
        manifest.time = manifest.time.map(|time| transform.apply_to_range(time));
        manifest.oldest = manifest.oldest.map(|time| transform.apply(time));
        for part in &mut manifest.parts {
            part.time = transform.apply_to_range(part.time);
        }
        for (id, topic) in (0..).map(TopicId).zip(&mut manifest.topics) {
            topic.time = topic.time.map(|time| transform.apply_to_range(time));
            if let Some(name) = names.get(&id) {
                topic.name.clone_from(name);
            }
        }
        Self { log, manifest, transform }
    }

    /// Converts a part of this log to the wrapped log.
    fn to_source(&self, part: &Part) -> Part {
        Part { time: self.transform.inverse_range(part.time), ..part.clone() }
    }
}

impl Log for ShiftedLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let time = self.transform.inverse_range(selection.time);
        let selection = Selection { time, topics: selection.topics.clone() };
        let cursor = self.log.read(&self.to_source(part), &selection)?;
        Ok(Box::new(ShiftedCursor { cursor, transform: self.transform }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.log.decoder(topic, columns)
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        self.log.payload_layout(topic)
    }

    fn excerpt(&self, _: &Selection, _: &[Part]) -> Result<Excerpt> {
        Err(no_excerpts_error())
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.log.source()
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        let old_len = times.len();
        let are_known = self.log.times(&self.to_source(part), times)?;
        for (_, time) in times.iter_mut().skip(old_len) {
            *time = self.transform.apply(*time);
        }
        Ok(are_known)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        let times = self.log.part_times().into_iter();
        times.map(|time| self.transform.apply_to_range(time)).collect()
    }
}

struct ShiftedCursor {
    cursor: Box<dyn Cursor>,
    transform: ClockTransform,
}

impl Cursor for ShiftedCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let has_more = self.cursor.fill(block)?;
        block.transform_times(&self.transform);
        Ok(has_more)
    }
}

impl fmt::Debug for ShiftedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShiftedLog")
            .field("transform", &self.transform)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mock_log::{MockLog, MockResult};

    #[test]
    fn records_and_selections_use_the_shifted_times() {
        let block_at = |times: &[i64]| {
            MockResult::Block(
                times.iter().map(|time| (*time, vec![*time as u8])).collect(),
            )
        };
        let log = MockLog::new(vec![vec![block_at(&[1, 2])], vec![block_at(&[3, 4])]]);
        let names = BTreeMap::from([(TopicId(0), "/new".to_owned())]);
        let log = ShiftedLog::new(Arc::new(log), ClockTransform::new(100), &names);
        assert_eq!(log.manifest().topics[0].name, "/new");
        let time = TimeRange {
            start: Timestamp::from_nanos(102),
            end: Timestamp::from_nanos(104),
        };
        let selection = Selection { time, ..Selection::default() };
        let mut records = Vec::new();
        for part in log.manifest().plan(&selection, 0) {
            let (mut cursor, mut block) =
                (log.read(&part, &selection).unwrap(), Block::default());
            while cursor.fill(&mut block).unwrap() {
                let time_and_value =
                    |r: crate::Record<'_>| (r.time.as_nanos(), r.payload[0]);
                records.extend(block.iter().map(time_and_value));
            }
        }
        records.retain(|(time, _)| (102..104).contains(time));
        assert_eq!(records, [(102, 2), (103, 3)]);
    }
}
