//! Identifies the lidar on another thread during the index pass.

use std::{mem, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Source, TaskQueue, Timestamp};

use crate::{lidar::Probe, vel::wire};

/// The minimum number of bytes of packets that are examined in one task.
const TASK_BYTES: usize = 1 << 20;

/// If this number of bytes of packets waits, adding further packets blocks.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// A probe that examines the packets of messages in order on another thread.
pub(super) struct BackgroundProbe {
    source: Arc<dyn Source>,
    /// The probe before the first task. After that, the tasks pass it on.
    probe: Option<Probe>,
    tasks: TaskQueue<Probe>,
    waiting: Vec<MessagePackets>,
    waiting_bytes: usize,
    is_enough: bool,
}

/// The packets of a message.
struct MessagePackets {
    /// The data of the message.
    data: Bytes,
    /// The range of the data in the log.
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
            tasks: TaskQueue::with_width(2),
            waiting: Vec::new(),
            waiting_bytes: 0,
            is_enough: false,
        }
    }

    /// Returns whether the probe needs no further packets. It may be true some messages late,
    /// because packets are examined in the background.
    pub(super) fn is_enough(&self) -> bool {
        self.is_enough
    }

    /// Adds the packets of the message with this `data` and `time`. The data is at `at`.
    pub(super) fn add(&mut self, data: Bytes, at: u64, time: Timestamp) {
        let range = at..at + data.len() as u64;
        self.waiting_bytes += data.len();
        self.waiting.push(MessagePackets { data, range, time });
        if self.waiting_bytes < TASK_BYTES {
            return;
        }
        let mut idle_probe = self.probe.take().or_else(|| self.tasks.next());
        if idle_probe.is_none() && self.waiting_bytes >= MAX_WAITING_BYTES {
            idle_probe = self.tasks.wait();
        }
        if let Some(probe) = idle_probe {
            self.submit(probe);
        }
    }

    /// Submits a task that passes the waiting packets to `probe`.
    fn submit(&mut self, mut probe: Probe) {
        self.is_enough = probe.is_enough();
        self.waiting_bytes = 0;
        let (messages, source) = (mem::take(&mut self.waiting), self.source.clone());
        let (first, last) = (messages.first(), messages.last());
        let examined =
            first.zip(last).map(|(first, last)| first.range.start..last.range.end);
        self.tasks.push(move || {
            messages.iter().for_each(|message| message.add_to(&mut probe));
            drop(messages);
            if let Some(range) = examined {
                source.release(range);
            }
            probe
        });
    }

    /// Waits for all tasks and returns the probe.
    pub(super) fn finish(&mut self) -> Probe {
        let probe = self.probe.take().or_else(|| self.tasks.wait());
        let mut probe = probe.unwrap_or_default();
        self.waiting.drain(..).for_each(|message| message.add_to(&mut probe));
        probe
    }
}

impl MessagePackets {
    /// Passes the packets to `probe`.
    fn add_to(&self, probe: &mut Probe) {
        if let [others @ .., last] = wire::packets(&self.data) {
            others.iter().for_each(|packet| probe.add(packet, Timestamp::MAX));
            // The message was written when its last packet arrived.
            probe.add(last, self.time);
        }
    }
}
