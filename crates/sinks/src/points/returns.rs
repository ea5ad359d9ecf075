//! Which of how many returns of its firing a point is: for LAS, of which every point says so.
//!
//! A laser that fired once may have come back twice. Both points have the same laser and the
//! same moment, and lie in one packet of the lidar, one some way behind the other. So the last
//! points that came wait for what follows on them.

use std::collections::HashMap;

use arrow_select::concat::concat;
use logtool_core::{Error, ErrorKind, Result};

use crate::points::{
    column::moments,
    file::Points,
    measures::{Measures, array, whole},
};

/// The return types of points: strongest and last, each of two; and both in one.
const STRONGEST: u32 = 1;
const LAST: u32 = 2;
const BOTH: u32 = STRONGEST | LAST;

/// How far apart the points of a firing are, at the most: a packet has 12 blocks of 32 points
/// (manuals of HDL-64E, HDL-32E, VLP-16 and VLP-32C; the VLS-128's are no longer).
const APART: usize = 12 * 32;

/// Points, and which return of its firing each is, of how many.
pub(super) type Told = (Points, Vec<(u8, u8)>);

/// A laser at a moment.
type Firing = (Option<i64>, u32);

/// Points on their way into a file.
#[derive(Default)]
pub(super) struct Returns {
    /// Those that wait.
    held: Option<Points>,
    /// What came back of each firing of the last points.
    seen: HashMap<Firing, u32>,
}

impl Returns {
    /// Takes `new` points, and gives those that need not wait any longer, with which return
    /// of how many each is; all of them, where there is nothing new.
    pub(super) fn next(
        &mut self,
        measures: &Measures,
        new: Option<&Points>,
    ) -> Result<Option<Told>> {
        for (firing, kind) in new.into_iter().flat_map(|new| firings(new, measures)) {
            *self.seen.entry(firing).or_default() |= kind;
        }
        let all = match (self.held.take(), new) {
            (Some(held), Some(new)) => joined(&held, new)?,
            (Some(held), None) => held,
            (None, Some(new)) => new.clone(),
            (None, None) => return Ok(None),
        };
        let wait = if new.is_some() { APART.min(all.count) } else { 0 };
        let now = all.count - wait;
        let ready = all.slice(0, now);
        let returned = firings(&ready, measures)
            .map(|(firing, kind)| match (self.seen.get(&firing), kind) {
                (Some(&BOTH), STRONGEST) => (1, 2),
                (Some(&BOTH), LAST) => (2, 2),
                _ => (1, 1),
            })
            .collect();
        // Those that wait may be of firings of which the other return is on its way already.
        let from = now.saturating_sub(APART);
        let recent = all.slice(from, all.count - from);
        let seen = firings(&recent, measures)
            .filter_map(|(firing, _)| Some((firing, *self.seen.get(&firing)?)));
        self.seen = seen.collect();
        self.held = (wait > 0).then(|| all.slice(now, wait));
        Ok(Some((ready, returned)))
    }
}

/// The firing that each of `points` is of, and which return it is.
fn firings(
    points: &Points,
    measures: &Measures,
) -> impl Iterator<Item = (Firing, u32)> {
    let moments = array(points, measures.time).and_then(moments);
    let moments = moments.unwrap_or_else(|| vec![None; points.count]);
    let lasers = whole(points, &measures.laser);
    moments.into_iter().zip(lasers).zip(whole(points, &measures.return_type))
}

fn joined(before: &Points, after: &Points) -> Result<Points> {
    let arrays = before.arrays.iter().zip(&after.arrays);
    let arrays = arrays.map(|(before, after)| concat(&[before, after]));
    let arrays = arrays.collect::<Result<_, _>>().map_err(|err| {
        Error::new(ErrorKind::Unsupported, "points that cannot be joined")
            .from_source(err)
    })?;
    Ok(Points { arrays, count: before.count + after.count })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, TimestampNanosecondArray, UInt32Array};

    use super::*;

    /// Points of these moments, lasers and return types, in that order.
    fn points(of: &[(i64, u32, u32)]) -> Points {
        let times = TimestampNanosecondArray::from_iter_values(of.iter().map(|p| p.0));
        let whole = |values: Vec<u32>| Arc::new(UInt32Array::from(values)) as ArrayRef;
        let lasers = whole(of.iter().map(|p| p.1).collect());
        let kinds = whole(of.iter().map(|p| p.2).collect());
        Points { arrays: vec![Arc::new(times), lasers, kinds], count: of.len() }
    }

    fn all(pieces: &[&[(i64, u32, u32)]]) -> Vec<(u8, u8)> {
        let mut measures = Measures::default();
        (measures.time, measures.laser) = (Some(0), vec![1]);
        measures.return_type = vec![2];
        let (mut returns, mut found) = (Returns::default(), Vec::new());
        for piece in pieces {
            let ready = returns.next(&measures, Some(&points(piece))).unwrap();
            found.extend(ready.unwrap().1);
        }
        let rest = returns.next(&measures, None).unwrap();
        found.extend(rest.unwrap().1);
        found
    }

    #[test]
    fn a_firing_that_came_back_once_has_one_return_also_of_a_lidar_that_sends_two() {
        // Laser 7 twice, laser 8 once, laser 7 again only as the last, laser 9 as both.
        let firings = [
            (1, 7, LAST),
            (1, 8, STRONGEST),
            (1, 7, STRONGEST),
            (2, 7, LAST),
            (2, 9, BOTH),
        ];
        let wanted = [(2, 2), (1, 1), (1, 2), (1, 1), (1, 1)];
        for middle in 1..firings.len() {
            let (before, after) = firings.split_at(middle);
            assert_eq!(all(&[before, after]), wanted, "{middle}");
        }
    }

    #[test]
    fn returns_that_come_apart_belong_together() {
        // Packets of 192 firings that came back twice, in pieces of all lengths.
        let packet = |packet: i64| {
            let half = move |kind| (0..192).map(move |laser| (packet, laser, kind));
            half(STRONGEST).chain(half(LAST))
        };
        let firings: Vec<_> = (0..6).flat_map(packet).collect();
        let wanted: Vec<_> =
            firings.iter().map(|(_, _, kind)| (*kind as u8, 2)).collect();
        for length in [1, 100, 191, 192, 193, 500, 5_000] {
            let pieces: Vec<_> = firings.chunks(length).collect();
            assert_eq!(all(&pieces), wanted, "{length}");
        }
    }
}
