//! A stretch of a log that is walked over before it is known what was before it.

use std::{ops::Range, sync::Arc};

use logtool_core::Source;

use crate::{
    clock::StreamClock,
    formats::Formats,
    recovery::Judge,
    streams::Streams,
    survey::{statistics::Tally, window::Window},
    wire::{self, kind},
};

/// How much is looked at for the first message, and how much the next ones may need.
const SEARCH: usize = 128 << 10;

/// What was counted in a stretch of a log.
///
/// It begins where messages seem to begin, with a record, and ends where the next is
/// to begin, or before anything that is more than a record, a string, a dropout or a
/// sync mark. Whether it began well, who comes to its start knows.
pub(super) struct Stretch {
    pub(super) bytes: Range<u64>,
    tally: Tally,
    /// As it is at the end; it began with the first record, and has the time of that.
    clock: StreamClock,
    first: u64,
    /// How often ids had been given to other topics when it was begun.
    reused: u32,
}

impl Stretch {
    /// Walks over the first messages that begin in `bytes` of the section of `source`
    /// that ends at `end`, if any are found there. The `tally` is to have counted nothing.
    pub(super) fn walk(
        source: &Arc<dyn Source>,
        bytes: Range<u64>,
        end: u64,
        mut streams: Streams,
        mut tally: Tally,
    ) -> Option<Self> {
        let mut window = Window::new(source, bytes.start..end);
        let (head, is_last) = window.at(bytes.start, 2 * SEARCH).ok()?;
        let formats = Formats::default(); // no types: what defines some ends it
        let judge = Judge { streams: &streams, formats: &formats };
        let keep = if is_last { 0 } else { SEARCH };
        let skip = judge.first(&head, 0, keep)?;
        let (start, first) =
            (bytes.start + skip as u64, first(&streams, &head[skip..])?);
        drop(head); // so that the window reads into the same memory again
        streams.clock = streams.clock.at(first);
        tally.parts.begin(start);
        let walked = window.walk(start, bytes.end, |at, rest| {
            tally.parts.reach(at, &streams);
            tally.message(&mut streams, rest)
        });
        let (bytes, reused) = (start..walked.ok()?.at, streams.reused());
        Some(Self { bytes, tally, clock: streams.clock, first, reused })
    }

    /// Adds what was counted to `tally`, which was come to its start with, and lets
    /// `streams` go on behind it; says whether it did. If not, the stretch was begun at a
    /// wrong place, or something there depends on what was before.
    pub(super) fn add_to(self, tally: &mut Tally, streams: &mut Streams) -> bool {
        let before = &streams.clock;
        let is_known =
            |dropout| before.latest().is_some_and(|latest| latest <= dropout);
        let goes_on = before.goes_on_as(self.first, &self.clock)
            && self.tally.first_dropout.is_none_or(is_known)
            && self.reused == streams.reused()
            && !streams.have_counters()
            && tally.goes_on_as(&self.tally);
        if goes_on {
            let before = before.clone();
            streams.clock = before.then(&self.clock);
            tally.add(self.tally, before.epoch, |state| state.follow(&before));
        }
        goes_on
    }
}

/// The time of the record at the start of `rest`, if one is.
fn first(streams: &Streams, rest: &[u8]) -> Option<u64> {
    let (size, kind) = wire::header(rest)?;
    let payload = rest.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
    let (id, record) = wire::data(payload)?;
    let time = streams.peek(id, record)?;
    let is_usable = time >= streams.clock.start().unwrap_or(1);
    (kind == kind::DATA && is_usable).then_some(time)
}
