//! Heads of messages, which other threads look at ahead of who surveys the log.

use std::{ops::Range, sync::Arc};

use bytes::{Buf as _, Bytes};
use logtool_core::{Queue, Result, Source};

use crate::vel::{
    judge::{Judge, Look},
    start::Start,
    wire::{HEAD_LEN, HEADER_LEN},
};

/// How much of a message the survey looks at: its header, and what GPS and attitudes say, or how
/// long the data of a picture is.
pub(super) const SEEN: usize = HEADER_LEN + 80;

/// So many entries of the index are gone by at most: 36 hours.
const ENTRIES: usize = 1 << 17;
/// Some of its seconds are looked at together, of about so many bytes, and so many messages at
/// most.
const TOGETHER: u64 = 16 << 20;
const MESSAGES: usize = 1 << 14;
/// Where messages are no longer than this on the whole, a disk reads through them in less time
/// than it takes to find each of them; so far ahead it is asked to.
const CLOSE: u64 = 128 << 10;
const SOON: u64 = 64 << 20;
/// So much is read at once: behind a short message there is the head of the next.
const NEAR: u64 = 1 << 10;

/// The heads of the messages of a log, from the beginnings of seconds on that its index says.
///
/// They are a help only: wherever the index is wrong, or anything is damaged, there are none.
/// In a pool of one thread there are none at all.
pub(super) struct Heads {
    source: Arc<dyn Source>,
    judge: Judge,
    /// Where the messages begin.
    start: u64,
    /// Up to where the source was told that it is looked at.
    told: u64,
    /// The rest of the index.
    entries: Bytes,
    /// Before this nothing is looked at any more.
    reached: u64,
    at_work: Queue<Heard>,
    /// How many are at work.
    begun: usize,
    width: usize,
    heard: Heard,
}

/// The heads of some messages that follow on each other.
#[derive(Default)]
struct Heard {
    /// Where they are.
    places: Vec<u64>,
    /// [`SEEN`] bytes of each.
    bytes: Bytes,
    /// How many are passed.
    passed: usize,
}

impl Heads {
    /// Those of the log in `source`, of which the messages begin at `start`.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        judge: Judge,
        start: Start,
    ) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let index = HEAD_LEN as u64..start.at.min((HEAD_LEN + 8 * ENTRIES) as u64);
        let entries = if threads > 1 { source.read_at(index)? } else { Bytes::new() };
        Ok(Self {
            source: source.clone(),
            judge,
            start: start.at,
            told: start.at,
            entries,
            reached: start.at,
            at_work: Queue::of(threads + 1),
            begun: 0,
            width: threads + 1,
            heard: Heard::default(),
        })
    }

    /// The first [`SEEN`] bytes of the message at `at`, if they were looked at; whoever asks
    /// only goes on. So many `messages` are before it.
    pub(super) fn at(&mut self, at: u64, messages: u64) -> Option<Bytes> {
        let is_dense = (at - self.start) / CLOSE < messages;
        if is_dense && at.saturating_add(SOON / 2) > self.told {
            let soon = at.saturating_add(SOON);
            self.source.will_peek(self.told.max(at)..soon);
            self.told = soon;
        }
        loop {
            if let Some(found) = self.heard.at(at) {
                return found;
            }
            self.reached = self.reached.max(at);
            self.begin();
            self.heard = self.at_work.wait()?;
            self.begun -= 1;
        }
    }

    /// Lets other threads look at what comes next.
    fn begin(&mut self) {
        while self.begun < self.width
            && let Some(stretch) = self.next()
        {
            let (source, judge) = (self.source.clone(), self.judge);
            self.at_work.push(move || Heard::of(&*source, judge, stretch));
            self.begun += 1;
        }
    }

    /// From the beginning of a second to that of another.
    fn next(&mut self) -> Option<Range<u64>> {
        let mut start: Option<u64> = None;
        while let Some(entry) = self.entries.first_chunk() {
            let entry = u64::from_le_bytes(*entry);
            if (self.reached..self.judge.end).contains(&entry) {
                let from = *start.get_or_insert(entry);
                if entry.saturating_sub(from) >= TOGETHER {
                    self.reached = entry;
                    return Some(from..entry);
                }
            }
            self.entries.advance(8);
        }
        self.reached = self.judge.end;
        start.map(|from| from..self.judge.end)
    }
}

impl Heard {
    /// The heads of the messages that begin in this `stretch`, from its start on, as long as
    /// nothing is odd.
    fn of(source: &dyn Source, judge: Judge, stretch: Range<u64>) -> Self {
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        let (mut at, mut near, mut near_at) = (stretch.start, Bytes::new(), 0);
        while at < stretch.end && places.len() < MESSAGES {
            let mut skip = usize::try_from(at - near_at).unwrap_or(usize::MAX);
            if near.len() < skip.saturating_add(SEEN) {
                let Ok(read) = source.peek(at..at.saturating_add(NEAR)) else { break };
                (near, near_at, skip) = (read, at, 0);
            }
            let Some(head) = near.get(skip..skip + SEEN) else { break };
            let Look::Message(message) = judge.look(at, head) else { break };
            places.push(at);
            bytes.extend_from_slice(head);
            at += message.len;
        }
        Self { places, bytes: bytes.into(), passed: 0 }
    }

    /// The head of the message at `at`, or that it is none of these; nothing if all of these are
    /// before it.
    fn at(&mut self, at: u64) -> Option<Option<Bytes>> {
        let rest = self.places.get(self.passed..).unwrap_or_default();
        let before = rest.iter().take_while(|place| **place < at).count();
        self.passed += before;
        let place = rest.get(before)?;
        let from = SEEN * self.passed;
        Some((*place == at).then(|| self.bytes.slice(from..from + SEEN)))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, iter};

    use super::*;
    use crate::vel::{
        Obd, Writer, WriterOptions,
        wire::{PACKET_LEN, SizeField},
    };

    const SECONDS: u32 = 60;

    /// A log of a minute, 30 MB long, and where its messages are: by the lengths that they have.
    fn log() -> (Vec<u8>, Vec<u64>) {
        let options = WriterOptions { seconds: SECONDS, ..WriterOptions::default() };
        let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
        let packets = [[7; PACKET_LEN]; 40];
        let lens = [25 + 40 * PACKET_LEN as u64, 21 + 28];
        let mut at = HEAD_LEN as u64 + 8 * u64::from(SECONDS);
        let mut places = Vec::new();
        for turn in 0..10 * SECONDS {
            let millis = 100.0 * f64::from(turn);
            log.packets(millis, &packets).unwrap();
            log.obd(millis, Obd::default()).unwrap();
            for len in lens {
                places.push(at);
                at += len;
            }
        }
        let bytes = log.finish().unwrap().into_inner();
        assert_eq!(bytes.len() as u64, at);
        (bytes, places)
    }

    /// In a pool of so many `threads`, how many of the messages at `places` were looked at; what
    /// was seen of them is what is there.
    fn heard(bytes: &[u8], places: &[u64], threads: usize) -> Vec<bool> {
        let source: Arc<dyn Source> = Arc::new(Bytes::copy_from_slice(bytes));
        let size_field = SizeField::AfterItself;
        let judge = Judge { size_field, end: bytes.len() as u64 };
        let start = Start { at: places[0], size_field, votes: [0, 0] };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut heads = Heads::new(&source, judge, start).unwrap();
            let heard = iter::zip(0.., places).map(|(messages, place)| {
                let head = heads.at(*place, messages);
                let at = *place as usize;
                head.inspect(|head| assert_eq!(**head, bytes[at..at + SEEN])).is_some()
            });
            heard.collect()
        })
    }

    #[test]
    fn the_index_leads_to_all_messages() {
        let (bytes, places) = log();
        for threads in [2, 5] {
            let heard = heard(&bytes, &places, threads);
            // Not those of which there are not so many bytes behind them.
            let (last, others) = heard.split_last().unwrap();
            assert!(others.iter().all(|heard| *heard) && !last, "{threads}: {heard:?}");
        }
        assert!(heard(&bytes, &places, 1).iter().all(|heard| !heard));
    }

    #[test]
    fn a_wrong_index_and_damage_lead_to_nothing_that_is_not_there() {
        let (whole, places) = log();
        // Messages of a second are lost, up to where the index leads on from.
        let mut damaged = whole.clone();
        let broken = places[700] as usize;
        damaged[broken..broken + HEADER_LEN].fill(0);
        let damaged_heard = heard(&damaged, &places, 2);
        let count = damaged_heard.iter().filter(|heard| **heard).count();
        assert!(damaged_heard[..700].iter().all(|heard| *heard) && !damaged_heard[700]);
        assert!((700..places.len() - 1).contains(&count), "{count}");
        // Entries of anything: numbers of no order, far away, inside of messages.
        let mut number = 1_u64;
        let mut next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            number >> 24
        };
        for turn in 0..20 {
            let mut bytes = whole.clone();
            for entry in bytes[HEAD_LEN..places[0] as usize].chunks_exact_mut(8) {
                let value = match next() % 4 {
                    0 => next() << 23,
                    1 => places[next() as usize % places.len()],
                    2 => 0,
                    _ => next() % whole.len() as u64,
                };
                entry.copy_from_slice(&value.to_le_bytes());
            }
            heard(&bytes, &places, 2 + turn % 2);
        }
    }
}
