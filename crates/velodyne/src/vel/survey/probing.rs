//! Finding out which lidar it is, while who surveys the log goes on.

use std::{mem, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Queue, Source, Timestamp};

use crate::{lidar::Probe, vel::wire};

/// About how many bytes of packets are looked at together, and how many wait at most.
const TOGETHER: usize = 1 << 20;
const WAITING: usize = 32 << 20;

/// A probe that looks at the packets of one message after the other, on another thread.
pub(super) struct Probing {
    source: Arc<dyn Source>,
    /// If nobody is at work with it.
    probe: Option<Probe>,
    at_work: Queue<Probe>,
    waiting: Vec<Packets>,
    waiting_bytes: usize,
    is_enough: bool,
}

/// The packets of a message.
struct Packets {
    /// The data of the message, and where it is in the log.
    data: Bytes,
    place: Range<u64>,
    /// When the last of them had come; the others came before.
    time: Timestamp,
}

impl Probing {
    /// Looks at packets of the log in `source`.
    pub(super) fn new(source: &Arc<dyn Source>) -> Self {
        Self {
            source: source.clone(),
            probe: Some(Probe::default()),
            at_work: Queue::of(2),
            waiting: Vec::new(),
            waiting_bytes: 0,
            is_enough: false,
        }
    }

    /// Whether more packets would not be looked at, as far as is known by now.
    pub(super) fn is_enough(&self) -> bool {
        self.is_enough
    }

    /// Looks at the packets of the message of this `data` and `time`, which lies at `at`.
    pub(super) fn add(&mut self, data: Bytes, at: u64, time: Timestamp) {
        let place = at..at + data.len() as u64;
        self.waiting_bytes += data.len();
        self.waiting.push(Packets { data, place, time });
        if self.waiting_bytes < TOGETHER {
            return;
        }
        let mut free = self.probe.take().or_else(|| self.at_work.next());
        if free.is_none() && self.waiting_bytes >= WAITING {
            free = self.at_work.wait();
        }
        if let Some(probe) = free {
            self.look(probe);
        }
    }

    /// Lets `probe` look at what waits.
    fn look(&mut self, mut probe: Probe) {
        self.is_enough = probe.is_enough();
        self.waiting_bytes = 0;
        let (waiting, source) = (mem::take(&mut self.waiting), self.source.clone());
        let (first, last) = (waiting.first(), waiting.last());
        let ends =
            first.zip(last).map(|(first, last)| first.place.start..last.place.end);
        self.at_work.push(move || {
            waiting.iter().for_each(|packets| packets.show(&mut probe));
            drop(waiting);
            ends.into_iter().for_each(|passed| source.release(passed));
            probe
        });
    }

    /// The probe, when it has seen all.
    pub(super) fn finish(&mut self) -> Probe {
        let at_work = self.probe.take().or_else(|| self.at_work.wait());
        let mut probe = at_work.unwrap_or_default();
        self.waiting.drain(..).for_each(|packets| packets.show(&mut probe));
        probe
    }
}

impl Packets {
    fn show(&self, probe: &mut Probe) {
        if let [others @ .., last] = wire::packets(&self.data) {
            others.iter().for_each(|packet| probe.add(packet, Timestamp::MAX));
            // The message was written when its last packet had come.
            probe.add(last, self.time);
        }
    }
}
