//! The result of a recording.

use std::{ops::Range, path::PathBuf, time::Duration};

use logtool_mavlink::StreamStatistics;

/// The maximum number of damaged ranges of a telemetry log that are listed.
const MAX_LISTED: usize = 100;

/// The result of a [`Recording`](super::Recording).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordReport {
    /// The path of the ULog.
    pub path: PathBuf,
    /// The system id of the vehicle.
    pub system: u8,
    /// The counts of received, written and lost packets, messages and bytes.
    pub stream: StreamStatistics,
    /// Packets whose length or offset is impossible. They are lost.
    pub malformed_packets: u64,
    /// Packets of a vehicle that arrived cut or with a wrong checksum. They are lost.
    pub damaged_packets: u64,
    /// The time from the first packet to the last.
    pub duration: Duration,
    /// The reason why the recording ended.
    pub end: RecordingEnd,
    /// The damaged bytes of a telemetry log: at most the first 100 ranges.
    pub damage: Vec<Range<u64>>,
    /// The number of all damaged ranges.
    pub damaged_ranges: u64,
    /// The number of damaged bytes.
    pub damaged_bytes: u64,
    /// Packets before the header of a log, without which they cannot be read.
    pub packets_before_header: u64,
    /// Packets of other vehicles and of other logs, which the request does not leave out. They are
    /// not in the ULog.
    pub other_packets: u64,
    /// Packets of other vehicles and of other logs, which the request leaves out, because it
    /// selects a system or a log.
    pub excluded_packets: u64,
    /// The number of other autopilots and other senders of log streams that were ignored.
    pub other_senders: u64,
    /// The number of the log in the telemetry log, and the number of all its logs. Both are 1 for
    /// a vehicle.
    pub log: (u64, u64),
    /// Whether packets before the header are not a loss, because a stream was to be stopped.
    pub(super) is_restarted: bool,
}

/// The reason why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordingEnd {
    /// The duration is over, or the signal was set. `true` if the vehicle has confirmed that it
    /// stopped its stream.
    Requested(bool),
    /// All packets of the telemetry log were read.
    EndOfFile,
    /// There was no data for this time.
    Silence(Duration),
    /// The vehicle started another log.
    Restart,
    /// The connection failed.
    Disconnected(String),
}

impl RecordReport {
    /// Creates the report of a recording without losses.
    pub(super) fn new(path: PathBuf, end: RecordingEnd) -> Self {
        Self {
            path,
            system: 0,
            stream: StreamStatistics::default(),
            malformed_packets: 0,
            damaged_packets: 0,
            duration: Duration::ZERO,
            end,
            damage: Vec::new(),
            damaged_ranges: 0,
            damaged_bytes: 0,
            packets_before_header: 0,
            other_packets: 0,
            excluded_packets: 0,
            other_senders: 0,
            log: (1, 1),
            is_restarted: false,
        }
    }

    /// Returns whether something was lost: data on the way, bytes of a telemetry log, or the end
    /// of the stream. Packets before the header are a loss, unless the request stops an earlier
    /// stream.
    pub fn has_losses(&self) -> bool {
        let is_complete =
            matches!(self.end, RecordingEnd::Requested(_) | RecordingEnd::EndOfFile);
        self.stream.has_losses()
            || self.malformed_packets > 0
            || self.damaged_packets > 0
            || (self.packets_before_header > 0 && !self.is_restarted)
            || self.damaged_bytes > 0
            || self.other_packets > 0
            || !is_complete
    }

    pub(super) fn add_damage(&mut self, bytes: Range<u64>) {
        self.damaged_ranges += 1;
        self.damaged_bytes += bytes.end - bytes.start;
        if self.damage.len() < MAX_LISTED {
            self.damage.push(bytes);
        }
    }
}
