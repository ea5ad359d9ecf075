//! Computes the return number of each point, and the number of returns of its firing, for LAS.
//!
//! A firing of a laser may have two returns. Their points have the same laser and the same
//! time, and are in the same packet, but not next to each other. So the last points of a batch
//! are kept until the next batch is known.
use std::collections::HashMap;

use arrow_select::concat::concat;
use logtool_core::{Error, ErrorKind, Result};

use crate::points::{
    attributes::{PointAttributes, array, integers_of_first},
    column::times_of_points,
    file::Points,
};

/// The return types of points: strongest and last (each of two returns), and both in one return.
const STRONGEST: u32 = 1;
const LAST: u32 = 2;
const BOTH: u32 = STRONGEST | LAST;

/// The maximum distance of the points of a firing: a packet has 12 blocks of 32 points (manuals of
/// HDL-64E, HDL-32E, VLP-16 and VLP-32C; packets of the VLS-128 are not longer).
const MAX_DISTANCE: usize = 12 * 32;

/// Points, and for each the number of the return and the number of returns of its firing.
pub(crate) type PointsWithReturns = (Points, Vec<(u8, u8)>);

/// A laser at a time.
type FiringKey = (Option<i64>, u32);

/// Points that are waiting for the other returns of their firings.
#[derive(Default)]
pub(crate) struct PendingReturns {
    /// The points that are waiting.
    waiting: Option<Points>,
    /// The returns of each firing of the last points, as bits.
    returns_by_firing: HashMap<FiringKey, u32>,
}

impl PendingReturns {
    /// Adds the points `new`, and returns those whose returns are known. `None` marks the end, and
    /// returns all remaining points.
    pub(crate) fn next(
        &mut self,
        attributes: &PointAttributes,
        new: Option<&Points>,
    ) -> Result<Option<PointsWithReturns>> {
        for (firing, kind) in new.into_iter().flat_map(|new| firings(new, attributes)) {
            *self.returns_by_firing.entry(firing).or_default() |= kind;
        }
        let points = match (self.waiting.take(), new) {
            (Some(waiting), Some(new)) => concatenate(&waiting, new)?,
            (Some(waiting), None) => waiting,
            (None, Some(new)) => new.clone(),
            (None, None) => return Ok(None),
        };
        let wait = if new.is_some() { MAX_DISTANCE.min(points.count) } else { 0 };
        let ready_count = points.count - wait;
        let ready = points.slice(0, ready_count);
        let returned = firings(&ready, attributes)
            .map(|(firing, kind)| match (self.returns_by_firing.get(&firing), kind) {
                (Some(&BOTH), STRONGEST) => (1, 2),
                (Some(&BOTH), LAST) => (2, 2),
                _ => (1, 1),
            })
            .collect();
        // Waiting points may belong to firings whose other return was already passed on.
        let from = ready_count.saturating_sub(MAX_DISTANCE);
        let recent = points.slice(from, points.count - from);
        let returns_by_firing =
            firings(&recent, attributes).filter_map(|(firing, _)| {
                Some((firing, *self.returns_by_firing.get(&firing)?))
            });
        self.returns_by_firing = returns_by_firing.collect();
        self.waiting = (wait > 0).then(|| points.slice(ready_count, wait));
        Ok(Some((ready, returned)))
    }
}

/// Returns the firing and the return type of each of `points`.
fn firings(
    points: &Points,
    attributes: &PointAttributes,
) -> impl Iterator<Item = (FiringKey, u32)> {
    let times_of_points = array(points, attributes.time).and_then(times_of_points);
    let times_of_points = times_of_points.unwrap_or_else(|| vec![None; points.count]);
    let lasers = integers_of_first(points, &attributes.laser);
    times_of_points
        .into_iter()
        .zip(lasers)
        .zip(integers_of_first(points, &attributes.return_type))
}

fn concatenate(before: &Points, after: &Points) -> Result<Points> {
    let arrays = before.arrays.iter().zip(&after.arrays);
    let arrays = arrays.map(|(before, after)| concat(&[before, after]));
    let arrays = arrays.collect::<Result<_, _>>().map_err(|err| {
        Error::new(ErrorKind::Unsupported, "cannot concatenate points").with_source(err)
    })?;
    Ok(Points { arrays, count: before.count + after.count })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, TimestampNanosecondArray, UInt32Array};

    use super::*;

    /// Points with these times, lasers and return types.
    fn points(rows: &[(i64, u32, u32)]) -> Points {
        let times =
            TimestampNanosecondArray::from_iter_values(rows.iter().map(|p| p.0));
        let integers =
            |values: Vec<u32>| Arc::new(UInt32Array::from(values)) as ArrayRef;
        let lasers = integers(rows.iter().map(|p| p.1).collect());
        let kinds = integers(rows.iter().map(|p| p.2).collect());
        Points { arrays: vec![Arc::new(times), lasers, kinds], count: rows.len() }
    }

    fn all(pieces: &[&[(i64, u32, u32)]]) -> Vec<(u8, u8)> {
        let mut attributes = PointAttributes::default();
        (attributes.time, attributes.laser) = (Some(0), vec![1]);
        attributes.return_type = vec![2];
        let (mut returns, mut numbers) = (PendingReturns::default(), Vec::new());
        for piece in pieces {
            let ready = returns.next(&attributes, Some(&points(piece))).unwrap();
            numbers.extend(ready.unwrap().1);
        }
        let rest = returns.next(&attributes, None).unwrap();
        numbers.extend(rest.unwrap().1);
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
            (2, 9, BOTH),
        ];
        let expected = [(2, 2), (1, 1), (1, 2), (1, 1), (1, 1)];
        for middle in 1..firings.len() {
            let (before, after) = firings.split_at(middle);
            assert_eq!(all(&[before, after]), expected, "{middle}");
        }
    }

    #[test]
    fn returns_in_different_batches_are_matched() {
        // Packets of 192 firings with two returns each, in batches of all lengths.
        let packet = |packet: i64| {
            let half = move |kind| (0..192).map(move |laser| (packet, laser, kind));
            half(STRONGEST).chain(half(LAST))
        };
        let firings: Vec<_> = (0..6).flat_map(packet).collect();
        let expected: Vec<_> =
            firings.iter().map(|(_, _, kind)| (*kind as u8, 2)).collect();
        for length in [1, 100, 191, 192, 193, 500, 5_000] {
            let pieces: Vec<_> = firings.chunks(length).collect();
            assert_eq!(all(&pieces), expected, "{length}");
        }
    }
}
