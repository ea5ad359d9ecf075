//! The calibration that the HDL-64E S2 and S3 send, a byte with each packet.
//!
//! ```text
//! 16 packets     H M S D N Y G T V   1 2 3 4 5 6 7    sorts: nine of status, seven of values
//! 260 of these   "UNIT#", two thresholds              7 values
//!                64 x (21 values of a laser, warning, 6 unused; the last without these 7)
//!                4 x 7 values: date, speed, addresses, returns, power, check
//! ```
//! (HDL-64E S3 manual, p. 32 to 37.) Packets get lost, so a value is not counted into
//! its place but put there by the time of its packet and by its sort; holes are filled
//! from the next round, and where rounds differ the most frequent value counts.

mod laser_status;
mod place;
mod record;
mod votes;

use crate::calibration::{
    laser::Calibration,
    stream::{
        place::{PACKETS, Placer},
        votes::Votes,
    },
};

pub use crate::calibration::stream::record::{Check, StreamReport};

/// Gathers the status bytes of a stream of packets.
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
    placer: Placer,
    /// What was seen since the last long gap, at places that are right but for a number
    /// of rounds of 16.
    segment: Votes,
    /// What was seen before it.
    whole: Votes,
    /// The last value of each of the nine sorts of status.
    status: [Option<u8>; 9],
    warnings: u64,
    packets: u64,
}

impl StatusStream {
    /// A stream of a packet every `period_micros`.
    pub fn new(period_micros: f64) -> Self {
        Self {
            placer: Placer::new(period_micros),
            segment: Votes::new(),
            whole: Votes::new(),
            status: [None; 9],
            warnings: 0,
            packets: 0,
        }
    }

    /// Adds the last six bytes of a packet: microseconds past the hour, the sort of
    /// status, its value.
    pub fn add(&mut self, micros: u32, sort: u8, value: u8) {
        self.packets += 1;
        self.warnings += u64::from(sort == b'W');
        if let Some(at) = place::STATUS.iter().position(|known| *known == sort)
            && let Some(status) = self.status.get_mut(at)
        {
            *status = Some(value);
        }
        match self.placer.place(micros, sort) {
            place::Placed::Here(at) => self.segment.add(at % PACKETS, value),
            place::Placed::Anew(at) => {
                self.segment.join_into(&mut self.whole);
                self.segment = Votes::new();
                self.segment.add(at % PACKETS, value);
            }
            place::Placed::Nowhere => {}
        }
    }

    /// How many packets were added.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether every value is there and the check is right, so that no more are needed.
    /// This takes as long as reading them all: not to be asked after every packet.
    pub fn is_complete(&self) -> bool {
        let check = self.report().check;
        matches!(check, Check::Crc | Check::Length)
    }

    /// All that can be said by now.
    pub fn report(&self) -> StreamReport {
        let mut whole = self.whole.clone();
        self.segment.join_into(&mut whole);
        record::read(&whole.values(), &self.status, self.warnings > 0)
    }

    /// The calibration, if every laser's is complete.
    pub fn calibration(&self) -> Option<Calibration> {
        self.report().calibration
    }
}
