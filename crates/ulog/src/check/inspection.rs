//! Checks the messages of a log while they are read.

use std::{
    mem,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use logtool_core::{
    Block, Cursor, Findings, Inspection, Manifest, Part, ReorderBuffer, Result,
    Selection, TimeRange, TopicSet,
};

use crate::{
    check::{
        id_map::Subscriptions, messages::MessageFindings,
        segment_summary::SegmentSummary,
    },
    read::{cursor::UlogCursor, open_log::OpenLog},
    wire,
};

/// Checks the messages of a log while a caller reads its parts.
pub(super) struct MessageInspection(Arc<InspectionState>);

/// The segments of a log. Each is checked once, by the thread that reads it.
struct InspectionState {
    log: Arc<OpenLog>,
    subscriptions: Subscriptions,
    segments: Vec<Range<u64>>,
    results: Mutex<InspectionResults>,
}

/// The results so far.
#[derive(Default)]
struct InspectionResults {
    messages: MessageFindings,
    findings: Findings,
    /// The summaries of segments that wait for an earlier segment.
    summary: ReorderBuffer<SegmentSummary>,
}

/// Reads a segment and checks its messages.
struct InspectingCursor {
    cursor: UlogCursor,
    state: Arc<InspectionState>,
    /// The index of the segment.
    index: usize,
    /// The summary of the messages so far; `None` after the end of the segment.
    summary: Option<SegmentSummary>,
}

impl MessageInspection {
    pub(super) fn new(log: Arc<OpenLog>) -> Self {
        let subscriptions = Subscriptions::from_log(&log);
        let segments = segments(&log.manifest, log.source.len());
        let results = Mutex::default();
        Self(Arc::new(InspectionState { log, subscriptions, segments, results }))
    }
}

impl Inspection for MessageInspection {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let Self(state) = self;
        let cursor = state.log.cursor(part, selection);
        let position =
            state.segments.binary_search_by_key(&part.bytes.start, |bytes| bytes.start);
        let position =
            position.ok().filter(|index| state.segments[*index] == part.bytes);
        Ok(match position {
            Some(index) => {
                Box::new(InspectingCursor::new(state.clone(), cursor, index))
            }
            None => Box::new(cursor),
        })
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        let Self(state) = *self;
        let mut block = Block::default();
        for (index, bytes) in state.segments.iter().enumerate() {
            if state.results().summary.was_inserted(index) {
                continue;
            }
            let (topics, time) = (TopicSet::EMPTY, TimeRange::EMPTY);
            let no_records = Selection { topics: topics.clone(), time };
            let part = Part { bytes: bytes.clone(), topics, time };
            let cursor = state.log.cursor(&part, &no_records);
            let mut cursor = InspectingCursor::new(state.clone(), cursor, index);
            while cursor.fill(&mut block)? {}
            state.log.source.release(bytes.clone());
        }
        let InspectionResults { messages, findings: results, .. } =
            mem::take(&mut *state.results());
        results.iter().for_each(|finding| findings.add(finding.clone()));
        messages.finish(&state.log, findings);
        Ok(())
    }
}

/// Returns the segments of a file of `len` bytes: its parts, and the ranges before,
/// between and after them.
fn segments(manifest: &Manifest, len: u64) -> Vec<Range<u64>> {
    let header = wire::FILE_HEADER_LEN as u64;
    // If the file header is lost, the file starts with its first part.
    let first_offset = manifest.parts.first().map_or(header, |part| part.bytes.start);
    let (mut segments, mut start) = (Vec::new(), first_offset.min(header));
    let end = Range { start: len, end: len };
    for bytes in manifest.parts.iter().map(|part| &part.bytes).chain([&end]) {
        if bytes.start > start {
            segments.push(start..bytes.start);
            start = bytes.start;
        }
        if bytes.start == start && bytes.end > start {
            segments.push(bytes.clone());
            start = bytes.end;
        }
    }
    segments
}

impl InspectionState {
    /// Stores the summary of a segment, then merges all summaries that are next in file
    /// order.
    fn add(&self, index: usize, summary: SegmentSummary) {
        let results = &mut *self.results();
        results.summary.insert(index, summary);
        while let Some((_, summary)) = results.summary.next() {
            results.messages.add(summary, &mut results.findings);
        }
    }

    /// Ignores a poisoned lock: the panic of another thread is propagated elsewhere.
    fn results(&self) -> MutexGuard<'_, InspectionResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InspectingCursor {
    fn new(state: Arc<InspectionState>, cursor: UlogCursor, index: usize) -> Self {
        let summary =
            SegmentSummary::new(&state.log, &state.subscriptions, cursor.position());
        Self { cursor, state, index, summary: Some(summary) }
    }
}

impl Cursor for InspectingCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let offset = self.cursor.position();
        let has_more = self.cursor.fill(block)?;
        let Self { state, index, summary, .. } = self;
        if has_more {
            if let Some(summary) = summary {
                summary.check(&state.log, &state.subscriptions, offset, block.bytes());
            }
        } else if let Some(summary) = summary.take() {
            state.add(*index, summary);
        }
        Ok(has_more)
    }
}
