//! Counts the values at each position of a round, and selects the most frequent ones.

use crate::calibration::status_stream::packet_position::{
    CYCLE, PACKETS, STATUS_TYPES,
};

/// The number of values of a round.
pub(super) const VALUES: usize = PACKETS / CYCLE * VALUES_PER_CYCLE;

/// The number of values of a cycle: seven.
pub(super) const VALUES_PER_CYCLE: usize = CYCLE - STATUS_TYPES.len();

/// The maximum number of different values that are stored for a position.
const MAX_CANDIDATES: usize = 4;

/// The first values of a round.
const START: &[u8; 5] = b"UNIT#";

/// The minimum score of a shift. A start value at its position scores 3, a laser number
/// scores 1, and a wrong value scores three times as much below zero.
const MIN_SCORE: i32 = 5;

/// The values at each packet position of a round, with their frequencies.
#[derive(Clone, Debug)]
pub(super) struct ValueVotes(Vec<[(u8, u32); MAX_CANDIDATES]>);

impl ValueVotes {
    pub(super) fn new() -> Self {
        Self(vec![[(0, 0); MAX_CANDIDATES]; PACKETS])
    }

    /// Counts `value` at `position`.
    pub(super) fn add(&mut self, position: usize, value: u8) {
        self.add_count(position, value, 1);
    }

    /// Counts `value` at `position` the given number of times. If there are too many
    /// different values, it replaces the least frequent one.
    fn add_count(&mut self, position: usize, value: u8, added: u32) {
        let Some(candidates) = self.0.get_mut(position) else { return };
        let existing = candidates
            .iter_mut()
            .find(|(candidate, count)| *candidate == value && *count > 0);
        match existing {
            Some((_, count)) => *count = count.saturating_add(added),
            None => {
                let weakest = candidates.iter_mut().min_by_key(|(_, count)| *count);
                if let Some(weakest) = weakest {
                    // A larger count is inherited, so that a value that becomes frequent
                    // late can still win.
                    *weakest = (value, added.max(weakest.1));
                }
            }
        }
    }

    /// Returns the most frequent value at each position of the values in a round, if
    /// there is one.
    pub(super) fn values(&self) -> Vec<Option<u8>> {
        let cycles = self.0.chunks(CYCLE);
        let values = cycles.flat_map(|cycle| cycle.iter().skip(STATUS_TYPES.len()));
        values.map(most_frequent).collect()
    }

    /// Adds these counts to `total`, shifted to their correct positions. Adds nothing if the
    /// correct positions cannot be determined.
    pub(super) fn add_to(&self, total: &mut Self) {
        let Some(cycles) = self.cycles_to_shift() else { return };
        for (position, candidates) in self.0.iter().enumerate() {
            let shifted = (position + cycles * CYCLE) % PACKETS;
            for (value, count) in candidates.iter().filter(|(_, count)| *count > 0) {
                total.add_count(shifted, *value, *count);
            }
        }
    }

    /// Returns the number of cycles by which these counts have to be shifted, so that the
    /// start values of the round and the numbers of the lasers are at their positions.
    fn cycles_to_shift(&self) -> Option<usize> {
        let values = self.values();
        let start_values =
            START.iter().enumerate().map(|(index, value)| (index, *value, 3));
        let laser_numbers =
            (0..64_u8).map(|id| (VALUES_PER_CYCLE + 28 * usize::from(id), id, 1));
        let expected: Vec<(usize, u8, i32)> =
            start_values.chain(laser_numbers).collect();
        let score = |cycles: usize| -> i32 {
            let shift = VALUES - cycles * VALUES_PER_CYCLE;
            let score_of_value =
                |(index, value, weight): &(usize, u8, i32)| match values
                    .get((index + shift) % VALUES)
                {
                    Some(Some(actual)) if actual == value => *weight,
                    Some(Some(_)) => -3 * weight,
                    _ => 0,
                };
            expected.iter().map(score_of_value).sum()
        };
        let best = (0..PACKETS / CYCLE).max_by_key(|cycles| score(*cycles))?;
        (score(best) >= MIN_SCORE).then_some(best)
    }
}

fn most_frequent(candidates: &[(u8, u32); MAX_CANDIDATES]) -> Option<u8> {
    let (value, count) = candidates.iter().max_by_key(|(_, count)| *count)?;
    (*count > 0).then_some(*value)
}
