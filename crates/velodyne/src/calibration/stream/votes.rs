//! Which values were seen at each place, and which of them counts.

use crate::calibration::stream::place::{CYCLE, PACKETS, STATUS};

/// How many values a round has: seven in each short round.
pub(super) const VALUES: usize = PACKETS / CYCLE * PER_CYCLE;

/// How many values a short round has.
pub(super) const PER_CYCLE: usize = CYCLE - STATUS.len();

/// How many different values are remembered of a place.
const RIVALS: usize = 4;

/// What the values of a round begin with.
const START: &[u8; 5] = b"UNIT#";

/// The values seen at each place of a round, and how often.
#[derive(Clone, Debug)]
pub(super) struct Votes(Vec<[(u8, u32); RIVALS]>);

impl Votes {
    pub(super) fn new() -> Self {
        Self(vec![[(0, 0); RIVALS]; PACKETS])
    }

    /// Counts `value` at the place `at`.
    pub(super) fn add(&mut self, at: usize, value: u8) {
        self.add_often(at, value, 1);
    }

    fn add_often(&mut self, at: usize, value: u8, often: u32) {
        let Some(rivals) = self.0.get_mut(at) else { return };
        let same =
            rivals.iter_mut().find(|(known, count)| *known == value && *count > 0);
        match same {
            Some((_, count)) => *count = count.saturating_add(often),
            None => {
                let weakest = rivals.iter_mut().min_by_key(|(_, count)| *count);
                if let Some(weakest) = weakest {
                    *weakest = (value, often.max(weakest.1));
                }
            }
        }
    }

    /// The value that counts at each place of the round that has one, by the number of
    /// the value.
    pub(super) fn values(&self) -> Vec<Option<u8>> {
        let cycles = self.0.chunks(CYCLE);
        let values = cycles.flat_map(|cycle| cycle.iter().skip(STATUS.len()));
        values.map(winner).collect()
    }

    /// Adds what is here to `whole`, each value at its right place, if that is found.
    pub(super) fn join_into(&self, whole: &mut Self) {
        let Some(cycles) = self.phase() else { return };
        for (at, rivals) in self.0.iter().enumerate() {
            for (value, count) in rivals.iter().filter(|(_, count)| *count > 0) {
                whole.add_often((at + cycles * CYCLE) % PACKETS, *value, *count);
            }
        }
    }

    /// By how many short rounds what is here has to be moved on: where the values then
    /// begin as they should, and each laser's with its number.
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
                Some(Some(seen)) if seen == value => *weight,
                Some(Some(_)) => -3 * weight,
                _ => 0,
            };
            known.iter().map(score).sum()
        };
        let best = (0..PACKETS / CYCLE).max_by_key(|cycles| score(*cycles))?;
        (score(best) >= 5).then_some(best)
    }
}

fn winner(rivals: &[(u8, u32); RIVALS]) -> Option<u8> {
    let best = rivals.iter().max_by_key(|(_, count)| *count)?;
    (best.1 > 0).then_some(best.0)
}
