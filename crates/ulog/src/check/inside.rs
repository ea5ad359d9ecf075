//! The messages of a log, looked at as somebody reads them.

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
    check::{ids::Subscriptions, messages::Messages, seen::Seen},
    cursor::UlogCursor,
    open_log::Opened,
    wire,
};

/// Looks at the messages of a log as they are read.
pub(super) struct Looks(Arc<Inside>);

/// The stretches of a log, each to be looked at once, by whichever thread reads it.
struct Inside {
    log: Arc<Opened>,
    subscriptions: Subscriptions,
    stretches: Vec<Range<u64>>,
    found: Mutex<Found>,
}

/// What is found so far.
#[derive(Default)]
struct Found {
    messages: Messages,
    findings: Findings,
    /// What is known of stretches.
    seen: ReorderBuffer<Seen>,
}

/// Reads a stretch, and looks at the messages that it comes to.
struct LookingCursor {
    cursor: UlogCursor,
    inside: Arc<Inside>,
    /// Which stretch it is.
    index: usize,
    /// What is known of it, until it is read.
    seen: Option<Seen>,
}

impl Looks {
    pub(super) fn new(log: Arc<Opened>) -> Self {
        let subscriptions = Subscriptions::of(&log);
        let stretches = stretches(&log.manifest, log.source.len());
        let found = Mutex::default();
        Self(Arc::new(Inside { log, subscriptions, stretches, found }))
    }
}

impl Inspection for Looks {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let Self(inside) = self;
        let cursor = inside.log.cursor(part, selection);
        let place = inside
            .stretches
            .binary_search_by_key(&part.bytes.start, |bytes| bytes.start);
        let place = place.ok().filter(|index| inside.stretches[*index] == part.bytes);
        Ok(match place {
            Some(index) => Box::new(LookingCursor::new(inside.clone(), cursor, index)),
            None => Box::new(cursor),
        })
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        let Self(inside) = *self;
        let mut block = Block::default();
        for (index, bytes) in inside.stretches.iter().enumerate() {
            if inside.found().seen.has(index) {
                continue;
            }
            let (topics, time) = (TopicSet::EMPTY, TimeRange::EMPTY);
            let nothing = Selection { topics: topics.clone(), time };
            let part = Part { bytes: bytes.clone(), topics, time };
            let cursor = inside.log.cursor(&part, &nothing);
            let mut cursor = LookingCursor::new(inside.clone(), cursor, index);
            while cursor.fill(&mut block)? {}
            inside.log.source.release(bytes.clone());
        }
        let Found { messages, findings: found, .. } = mem::take(&mut *inside.found());
        found.iter().for_each(|finding| findings.add(finding.clone()));
        messages.finish(&inside.log, findings);
        Ok(())
    }
}

/// The parts of a file of `len` bytes, and what is before, between and behind them.
fn stretches(manifest: &Manifest, len: u64) -> Vec<Range<u64>> {
    let header = wire::FILE_HEADER_LEN as u64;
    // A file that lacks its header begins with its first part.
    let first = manifest.parts.first().map_or(header, |part| part.bytes.start);
    let (mut stretches, mut at) = (Vec::new(), first.min(header));
    let end = Range { start: len, end: len };
    for next in manifest.parts.iter().map(|part| &part.bytes).chain([&end]) {
        if next.start > at {
            stretches.push(at..next.start);
            at = next.start;
        }
        if next.start == at && next.end > at {
            stretches.push(next.clone());
            at = next.end;
        }
    }
    stretches
}

impl Inside {
    /// Adds what is known of the stretch with this index, and tells of all that are next.
    fn add(&self, index: usize, seen: Seen) {
        let found = &mut *self.found();
        found.seen.put(index, seen);
        while let Some((_, seen)) = found.seen.next() {
            found.messages.add(seen, &mut found.findings);
        }
    }

    /// Also after a panic elsewhere, which is carried on by itself.
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LookingCursor {
    fn new(inside: Arc<Inside>, cursor: UlogCursor, index: usize) -> Self {
        let seen = Seen::new(&inside.log, &inside.subscriptions, cursor.position());
        Self { cursor, inside, index, seen: Some(seen) }
    }
}

impl Cursor for LookingCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let at = self.cursor.position();
        let is_more = self.cursor.fill(block)?;
        let Self { inside, index, seen, .. } = self;
        match is_more {
            true => {
                if let Some(seen) = seen {
                    seen.look(&inside.log, &inside.subscriptions, at, block.bytes());
                }
            }
            false => {
                if let Some(seen) = seen.take() {
                    inside.add(*index, seen);
                }
            }
        }
        Ok(is_more)
    }
}
