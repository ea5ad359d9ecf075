//! The calibration that an HDL-64E S2 or S3 sends, one byte per packet.
//!
//! ```text
//! 16 packets     H M S D N Y G T V   1 2 3 4 5 6 7    types: nine of status, seven of values
//! 260 of these   "UNIT#", two thresholds              7 values
//!                64 x (21 values of a laser, warning, 6 unused; the last without these 7)
//!                4 x 7 values: date, speed, addresses, returns, power, check
//! ```
//! (HDL-64E S3 manual, p. 32 to 37.) Sixteen packets are a cycle, and 260 cycles are a
//! round. Packets may be lost, so the position of a value follows from the time and the
//! type of its packet. Missing values are filled in from the next round. If rounds differ,
//! the most frequent value is used.

mod laser_values;
mod packet_position;
mod report;
mod value_votes;

use crate::calibration::{
    laser::Calibration,
    status_stream::{
        packet_position::{PACKETS, PacketPosition, PositionTracker, STATUS_TYPES},
        value_votes::ValueVotes,
    },
};

pub use crate::calibration::status_stream::report::StreamReport;
pub use crate::calibration::status_stream::report::ValueVerification;

/// Collects the status bytes of a stream of packets.
///
/// ```
/// use logtool_velodyne::calibration::StatusStream;
///
/// let mut stream = StatusStream::new(288.0);
/// stream.add(288, b'H', 12);
/// let report = stream.report();
/// assert!(report.calibration.is_none());
/// assert_eq!(report.incomplete.len(), 64);
/// ```
#[derive(Clone, Debug)]
pub struct StatusStream {
    tracker: PositionTracker,
    /// The values since the last long gap. Their positions are correct up to a multiple
    /// of the 16 packets of a cycle.
    segment: ValueVotes,
    /// The values before the last long gap, at their correct positions.
    votes: ValueVotes,
    /// The last value of each of the nine status types.
    status: [Option<u8>; 9],
    /// Whether there was a value of the type for warnings, which only an S3 sends.
    has_warnings: bool,
    packets: u64,
}

impl StatusStream {
    /// Creates a collector for a stream with one packet every `period_micros`.
    pub fn new(period_micros: f64) -> Self {
        Self {
            tracker: PositionTracker::new(period_micros),
            segment: ValueVotes::new(),
            votes: ValueVotes::new(),
            status: [None; 9],
            has_warnings: false,
            packets: 0,
        }
    }

    /// Adds the last six bytes of a packet: microseconds past the hour, status type and
    /// status value.
    pub fn add(&mut self, micros: u32, status_type: u8, value: u8) {
        self.packets += 1;
        self.has_warnings |= status_type == b'W';
        for (known_type, last_value) in STATUS_TYPES.iter().zip(&mut self.status) {
            if *known_type == status_type {
                *last_value = Some(value);
            }
        }
        match self.tracker.position(micros, status_type) {
            PacketPosition::Continued(position) => {
                self.segment.add(position % PACKETS, value)
            }
            PacketPosition::NewSegment(position) => {
                self.segment.add_to(&mut self.votes);
                self.segment = ValueVotes::new();
                self.segment.add(position % PACKETS, value);
            }
            PacketPosition::Unknown => {}
        }
    }

    /// Returns the number of packets that were added.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns whether all values are known and verified, so that no more packets are
    /// needed. This parses all values, so do not call it after each packet.
    pub fn is_complete(&self) -> bool {
        let check = self.report().check;
        matches!(check, ValueVerification::Crc | ValueVerification::Length)
    }

    /// Returns the information in the packets that were added so far.
    pub fn report(&self) -> StreamReport {
        let mut votes = self.votes.clone();
        self.segment.add_to(&mut votes);
        report::parse(&votes.values(), &self.status, self.has_warnings)
    }

    /// Returns the calibration if the values of all lasers are complete.
    pub fn calibration(&self) -> Option<Calibration> {
        self.report().calibration
    }
}
