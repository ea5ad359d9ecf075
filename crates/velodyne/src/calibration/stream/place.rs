//! At which place of the long round of 4160 a packet is.

/// How many packets a round has.
pub(super) const PACKETS: usize = 4_160;

/// How many packets a short round has.
pub(super) const CYCLE: usize = 16;

/// The sorts of status, in the order of the short round: hours, minutes, seconds, day,
/// month, year, GPS, temperature, version.
pub(super) const STATUS: &[u8; 9] = b"HMSDNYGTV";

/// A packet that is overtaken by others is at most so many places behind.
const OVERTAKEN: f64 = 64.0;

/// A gap after which counting starts over: a clock that is off by 100 ppm has slipped by
/// less than half a short round.
const LONG_GAP_MICROS: u32 = 20_000_000;

/// Microseconds in an hour, at which the clock starts over.
const HOUR_MICROS: u32 = 3_600_000_000;

/// Follows the packets by their time and sort.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    period_micros: f64,
    /// The time and the place of the packet before.
    last: Option<(u32, usize)>,
}

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// So many packets after the first one of its segment, which is itself at its place
    /// of the short round.
    Here(usize),
    /// The same, and a segment begins with it.
    Anew(usize),
    /// Unknown.
    Nowhere,
}

impl Placer {
    pub(super) fn new(period_micros: f64) -> Self {
        Self { period_micros, last: None }
    }

    /// The place of the packet of this time and sort.
    pub(super) fn place(&mut self, micros: u32, sort: u8) -> Placed {
        let slot = slot(sort);
        let Some((before, at)) = self.last else {
            let Some(slot) = slot else { return Placed::Nowhere };
            self.last = Some((micros, slot));
            return Placed::Anew(slot);
        };
        let behind = f64::from(before.saturating_sub(micros)) / self.period_micros;
        if micros < before && behind < OVERTAKEN {
            return overtaken(at, behind.round() as usize, slot)
                .unwrap_or_else(|| self.anew(micros, slot));
        }
        let gap = if micros >= before {
            micros - before
        } else {
            (micros % HOUR_MICROS).saturating_add(HOUR_MICROS).saturating_sub(before)
        };
        let steps = (f64::from(gap) / self.period_micros).round() as usize;
        let next = match slot {
            // A clock that stands still: the next packet of this sort.
            Some(slot) if gap == 0 => {
                at + 1 + (CYCLE * 2 + slot - at % CYCLE - 1) % CYCLE
            }
            _ if gap > LONG_GAP_MICROS => return self.anew(micros, slot),
            None => at + steps.max(1),
            Some(slot) => {
                let guess = at + steps.max(1);
                let off = (CYCLE + slot - guess % CYCLE) % CYCLE;
                match off {
                    0 => guess,
                    1..=4 => guess + off,
                    12.. if guess + off > at + CYCLE => guess + off - CYCLE,
                    _ => return self.anew(micros, Some(slot)),
                }
            }
        };
        self.last = Some((micros, next));
        Placed::Here(next)
    }

    fn anew(&mut self, micros: u32, slot: Option<usize>) -> Placed {
        self.last = slot.map(|slot| (micros, slot));
        slot.map_or(Placed::Nowhere, Placed::Anew)
    }
}

/// The place of a packet that is so many steps behind the one at `at`, if it is of the sort
/// that belongs there.
fn overtaken(at: usize, steps: usize, slot: Option<usize>) -> Option<Placed> {
    let Some(place) = at.checked_sub(steps) else { return Some(Placed::Nowhere) };
    slot.is_none_or(|slot| place % CYCLE == slot).then_some(Placed::Here(place))
}

/// The place in the short round that a sort of status always has, if it has one.
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
    fn lost_packets_and_the_full_hour_are_stepped_over() {
        let mut placer = Placer::new(288.0);
        let hour = HOUR_MICROS;
        assert_eq!(placer.place(hour - 600, b'H'), Placed::Anew(0));
        assert_eq!(placer.place(hour - 312, b'M'), Placed::Here(1));
        // Three are lost, and the hour is full.
        assert_eq!(placer.place(288 * 4 - 312, b'Y'), Placed::Here(5));
        assert_eq!(placer.place(288 * 5 - 312, b'G'), Placed::Here(6));
        // An unknown sort takes the place that its time says.
        assert_eq!(placer.place(288 * 10 - 312, 0xf9), Placed::Here(11));
    }

    #[test]
    fn packets_that_were_overtaken_are_put_where_they_belong() {
        let mut placer = Placer::new(288.0);
        assert_eq!(placer.place(0, b'H'), Placed::Anew(0));
        assert_eq!(placer.place(288 * 2, b'S'), Placed::Here(2));
        assert_eq!(placer.place(288, b'M'), Placed::Here(1));
        assert_eq!(placer.place(288 * 3, b'D'), Placed::Here(3));
        // A clock that is set back is something else.
        assert_eq!(placer.place(288, b'7'), Placed::Anew(15));
    }

    #[test]
    fn a_clock_that_stands_still_leaves_the_sorts() {
        let mut placer = Placer::new(288.0);
        assert_eq!(placer.place(7, b'7'), Placed::Anew(15));
        assert_eq!(placer.place(7, b'H'), Placed::Here(16));
        assert_eq!(placer.place(7, b'H'), Placed::Here(32));
    }
}
