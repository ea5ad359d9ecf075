//! Determines the position of a packet in a round of 4160 packets.

/// The number of packets of a round.
pub(super) const PACKETS: usize = 4_160;

/// The number of packets of a cycle.
pub(super) const CYCLE: usize = 16;

/// The status types, in the order of a cycle: hours, minutes, seconds, day, month, year,
/// GPS, temperature, version.
pub(super) const STATUS_TYPES: &[u8; 9] = b"HMSDNYGTV";

/// A packet that is earlier than the previous one by less than the duration of this number
/// of packets was overtaken. Otherwise, the clock was set back.
const MAX_OVERTAKEN: f64 = 64.0;

/// After a longer gap, a new segment starts, because the position is ambiguous. In this
/// time, a clock that is off by 100 ppm drifts by less than half a cycle.
const MAX_GAP_MICROS: u32 = 20_000_000;

/// Microseconds per hour, at which the clock wraps.
const HOUR_MICROS: u32 = 3_600_000_000;

/// Determines the positions of packets from their times and status types.
#[derive(Clone, Debug)]
pub(super) struct PositionTracker {
    period_micros: f64,
    /// The time and the position of the previous packet.
    previous: Option<(u32, usize)>,
}

/// The position of a packet. It is correct up to a multiple of a cycle.
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
    /// Creates a tracker for a stream with one packet every `period_micros`.
    pub(super) fn new(period_micros: f64) -> Self {
        // Zero and NaN would make the number of packets in a gap infinite.
        Self { period_micros: period_micros.max(1.0), previous: None }
    }

    /// Returns the position of the next packet, which has this time and status type.
    pub(super) fn position(&mut self, micros: u32, status_type: u8) -> PacketPosition {
        let slot = slot_in_cycle(status_type);
        let Some((previous_micros, previous)) = self.previous else {
            return self.new_segment(micros, slot);
        };
        let periods_late =
            f64::from(previous_micros.saturating_sub(micros)) / self.period_micros;
        if micros < previous_micros && periods_late < MAX_OVERTAKEN {
            return position_before(previous, periods_late.round() as usize, slot)
                .unwrap_or_else(|| self.new_segment(micros, slot));
        }
        let gap = if micros >= previous_micros {
            micros - previous_micros
        } else {
            let next_hour = (micros % HOUR_MICROS).saturating_add(HOUR_MICROS);
            next_hour.saturating_sub(previous_micros)
        };
        let steps = (f64::from(gap) / self.period_micros).round() as usize;
        let next = match slot {
            // The clock stands still: this is the next packet of its type.
            Some(slot) if gap == 0 => {
                previous + 1 + (CYCLE * 2 + slot - previous % CYCLE - 1) % CYCLE
            }
            _ if gap > MAX_GAP_MICROS => return self.new_segment(micros, slot),
            None => previous + steps.max(1),
            Some(slot) => {
                // The time gives the approximate position, and the type the exact one.
                let guess = previous + steps.max(1);
                let slots_after = (CYCLE + slot - guess % CYCLE) % CYCLE;
                match slots_after {
                    0 => guess,
                    1..=4 => guess + slots_after,
                    12.. if guess + slots_after > previous + CYCLE => {
                        guess + slots_after - CYCLE
                    }
                    _ => return self.new_segment(micros, Some(slot)),
                }
            }
        };
        self.previous = Some((micros, next));
        PacketPosition::Continued(next)
    }

    /// Starts a segment with a packet at `slot` of a cycle, if its slot is known.
    fn new_segment(&mut self, micros: u32, slot: Option<usize>) -> PacketPosition {
        self.previous = slot.map(|slot| (micros, slot));
        slot.map_or(PacketPosition::Unknown, PacketPosition::NewSegment)
    }
}

/// Returns the position of a packet `steps` before `position`, or `None` if a packet of its
/// type cannot be there.
fn position_before(
    position: usize,
    steps: usize,
    slot: Option<usize>,
) -> Option<PacketPosition> {
    let Some(position) = position.checked_sub(steps) else {
        return Some(PacketPosition::Unknown);
    };
    slot.is_none_or(|slot| position % CYCLE == slot)
        .then_some(PacketPosition::Continued(position))
}

/// Returns the position of a status type in a cycle, if it has a fixed one.
fn slot_in_cycle(status_type: u8) -> Option<usize> {
    match status_type {
        b'1'..=b'7' => Some(usize::from(status_type - b'1') + STATUS_TYPES.len()),
        b'W' => Some(STATUS_TYPES.len()),
        _ => STATUS_TYPES.iter().position(|known_type| *known_type == status_type),
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
    fn period_of_zero_does_not_overflow_positions() {
        for period_micros in [0.0, -1.0, f64::NAN] {
            let mut tracker = PositionTracker::new(period_micros);
            assert_eq!(tracker.position(0, b'H'), PacketPosition::NewSegment(0));
            assert_eq!(tracker.position(33, 0xf9), PacketPosition::Continued(33));
        }
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
