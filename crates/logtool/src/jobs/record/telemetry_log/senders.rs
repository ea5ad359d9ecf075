//! The senders of log streams in a telemetry log, and their logs.

use std::collections::BTreeMap;

use logtool_mavlink::{AnotherLogStarted, StreamPacket, StreamStatistics, UlogStream};

use crate::jobs::record::{Recording, report::RecordReport};

/// The ids of a system and of its component. A system may have several autopilots.
pub(super) type SenderId = (u8, u8);

/// The senders of log streams, whose logs are numbered in the order of their first packets. One of
/// the logs is selected.
pub(super) struct Senders {
    requested_system: Option<u8>,
    selected_log: u64,
    /// Whether other logs are left out as requested.
    excludes_logs: bool,
    streams: BTreeMap<SenderId, SenderStream>,
    logs: u64,
    selected: Option<SelectedLog>,
    packets_before_header: u64,
    other_packets: u64,
    excluded_packets: u64,
    /// The bytes that a packet completes.
    completed: Vec<u8>,
}

/// The current stream of a sender.
#[derive(Default)]
struct SenderStream {
    stream: UlogStream,
    /// The number of its log, if its header has arrived.
    log: Option<u64>,
    /// The time of its last packet.
    last: u64,
}

/// The log that is selected.
struct SelectedLog {
    sender: SenderId,
    first: u64,
    last: u64,
    statistics: StreamStatistics,
}

impl Senders {
    /// Creates the list for the system and the log that `request` selects.
    pub(super) fn new(request: &Recording) -> Self {
        Self {
            requested_system: request.system,
            selected_log: request.log.map_or(1, u64::from),
            excludes_logs: request.log.is_some(),
            streams: BTreeMap::new(),
            logs: 0,
            selected: None,
            packets_before_header: 0,
            other_packets: 0,
            excluded_packets: 0,
            completed: Vec::new(),
        }
    }

    /// Adds a packet of `sender`, and appends the bytes of the selected log to `ulog`.
    pub(super) fn push(
        &mut self,
        sender: SenderId,
        packet: StreamPacket,
        time: u64,
        ulog: &mut Vec<u8>,
    ) {
        if self.requested_system.is_some_and(|system| system != sender.0) {
            self.excluded_packets += 1;
            return;
        }
        let stream = self.streams.entry(sender).or_default();
        let pushed = stream.stream.push(packet, time, &mut self.completed);
        if let Err(AnotherLogStarted(first)) = pushed {
            self.finish_stream(sender, ulog);
            return self.push(sender, first, time, ulog);
        }
        stream.last = time;
        if stream.log.is_none() && stream.stream.has_header() {
            self.logs += 1;
            stream.log = Some(self.logs);
            if self.logs == self.selected_log {
                let statistics = StreamStatistics::default();
                self.selected =
                    Some(SelectedLog { sender, first: time, last: time, statistics });
            }
        }
        if stream.log == Some(self.selected_log) {
            ulog.append(&mut self.completed);
        }
        self.completed.clear();
    }

    /// Ends all streams.
    pub(super) fn finish(&mut self, ulog: &mut Vec<u8>) {
        while let Some((sender, _)) = self.streams.first_key_value() {
            self.finish_stream(*sender, ulog);
        }
    }

    /// Ends the current stream of `sender`.
    fn finish_stream(&mut self, sender: SenderId, ulog: &mut Vec<u8>) {
        let Some(SenderStream { mut stream, log, last }) = self.streams.remove(&sender)
        else {
            return;
        };
        stream.finish(last, &mut self.completed);
        let statistics = stream.statistics();
        self.packets_before_header += statistics.packets_before_header;
        let packets = statistics.packets + statistics.late_packets;
        match &mut self.selected {
            Some(selected) if log == Some(self.selected_log) => {
                ulog.append(&mut self.completed);
                selected.last = last;
                selected.statistics = statistics;
            }
            _ if self.excludes_logs => self.excluded_packets += packets,
            _ => self.other_packets += packets,
        }
        // They are of logs without a header, which cannot be selected.
        if log != Some(self.selected_log) {
            self.other_packets += statistics.out_of_sequence_packets;
        }
        self.completed.clear();
    }

    /// Returns the number of logs.
    pub(super) fn logs(&self) -> u64 {
        self.logs
    }

    /// Returns the number of packets before the headers of logs.
    pub(super) fn packets_before_header(&self) -> u64 {
        self.packets_before_header
    }

    /// Adds the results to `report`. Returns the times of the first and the last packet of the
    /// selected log; `None` if there is no such log.
    pub(super) fn report(&self, report: &mut RecordReport) -> Option<(u64, u64)> {
        let selected = self.selected.as_ref()?;
        report.system = selected.sender.0;
        report.stream = selected.statistics;
        report.packets_before_header = self.packets_before_header;
        report.other_packets = self.other_packets;
        report.excluded_packets = self.excluded_packets;
        report.log = (self.selected_log, self.logs);
        Some((selected.first, selected.last))
    }
}
