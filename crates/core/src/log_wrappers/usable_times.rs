//! A log wrapper that replaces unusable timestamps of records.

use std::{collections::VecDeque, fmt, mem, sync::Arc};

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log, RowGroup, no_excerpts_error},
    model::{
        excerpt::Excerpt,
        layout::Layout,
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::Block,
};

/// A log in which a record without a usable time gets the time of its neighbour: the last
/// record before it in the same part that has a usable time, or the first one after it.
/// The payloads are unchanged.
pub struct UsableTimesLog {
    log: Arc<dyn Log>,
    manifest: Arc<Manifest>,
    /// The usable times.
    usable: TimeRange,
    /// The times that neighbours can provide: the usable times since the start of
    /// logging.
    replacements: TimeRange,
}

impl UsableTimesLog {
    /// Wraps `log`. Timestamps outside of `usable` are replaced.
    pub fn new(log: Arc<dyn Log>, usable: TimeRange) -> Self {
        let mut manifest = log.manifest().clone();
        let clamp = |time: TimeRange| TimeRange {
            start: time.start.max(usable.start),
            end: time.end.min(usable.end),
        };
        manifest.time = manifest.time.map(clamp).filter(|time| !time.is_empty());
        let replacements = manifest.time.unwrap_or(usable);
        let mut previous_end = TimeRange::from_timestamp(replacements.start);
        for part in &mut manifest.parts {
            let usable_time = clamp(part.time);
            if !usable_time.is_empty() {
                part.time = usable_time;
                previous_end =
                    TimeRange::from_timestamp(usable_time.end.shifted_by(-1));
            } else if !part.time.is_empty() {
                // All its records get the time of the end of the previous part.
                part.time = previous_end;
            }
        }
        Self { log, manifest: Arc::new(manifest), usable, replacements }
    }

    /// Returns whether `log` may have records with times outside of `usable`.
    pub fn is_needed(log: &dyn Log, usable: TimeRange) -> bool {
        let is_usable = |part: &Part| {
            part.time.is_empty()
                || usable.start <= part.time.start && part.time.end <= usable.end
        };
        !log.manifest().parts.iter().all(is_usable)
    }
}

impl Log for UsableTimesLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        // Joined parts are read separately, so that a record has the same neighbour in
        // any plan.
        let is_inside = |inner: &&Part| {
            part.bytes.start <= inner.bytes.start && inner.bytes.end <= part.bytes.end
        };
        let default_times =
            self.manifest.parts.iter().filter(is_inside).map(|inner| inner.time.start);
        let source_parts = self.log.manifest().parts.iter().filter(is_inside).cloned();
        let parts = source_parts.zip(default_times).collect();
        // A neighbour can be of any topic.
        let mut topics = self.manifest.logged_topics();
        topics.extend(&selection.topics);
        Ok(Box::new(UsableTimesCursor {
            log: self.log.clone(),
            manifest: self.manifest.clone(),
            usable: self.usable,
            replacements: self.replacements,
            selection: selection.clone(),
            source_selection: Selection { topics, time: TimeRange::ALL },
            parts,
            current: None,
            ready: VecDeque::new(),
        }))
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

    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        self.log.row_groups(topic, time)
    }
}

/// Reads parts one after the other.
struct UsableTimesCursor {
    log: Arc<dyn Log>,
    manifest: Arc<Manifest>,
    usable: TimeRange,
    replacements: TimeRange,
    /// The selection by the new timestamps, and the selection that is read from the log.
    selection: Selection,
    source_selection: Selection,
    /// The remaining parts, each with the time for records without a neighbour in it.
    parts: VecDeque<(Part, Timestamp)>,
    /// The part that is being read.
    current: Option<OpenPart>,
    /// Blocks whose records have their final times.
    ready: VecDeque<Block>,
}

/// A part that is being read.
struct OpenPart {
    cursor: Box<dyn Cursor>,
    /// The time of the last record with a usable time.
    neighbour: Option<Timestamp>,
    /// The blocks before the first usable timestamp, and the timestamp of their records if the
    /// part has no usable timestamp.
    waiting: Vec<Block>,
    default_time: Timestamp,
}

impl UsableTimesCursor {
    /// Replaces the unusable times of the records in `block`, and keeps the selected records.
    /// `neighbour` is the last usable time before the block. Returns the last one in it or
    /// before it.
    fn replace_times(
        &mut self,
        mut block: Block,
        mut neighbour: Timestamp,
    ) -> Timestamp {
        block.retime(|topic, time| {
            if !self.usable.contains(*time) {
                *time = neighbour;
            } else if self.replacements.contains(*time) {
                neighbour = *time;
            }
            self.manifest.needs_record(&self.selection, topic, *time)
        });
        self.ready.push_back(block);
        neighbour
    }

    /// Reads the next block of the part. Returns false at its end.
    fn advance(&mut self, open_part: &mut OpenPart) -> Result<bool> {
        let mut block = Block::default();
        let has_more = open_part.cursor.fill(&mut block)?;
        let neighbour = match open_part.neighbour {
            None if has_more => block
                .iter()
                .map(|record| record.time)
                .find(|time| self.replacements.contains(*time)),
            None => Some(open_part.default_time),
            known_neighbour => known_neighbour,
        };
        let Some(mut neighbour) = neighbour else {
            open_part.waiting.push(block);
            return Ok(true);
        };
        for block in mem::take(&mut open_part.waiting) {
            neighbour = self.replace_times(block, neighbour);
        }
        if has_more {
            neighbour = self.replace_times(block, neighbour);
        }
        open_part.neighbour = Some(neighbour);
        Ok(has_more)
    }
}

impl Cursor for UsableTimesCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                *block = ready;
                return Ok(true);
            }
            if let Some(mut open_part) = self.current.take() {
                if self.advance(&mut open_part)? {
                    self.current = Some(open_part);
                }
                continue;
            }
            let Some((part, default_time)) = self.parts.pop_front() else {
                return Ok(false);
            };
            let cursor = self.log.read(&part, &self.source_selection)?;
            self.current = Some(OpenPart {
                cursor,
                neighbour: None,
                waiting: Vec::new(),
                default_time,
            });
        }
    }
}

impl fmt::Debug for UsableTimesLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsableTimesLog")
            .field("usable", &self.usable)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mock_log::{MockLog, MockResult};

    fn block_at(times: &[i64]) -> MockResult {
        MockResult::Block(times.iter().map(|time| (*time, vec![*time as u8])).collect())
    }

    fn range(start: i64, end: i64) -> TimeRange {
        let [start, end] = [start, end].map(Timestamp::from_nanos);
        TimeRange { start, end }
    }

    /// Returns the times and payloads of `log`, read in parts of at most `target_bytes` bytes.
    fn read(log: &dyn Log, selection: &Selection, target_bytes: u64) -> Vec<(i64, u8)> {
        let mut records = Vec::new();
        for part in log.manifest().plan(selection, target_bytes) {
            let (mut cursor, mut block) =
                (log.read(&part, selection).unwrap(), Block::default());
            while cursor.fill(&mut block).unwrap() {
                let time_and_value =
                    |r: crate::Record<'_>| (r.time.as_nanos(), r.payload[0]);
                records.extend(block.iter().map(time_and_value));
            }
        }
        records
    }

    #[test]
    fn record_without_a_usable_time_gets_that_of_its_neighbour() {
        let log: Arc<dyn Log> = Arc::new(MockLog::new(vec![
            vec![block_at(&[0]), block_at(&[0, 101, 0, 102])],
            vec![block_at(&[0, 103, 99, 0])],
            vec![block_at(&[0, 0])],
        ]));
        let usable = range(50, 1000);
        assert!(UsableTimesLog::is_needed(&*log, usable));
        let log = UsableTimesLog::new(log, usable);
        let expected = [
            (101, 0),
            (101, 0),
            (101, 101),
            (101, 0),
            (102, 102),
            (103, 0),
            (103, 103),
            (99, 99),
            (99, 0),
        ];
        for target_bytes in [0, u64::MAX] {
            let records = read(&log, &Selection::default(), target_bytes);
            assert_eq!(records[..9], expected);
            assert_eq!(records.len(), 11);
            let last_part_time = log.manifest().parts[2].time;
            for (time, _) in &records[9..] {
                assert_eq!(last_part_time, range(*time, *time + 1));
            }
        }
        // The selection uses the new timestamps.
        let selection = Selection { time: range(101, 102), ..Selection::default() };
        let selected = expected.into_iter().filter(|(time, _)| *time == 101);
        assert_eq!(read(&log, &selection, 0), selected.collect::<Vec<_>>());
    }
}
