//! Computes the return number of each point, and the number of returns of its firing, for LAS.
//!
//! A firing of a laser may have two returns. Their points have the same laser and the same
//! time, and are in the same packet, but not next to each other. So the last points of a batch
//! are retained until the next batch arrives.

use std::collections::HashMap;

use arrow_select::concat::concat;
use logtool_core::{Error, ErrorKind, Result};

use crate::points::{
    attributes::{PointAttributes, array_at, first_integers},
    column::time_values,
    file::Points,
};

/// The return types of points as bits: the strongest return and the last return, which may be the
/// same.
const STRONGEST: u32 = 1;
const LAST: u32 = 2;
const BOTH: u32 = STRONGEST | LAST;

/// The maximum distance of the points of a firing: a packet has 12 blocks of 32 points (manuals of
/// HDL-64E, HDL-32E, VLP-16 and VLP-32C; packets of the VLS-128 are not longer).
const MAX_DISTANCE: usize = 12 * 32;

/// Points, and for each the number of the return and the number of returns of its firing.
pub(crate) type PointsWithReturns = (Points, Vec<(u8, u8)>);

/// The time of a firing, and its laser.
type FiringKey = (Option<i64>, u32);

/// Points that are waiting for the other returns of their firings.
#[derive(Default)]
pub(crate) struct PendingReturns {
    /// The last points, whose firings may have returns in the next batch.
    pending_points: Option<Points>,
    /// The return types of each firing of the last points, combined as bits.
    returns_by_firing: HashMap<FiringKey, u32>,
}

impl PendingReturns {
    /// Adds `new_points`, and returns those points whose firings are complete. `None` means that
    /// there are no more points; then all remaining points are returned.
    pub(crate) fn next(
        &mut self,
        attributes: &PointAttributes,
        new_points: Option<&Points>,
    ) -> Result<Option<PointsWithReturns>> {
        if let Some(new_points) = new_points {
            for (firing, return_type) in firings(new_points, attributes) {
                *self.returns_by_firing.entry(firing).or_default() |= return_type;
            }
        }
        let points = match (self.pending_points.take(), new_points) {
            (Some(pending), Some(new_points)) => concatenate(&pending, new_points)?,
            (Some(pending), None) => pending,
            (None, Some(new_points)) => new_points.clone(),
            (None, None) => return Ok(None),
        };
        let pending_count =
            if new_points.is_some() { MAX_DISTANCE.min(points.count) } else { 0 };
        let complete_count = points.count - pending_count;
        let complete_points = points.slice(0, complete_count);
        let returns = firings(&complete_points, attributes)
            .map(|(firing, return_type)| {
                match (self.returns_by_firing.get(&firing), return_type) {
                    (Some(&BOTH), STRONGEST) => (1, 2),
                    (Some(&BOTH), LAST) => (2, 2),
                    _ => (1, 1),
                }
            })
            .collect();
        // Pending points may belong to firings whose other return is in `complete_points`.
        let start = complete_count.saturating_sub(MAX_DISTANCE);
        let recent_points = points.slice(start, points.count - start);
        self.returns_by_firing = firings(&recent_points, attributes)
            .filter_map(|(firing, _)| {
                Some((firing, *self.returns_by_firing.get(&firing)?))
            })
            .collect();
        if pending_count > 0 {
            self.pending_points = Some(points.slice(complete_count, pending_count));
        }
        Ok(Some((complete_points, returns)))
    }
}

/// Returns the firing and the return type of each of `points`.
fn firings(
    points: &Points,
    attributes: &PointAttributes,
) -> impl Iterator<Item = (FiringKey, u32)> {
    let times = array_at(points, attributes.time)
        .and_then(time_values)
        .unwrap_or_else(|| vec![None; points.count]);
    let lasers = first_integers(points, &attributes.laser);
    let return_types = first_integers(points, &attributes.return_type);
    times.into_iter().zip(lasers).zip(return_types)
}

fn concatenate(before: &Points, after: &Points) -> Result<Points> {
    let arrays = before
        .arrays
        .iter()
        .zip(&after.arrays)
        .map(|(before, after)| concat(&[before, after]))
        .collect::<Result<_, _>>()
        .map_err(|err| {
            Error::new(ErrorKind::Unsupported, "cannot concatenate points")
                .with_source(err)
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
        let return_types = integers(rows.iter().map(|p| p.2).collect());
        Points {
            arrays: vec![Arc::new(times), lasers, return_types],
            count: rows.len(),
        }
    }

    /// The return number and the number of returns of each point in `batches`.
    fn return_numbers(batches: &[&[(i64, u32, u32)]]) -> Vec<(u8, u8)> {
        let mut attributes = PointAttributes::default();
        (attributes.time, attributes.laser) = (Some(0), vec![1]);
        attributes.return_type = vec![2];
        let (mut returns, mut numbers) = (PendingReturns::default(), Vec::new());
        for batch in batches {
            let complete = returns.next(&attributes, Some(&points(batch))).unwrap();
            numbers.extend(complete.unwrap().1);
        }
        let remaining = returns.next(&attributes, None).unwrap();
        numbers.extend(remaining.unwrap().1);
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
            assert_eq!(return_numbers(&[before, after]), expected, "{middle}");
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
            let batches: Vec<_> = firings.chunks(length).collect();
            assert_eq!(return_numbers(&batches), expected, "{length}");
        }
    }
}
