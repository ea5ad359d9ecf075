//! What position packets tell of the clock of a lidar, and of that of the capture.

use logtool_core::{ClockFit, Timestamp};

use crate::{
    capture::{
        item::NO_TIME,
        position::{LOCKED, Position},
    },
    clock_fit,
    points::nearest,
};

/// How many packets are kept to compare clocks: at one a second, three days.
const MAX_OBSERVATIONS: usize = 1 << 18;

/// What is counted of the position packets of a lidar.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    packets: u64,
    /// Those that say that the clock follows the pulse of a receiver.
    locked: u64,
    /// Those with a sentence of a receiver that has a position.
    valid: u64,
    /// UTC less the time of the capture, in nanoseconds, of those that are both and tell
    /// the date.
    offsets: Vec<i64>,
    /// The same of those that do not say that they are locked, for want of better: some
    /// HDL-32E never do.
    unsure: Vec<i64>,
}

impl Clock {
    /// Counts the packet `payload`, captured at `time`.
    pub(super) fn add(&mut self, payload: &[u8], time: Timestamp) {
        let Some(position) = Position::of(payload) else { return };
        let is_locked = position.pulse == LOCKED;
        let is_valid = position.fix.is_valid == Some(true);
        self.packets += 1;
        self.locked += u64::from(is_locked);
        self.valid += u64::from(is_valid);
        // The sentence is of the last full second; the stamp is of the packet itself.
        let sentence = position.fix.utc_nanos.filter(|_| is_valid);
        let utc = sentence.map(|utc| nearest(utc, 0, position.stamp));
        let offset = utc.and_then(|utc| utc.checked_sub(time.as_nanos()));
        let list = if is_locked { &mut self.offsets } else { &mut self.unsure };
        if let Some(offset) = offset
            && time != NO_TIME
            && list.len() < MAX_OBSERVATIONS
        {
            list.push(offset);
        }
    }

    /// What the clock of the lidar is worth.
    pub(super) fn verdict(&self) -> String {
        let Self { packets, locked, valid, .. } = self;
        let verdict = match (self.is_locked(), self.is_valid()) {
            (true, true) => {
                "locked: it follows the pulse of a receiver, and NMEA tells the hour"
            }
            (false, true) => "NMEA only: it is set without a pulse",
            (true, false) => "pulse only: what hour it is, is not known",
            (false, false) => {
                "counts from power-on: there is no receiver with a position"
            }
        };
        format!("{verdict} ({locked} of {packets} packets say locked, {valid} valid)")
    }

    /// Whether what it tells is UTC.
    pub(super) fn tells_utc(&self) -> bool {
        self.is_valid()
    }

    /// How far UTC is ahead of the clock of the capture, as the packets of all lidars tell:
    /// those that are locked, or else the others, unless `is_sure`.
    pub(super) fn fit<'c>(
        clocks: impl Iterator<Item = &'c Self> + Clone,
        is_sure: bool,
    ) -> Option<ClockFit> {
        let all = |of: fn(&Self) -> &Vec<i64>| -> Vec<i64> {
            clocks.clone().flat_map(of).copied().collect()
        };
        let locked = clock_fit::fit(all(|one| &one.offsets), "position packets");
        locked.or_else(|| {
            let unsure = if is_sure { Vec::new() } else { all(|one| &one.unsure) };
            clock_fit::fit(unsure, "position packets that do not tell of a pulse")
        })
    }

    fn is_locked(&self) -> bool {
        self.locked * 2 > self.packets
    }

    fn is_valid(&self) -> bool {
        self.valid * 2 > self.packets
    }
}
