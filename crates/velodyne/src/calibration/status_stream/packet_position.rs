//! Determines the position of a packet in a round of 4160 packets.

/// The packets of a round.
pub(super) const PACKETS: usize = 4_160;

/// The packets of a cycle.
pub(super) const CYCLE: usize = 16;

/// The status types, in the order of a cycle: hours, minutes, seconds, day, month, year,
/// GPS, temperature, version.
pub(super) const STATUS: &[u8; 9] = b"HMSDNYGTV";

/// The maximum number of positions by which a packet may be overtaken.
const OVERTAKEN: f64 = 64.0;

/// A gap after which positions are counted from a new start. In this time a clock that is off by
/// 100 ppm drifts by less than half a cycle.
const LONG_GAP_MICROS: u32 = 20_000_000;

/// Microseconds per hour, at which the clock wraps.
const HOUR_MICROS: u32 = 3_600_000_000;

/// Tracks the packets by their times and status types.
#[derive(Clone, Debug)]
pub(super) struct PositionTracker {
    period_micros: f64,
    /// The time and the position of the previous packet.
    last: Option<(u32, usize)>,
}

/// The position of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketPosition {
    /// The number of packets since the start of its segment, plus the position of the
    /// segment's first packet in its cycle.
    Continued(usize),
    /// The position of the first packet of a new segment.
    NewSegment(usize),
    /// The position is unknown.
    Unknown,
}

impl PositionTracker {
    pub(super) fn new(period_micros: f64) -> Self {
        Self { period_micros, last: None }
    }

    /// Returns the position of a packet with this time and status type.
    pub(super) fn position(&mut self, micros: u32, sort: u8) -> PacketPosition {
        let slot = slot(sort);
        let Some((before, at)) = self.last else {
            let Some(slot) = slot else { return PacketPosition::Unknown };
            self.last = Some((micros, slot));
            return PacketPosition::NewSegment(slot);
        };
        let periods_late =
            f64::from(before.saturating_sub(micros)) / self.period_micros;
        if micros < before && periods_late < OVERTAKEN {
            return position_before(at, periods_late.round() as usize, slot)
                .unwrap_or_else(|| self.new_segment(micros, slot));
        }
        let gap = if micros >= before {
            micros - before
        } else {
            (micros % HOUR_MICROS).saturating_add(HOUR_MICROS).saturating_sub(before)
        };
        let steps = (f64::from(gap) / self.period_micros).round() as usize;
        let next = match slot {
            // The clock stands still: this is the next packet of its type.
            Some(slot) if gap == 0 => {
                at + 1 + (CYCLE * 2 + slot - at % CYCLE - 1) % CYCLE
            }
            _ if gap > LONG_GAP_MICROS => return self.new_segment(micros, slot),
            None => at + steps.max(1),
            Some(slot) => {
                let guess = at + steps.max(1);
                let slots_after = (CYCLE + slot - guess % CYCLE) % CYCLE;
                match slots_after {
                    0 => guess,
                    1..=4 => guess + slots_after,
                    12.. if guess + slots_after > at + CYCLE => {
                        guess + slots_after - CYCLE
                    }
                    _ => return self.new_segment(micros, Some(slot)),
                }
            }
        };
        self.last = Some((micros, next));
        PacketPosition::Continued(next)
    }

    fn new_segment(&mut self, micros: u32, slot: Option<usize>) -> PacketPosition {
        self.last = slot.map(|slot| (micros, slot));
        slot.map_or(PacketPosition::Unknown, PacketPosition::NewSegment)
    }
}

/// Returns the position of a packet `steps` before the one at `at`, if its type belongs
/// there.
fn position_before(
    at: usize,
    steps: usize,
    slot: Option<usize>,
) -> Option<PacketPosition> {
    let Some(position) = at.checked_sub(steps) else {
        return Some(PacketPosition::Unknown);
    };
    slot.is_none_or(|slot| position % CYCLE == slot)
        .then_some(PacketPosition::Continued(position))
}

/// Returns the fixed position of a status type in a cycle, if it has one.
fn slot(sort: u8) -> Option<usize> {
    match sort {
        b'1'..=b'7' => Some(usize::from(sort - b'1') + STATUS.len()),
        b'W' => Some(STATUS.len()),
        _ => STATUS.iter().position(|known| *known == sort),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_continue_after_lost_packets_and_the_full_hour() {
        let mut tracker = PositionTracker::new(288.0);
        let hour = HOUR_MICROS;
        assert_eq!(tracker.position(hour - 600, b'H'), PacketPosition::NewSegment(0));
        assert_eq!(tracker.position(hour - 312, b'M'), PacketPosition::Continued(1));
        // Three packets are lost, and the clock wraps.
        assert_eq!(tracker.position(288 * 4 - 312, b'Y'), PacketPosition::Continued(5));
        assert_eq!(tracker.position(288 * 5 - 312, b'G'), PacketPosition::Continued(6));
        // The position of an unknown type follows from its time.
        assert_eq!(
            tracker.position(288 * 10 - 312, 0xf9),
            PacketPosition::Continued(11)
        );
    }

    #[test]
    fn overtaken_packets_have_their_own_positions() {
        let mut tracker = PositionTracker::new(288.0);
        assert_eq!(tracker.position(0, b'H'), PacketPosition::NewSegment(0));
        assert_eq!(tracker.position(288 * 2, b'S'), PacketPosition::Continued(2));
        assert_eq!(tracker.position(288, b'M'), PacketPosition::Continued(1));
        assert_eq!(tracker.position(288 * 3, b'D'), PacketPosition::Continued(3));
        // A clock that is set back starts a new segment.
        assert_eq!(tracker.position(288, b'7'), PacketPosition::NewSegment(15));
    }

    #[test]
    fn positions_follow_the_types_if_the_clock_stands_still() {
        let mut tracker = PositionTracker::new(288.0);
        assert_eq!(tracker.position(7, b'7'), PacketPosition::NewSegment(15));
        assert_eq!(tracker.position(7, b'H'), PacketPosition::Continued(16));
        assert_eq!(tracker.position(7, b'H'), PacketPosition::Continued(32));
    }
}
