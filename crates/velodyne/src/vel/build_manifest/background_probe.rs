//! Identifies the lidar on another thread during the index pass.

use std::{mem, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Source, TaskQueue, Timestamp};

use crate::{lidar::Probe, vel::wire};

/// The bytes of packets that are examined in one task, and the maximum that may wait.
const TASK_BYTES: usize = 1 << 20;
const MAX_WAITING_BYTES: usize = 32 << 20;

/// A probe that examines the packets of messages in order on another thread.
pub(super) struct BackgroundProbe {
    source: Arc<dyn Source>,
    /// The probe, if no task is using it.
    probe: Option<Probe>,
    at_work: TaskQueue<Probe>,
    waiting: Vec<Packets>,
    waiting_bytes: usize,
    is_enough: bool,
}

/// The packets of a message.
struct Packets {
    /// The data of the message, and its range in the log.
    data: Bytes,
    range: Range<u64>,
    /// The arrival time of the last packet. The others arrived earlier.
    time: Timestamp,
}

impl BackgroundProbe {
    /// Creates a probe for the log in `source`.
    pub(super) fn new(source: &Arc<dyn Source>) -> Self {
        Self {
            source: source.clone(),
            probe: Some(Probe::default()),
            at_work: TaskQueue::with_width(2),
            waiting: Vec::new(),
            waiting_bytes: 0,
            is_enough: false,
        }
    }

    /// Returns whether the probe needs no further packets, as far as is known now.
    pub(super) fn is_enough(&self) -> bool {
        self.is_enough
    }

    /// Adds the packets of the message with this `data` and `time`. The data is at `at`.
    pub(super) fn add(&mut self, data: Bytes, at: u64, time: Timestamp) {
        let range = at..at + data.len() as u64;
        self.waiting_bytes += data.len();
        self.waiting.push(Packets { data, range, time });
        if self.waiting_bytes < TASK_BYTES {
            return;
        }
        let mut free = self.probe.take().or_else(|| self.at_work.next());
        if free.is_none() && self.waiting_bytes >= MAX_WAITING_BYTES {
            free = self.at_work.wait();
        }
        if let Some(probe) = free {
            self.submit(probe);
        }
    }

    /// Submits a task that passes the waiting packets to `probe`.
    fn submit(&mut self, mut probe: Probe) {
        self.is_enough = probe.is_enough();
        self.waiting_bytes = 0;
        let (waiting, source) = (mem::take(&mut self.waiting), self.source.clone());
        let (first, last) = (waiting.first(), waiting.last());
        let ends =
            first.zip(last).map(|(first, last)| first.range.start..last.range.end);
        self.at_work.push(move || {
            waiting.iter().for_each(|packets| packets.add_to(&mut probe));
            drop(waiting);
            ends.into_iter().for_each(|passed| source.release(passed));
            probe
        });
    }

    /// Waits for all tasks and returns the probe.
    pub(super) fn finish(&mut self) -> Probe {
        let at_work = self.probe.take().or_else(|| self.at_work.wait());
        let mut probe = at_work.unwrap_or_default();
        self.waiting.drain(..).for_each(|packets| packets.add_to(&mut probe));
        probe
    }
}

impl Packets {
    fn add_to(&self, probe: &mut Probe) {
        if let [others @ .., last] = wire::packets(&self.data) {
            others.iter().for_each(|packet| probe.add(packet, Timestamp::MAX));
            // The message was written when its last packet arrived.
            probe.add(last, self.time);
        }
    }
}
