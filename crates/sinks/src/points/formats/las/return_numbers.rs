//! Computes the return number of each point, and the number of returns of its firing, for LAS.
//!
//! A firing of a laser may have two returns. Their points have the same laser and the same time,
//! and are in the same packet, but not next to each other.

/// The return types of points: the strongest return and the last return.
const STRONGEST: u32 = 1;
const LAST: u32 = 2;

/// The maximum distance of the points of a firing: a packet has 12 blocks of 32 points (manuals of
/// HDL-64E, HDL-32E, VLP-16 and VLP-32C; packets of the VLS-128 are not longer).
pub(crate) const MAX_DISTANCE: usize = 12 * 32;

/// The number of points that are remembered. It is a power of two.
const REMEMBERED: usize = 512;

/// The number of lists of points, each of firings with the same hash. It is a power of two.
const LISTS: usize = 1024;

/// A point of a firing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Firing {
    pub(crate) time: i64,
    pub(crate) laser: u32,
    pub(crate) return_type: u32,
}

/// The other return of a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnPair {
    /// The number of points after the other return, at least 1.
    pub(crate) distance: usize,
    /// The return number of this point: 1 or 2. The other return has the other number.
    pub(crate) number: u8,
}

/// The last points, in which the other return of a firing is found.
pub(crate) struct ReturnNumbers {
    /// The number of points so far. The numbers of points count from 1.
    count: u64,
    /// The number of the last point of each list, or 0.
    last_points: Vec<u64>,
    /// The last points, each at the remainder of its number, and the number of the point before it
    /// in its list.
    points: Vec<(Firing, u64)>,
}

impl Default for ReturnNumbers {
    fn default() -> Self {
        let (last_points, points) =
            (vec![0; LISTS], vec![Default::default(); REMEMBERED]);
        Self { count: 0, last_points, points }
    }
}

impl ReturnNumbers {
    /// Adds the next point, and returns the other return of its firing if that is one of the last
    /// points. `None` is a point without a time.
    pub(crate) fn add(&mut self, firing: Option<Firing>) -> Option<ReturnPair> {
        self.count += 1;
        let number = self.count;
        let firing = firing?;
        let other_type = match firing.return_type {
            STRONGEST => LAST,
            LAST => STRONGEST,
            // A return that is both is the only one.
            _ => return None,
        };
        let last_point = self.last_points.get_mut(firing.list())?;
        let previous = std::mem::replace(last_point, number);
        *self.points.get_mut(number as usize % REMEMBERED)? = (firing, previous);
        let other = Firing { return_type: other_type, ..firing };
        let mut candidate = previous;
        // The points of a list are in order, so that those before are too far away as well.
        while candidate > 0 && number - candidate <= MAX_DISTANCE as u64 {
            let (point, previous) =
                *self.points.get(candidate as usize % REMEMBERED)?;
            if point == other {
                let distance = (number - candidate) as usize;
                let number = if firing.return_type == STRONGEST { 1 } else { 2 };
                return Some(ReturnPair { distance, number });
            }
            candidate = previous;
        }
        None
    }
}

impl Firing {
    /// Returns the list that the point belongs to.
    fn list(&self) -> usize {
        let key = self.time.cast_unsigned() ^ u64::from(self.laser) << 32;
        // Fibonacci hashing: the high bits of the product depend on all bits of the key.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize % LISTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The return number and the number of returns of each point with these times, lasers and
    /// return types.
    fn return_numbers(points: &[(i64, u32, u32)]) -> Vec<(u8, u8)> {
        let (mut returns, mut numbers) =
            (ReturnNumbers::default(), vec![(1, 1); points.len()]);
        for (index, (time, laser, return_type)) in points.iter().enumerate() {
            let (time, laser, return_type) = (*time, *laser, *return_type);
            let firing = Firing { time, laser, return_type };
            if let Some(pair) = returns.add(Some(firing)) {
                numbers[index] = (pair.number, 2);
                numbers[index - pair.distance] = (3 - pair.number, 2);
            }
        }
        numbers
    }

    #[test]
    fn firing_with_one_return_has_return_count_1_in_dual_return_mode() {
        // Laser 7 with two returns, laser 8 with one, laser 7 with only the last, laser 9 with both
        // in one.
        let firings = [
            (1, 7, LAST),
            (1, 8, STRONGEST),
            (1, 7, STRONGEST),
            (2, 7, LAST),
            (2, 9, STRONGEST | LAST),
        ];
        let expected = [(2, 2), (1, 1), (1, 2), (1, 1), (1, 1)];
        assert_eq!(return_numbers(&firings), expected);
    }

    #[test]
    fn returns_in_the_two_halves_of_a_packet_are_matched() {
        // Packets of 192 firings with two returns each.
        let packet = |packet: i64| {
            let half = move |kind| (0..192).map(move |laser| (packet, laser, kind));
            half(STRONGEST).chain(half(LAST))
        };
        let firings: Vec<_> = (0..6).flat_map(packet).collect();
        let expected: Vec<_> =
            firings.iter().map(|(_, _, kind)| (*kind as u8, 2)).collect();
        assert_eq!(return_numbers(&firings), expected);
    }

    #[test]
    fn returns_of_different_packets_are_not_matched() {
        let mut firings = vec![(0, 0, STRONGEST); 1];
        firings.extend((1..=MAX_DISTANCE as i64).map(|time| (time, 0, STRONGEST)));
        firings.push((0, 0, LAST));
        let numbers = return_numbers(&firings);
        assert!(numbers.iter().all(|numbers| *numbers == (1, 1)));
        firings.remove(1);
        assert_eq!(return_numbers(&firings)[0], (1, 2));
    }
}
