//! Counts the values at each position of a round, and selects the most frequent ones.

use crate::calibration::status_stream::packet_position::{CYCLE, PACKETS, STATUS};

/// The values of a round: seven per cycle.
pub(super) const VALUES: usize = PACKETS / CYCLE * PER_CYCLE;

/// The values of a cycle.
pub(super) const PER_CYCLE: usize = CYCLE - STATUS.len();

/// The maximum number of different values that are stored for a position.
const MAX_CANDIDATES: usize = 4;

/// The first values of a round.
const START: &[u8; 5] = b"UNIT#";

/// The values at each position of a round, with their frequencies.
#[derive(Clone, Debug)]
pub(super) struct Votes(Vec<[(u8, u32); MAX_CANDIDATES]>);

impl Votes {
    pub(super) fn new() -> Self {
        Self(vec![[(0, 0); MAX_CANDIDATES]; PACKETS])
    }

    /// Counts `value` at the position `at`.
    pub(super) fn add(&mut self, at: usize, value: u8) {
        self.add_often(at, value, 1);
    }

    fn add_often(&mut self, at: usize, value: u8, often: u32) {
        let Some(candidates) = self.0.get_mut(at) else { return };
        let existing =
            candidates.iter_mut().find(|(known, count)| *known == value && *count > 0);
        match existing {
            Some((_, count)) => *count = count.saturating_add(often),
            None => {
                let weakest = candidates.iter_mut().min_by_key(|(_, count)| *count);
                if let Some(weakest) = weakest {
                    *weakest = (value, often.max(weakest.1));
                }
            }
        }
    }

    /// Returns the most frequent value at each position of the values in a round, if
    /// there is one.
    pub(super) fn values(&self) -> Vec<Option<u8>> {
        let cycles = self.0.chunks(CYCLE);
        let values = cycles.flat_map(|cycle| cycle.iter().skip(STATUS.len()));
        values.map(winner).collect()
    }

    /// Adds these counts to `total`, shifted to their correct positions, if these are
    /// found.
    pub(super) fn join_into(&self, total: &mut Self) {
        let Some(cycles) = self.phase() else { return };
        for (at, candidates) in self.0.iter().enumerate() {
            for (value, count) in candidates.iter().filter(|(_, count)| *count > 0) {
                total.add_often((at + cycles * CYCLE) % PACKETS, *value, *count);
            }
        }
    }

    /// Returns the number of cycles by which these counts have to be shifted, so that the
    /// round has its start values and each laser its number.
    fn phase(&self) -> Option<usize> {
        let values = self.values();
        let start = START.iter().enumerate().map(|(at, value)| (at, *value, 3));
        let numbers = (0..64_u8).map(|id| (PER_CYCLE + 28 * usize::from(id), id, 1));
        let known: Vec<(usize, u8, i32)> = start.chain(numbers).collect();
        let score = |cycles: usize| -> i32 {
            let shift = VALUES - cycles * PER_CYCLE;
            let score = |(at, value, weight): &(usize, u8, i32)| match values
                .get((at + shift) % VALUES)
            {
                Some(Some(actual)) if actual == value => *weight,
                Some(Some(_)) => -3 * weight,
                _ => 0,
            };
            known.iter().map(score).sum()
        };
        let best = (0..PACKETS / CYCLE).max_by_key(|cycles| score(*cycles))?;
        (score(best) >= 5).then_some(best)
    }
}

fn winner(candidates: &[(u8, u32); MAX_CANDIDATES]) -> Option<u8> {
    let best = candidates.iter().max_by_key(|(_, count)| *count)?;
    (best.1 > 0).then_some(best.0)
}
