//! A log wrapper that replaces unusable timestamps of records.

use std::{collections::VecDeque, fmt, mem, sync::Arc};

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log, RowGroup, without_excerpts},
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
        let time = manifest.time.map(clamp).filter(|time| !time.is_empty());
        let range = time.unwrap_or(usable);
        manifest.time = time;
        let mut before = TimeRange::from_timestamp(range.start);
        for part in &mut manifest.parts {
            let time = clamp(part.time);
            if !time.is_empty() {
                part.time = time;
                before = TimeRange::from_timestamp(time.end.shifted_by(-1));
            } else if !part.time.is_empty() {
                // All its records get the time of the end of the previous part.
                part.time = before;
            }
        }
        Self { log, manifest: Arc::new(manifest), usable, replacements: range }
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
        let parts_inside = |manifest: &Manifest| {
            let inner_parts = manifest.parts.iter();
            let inner_parts = inner_parts.filter(|inner| {
                part.bytes.start <= inner.bytes.start
                    && inner.bytes.end <= part.bytes.end
            });
            inner_parts.cloned().collect::<Vec<Part>>()
        };
        let times =
            parts_inside(&self.manifest).into_iter().map(|part| part.time.start);
        let parts = parts_inside(self.log.manifest());
        let parts = parts.into_iter().zip(times).collect();
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
        Err(without_excerpts())
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
    current: Option<OpenPart>,
    /// Blocks whose records have their final times.
    ready: VecDeque<Block>,
}

/// A part that is being read.
struct OpenPart {
    cursor: Box<dyn Cursor>,
    /// The time of the last record with a usable time.
    neighbour: Option<Timestamp>,
    /// The blocks before the first usable timestamp, and the timestamp if the part has none.
    waiting: Vec<Block>,
    otherwise: Timestamp,
}

impl UsableTimesCursor {
    /// Replaces the times of the records in `block`, and keeps the selected records.
    fn replace_times(
        &mut self,
        mut block: Block,
        mut neighbour: Timestamp,
    ) -> Timestamp {
        block.retime(|topic, time| {
            match (self.usable.contains(*time), self.replacements.contains(*time)) {
                (true, true) => neighbour = *time,
                (true, false) => {}
                (false, _) => *time = neighbour,
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
        let first = match (open_part.neighbour, has_more) {
            (None, true) => {
                let mut times = block.iter().map(|record| record.time);
                times.find(|time| self.replacements.contains(*time))
            }
            (None, false) => Some(open_part.otherwise),
            (neighbour, _) => neighbour,
        };
        let Some(mut neighbour) = first else {
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
            let Some((part, otherwise)) = self.parts.pop_front() else {
                return Ok(false);
            };
            let cursor = self.log.read(&part, &self.source_selection)?;
            let (neighbour, waiting) = (None, Vec::new());
            self.current = Some(OpenPart { cursor, neighbour, waiting, otherwise });
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

    fn play(times: &[i64]) -> MockResult {
        MockResult::Block(times.iter().map(|time| (*time, vec![*time as u8])).collect())
    }

    fn range(start: i64, end: i64) -> TimeRange {
        let [start, end] = [start, end].map(Timestamp::from_nanos);
        TimeRange { start, end }
    }

    /// Returns the times and payloads of `log`, read in parts of at most `target` bytes.
    fn read(log: &dyn Log, selection: &Selection, target: u64) -> Vec<(i64, u8)> {
        let mut records = Vec::new();
        for part in log.manifest().plan(selection, target) {
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
            vec![play(&[0]), play(&[0, 101, 0, 102])],
            vec![play(&[0, 103, 99, 0])],
            vec![play(&[0, 0])],
        ]));
        let usable = range(50, 1000);
        assert!(UsableTimesLog::is_needed(&*log, usable));
        let log = UsableTimesLog::new(log, usable);
        let all = [
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
        for target in [0, u64::MAX] {
            let records = read(&log, &Selection::default(), target);
            assert_eq!(records[..9], all);
            assert_eq!(records.len(), 11);
            let last = log.manifest().parts[2].time;
            assert!(
                records[9..].iter().all(|(time, _)| last == range(*time, *time + 1))
            );
        }
        // The selection uses the new timestamps.
        let selection = Selection { time: range(101, 102), ..Selection::default() };
        let some: Vec<_> = all.iter().filter(|(time, _)| *time == 101).collect();
        let selected_records = read(&log, &selection, 0);
        assert!(selected_records.iter().eq(some), "{selected_records:?}");
    }
}
