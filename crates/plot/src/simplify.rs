//! Simplifying a path while it is added, so that its shape is kept.
//!
//! Only positions matter, not times. The removed positions are near the remaining line,
//! at a distance that is too small a fraction of the whole path to be visible. So a path
//! of hours is as accurate as one of a minute, in bounded memory.

/// The size of the whole path divided by the allowed deviation.
const FINENESS: f64 = 8000.0;

/// The number of positions to collect before they are simplified.
const PENDING_POSITIONS: usize = 1024;

/// The maximum number of remaining positions. Longer paths are simplified further.
const MOST: usize = 1 << 14;

/// A position in metres east and north, and the index of its track segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrackPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) segment: u32,
}

/// A path that is simplified while positions are added.
#[derive(Clone, Debug)]
pub(crate) struct PathSimplifier {
    positions: Vec<TrackPoint>,
    pending: Vec<TrackPoint>,
    low: (f64, f64),
    high: (f64, f64),
    /// The deviation that was necessary to keep at most `MOST` positions.
    tolerance: f64,
    /// The maximum distance of the removed positions from the line.
    pub(crate) deviation: f64,
    /// The number of positions that were added.
    pub(crate) added: u64,
}

impl PathSimplifier {
    /// Creates an empty path.
    pub(crate) fn new() -> Self {
        Self {
            positions: Vec::new(),
            pending: Vec::new(),
            low: (f64::INFINITY, f64::INFINITY),
            high: (f64::NEG_INFINITY, f64::NEG_INFINITY),
            tolerance: 0.0,
            deviation: 0.0,
            added: 0,
        }
    }

    pub(crate) fn add(&mut self, place: TrackPoint) {
        self.added += 1;
        self.low = (self.low.0.min(place.x), self.low.1.min(place.y));
        self.high = (self.high.0.max(place.x), self.high.1.max(place.y));
        self.pending.push(place);
        if self.pending.len() >= PENDING_POSITIONS {
            let tolerance = self.tolerance();
            let off = simplify(&mut self.pending, tolerance, true);
            self.deviation = self.deviation.max(off);
            self.positions.append(&mut self.pending);
            if self.positions.len() > MOST {
                self.coarsen();
            }
        }
    }

    /// Returns the remaining positions in order.
    pub(crate) fn finish(mut self) -> SimplifiedPath {
        self.positions.append(&mut self.pending);
        let tolerance = self.tolerance();
        self.deviation += simplify(&mut self.positions, tolerance, true);
        if self.positions.len() > MOST {
            self.coarsen();
        }
        // No position is further away than the size of the path.
        let most = (self.high.0 - self.low.0).hypot(self.high.1 - self.low.1);
        let deviation = self.deviation.min(most.max(0.0));
        SimplifiedPath { positions: self.positions, deviation, added: self.added }
    }

    /// Returns the allowed deviation.
    fn tolerance(&self) -> f64 {
        let reach = (self.high.0 - self.low.0).max(self.high.1 - self.low.1);
        self.tolerance.max(reach / FINENESS)
    }

    /// Reduces the path to at most half of `MOST` positions: first positions on straight
    /// lines, then, if there are too many segments, without keeping the starts of
    /// segments.
    fn coarsen(&mut self) {
        let mut keeps_segments = true;
        while self.positions.len() > MOST / 2 {
            self.tolerance = (self.tolerance() * 2.0).max(f64::MIN_POSITIVE);
            let before = self.positions.len();
            self.deviation +=
                simplify(&mut self.positions, self.tolerance, keeps_segments);
            keeps_segments = keeps_segments && self.positions.len() * 4 < before * 3;
        }
    }
}

/// A simplified path.
#[derive(Clone, Debug)]
pub(crate) struct SimplifiedPath {
    pub(crate) positions: Vec<TrackPoint>,
    pub(crate) deviation: f64,
    pub(crate) added: u64,
}

/// Removes from `places` the positions that are closer than `tolerance` to the previous one. Then
/// removes from each segment those that are close to the line between others
/// (Ramer-Douglas-Peucker). If `keeps_segments` is set, the first position of each segment is
/// kept. Returns an upper bound of the distance of the removed positions from the line.
fn simplify(places: &mut Vec<TrackPoint>, tolerance: f64, keeps_segments: bool) -> f64 {
    let before = places.len();
    let mut last: Option<TrackPoint> = None;
    let mut index = 0;
    places.retain(|place| {
        index += 1;
        let is_kept = index == before
            || last.is_none_or(|last| {
                keeps_segments && last.segment != place.segment
                    || (place.x - last.x).hypot(place.y - last.y) > tolerance
            });
        if is_kept {
            last = Some(*place);
        }
        is_kept
    });
    let mut is_kept = vec![false; places.len()];
    let mut start = 0;
    for segment in places.chunk_by(|a, b| a.segment == b.segment) {
        mark_bends(segment, tolerance, start, &mut is_kept);
        start += segment.len();
    }
    let mut marks = is_kept.into_iter();
    places.retain(|_| marks.next().unwrap_or(true));
    if places.len() < before { 2.0 * tolerance } else { 0.0 }
}

/// Marks in `is_kept`, from `from` on, the first and the last of `places`, and those that
/// are not close to the line between others.
fn mark_bends(
    places: &[TrackPoint],
    tolerance: f64,
    from: usize,
    is_kept: &mut [bool],
) {
    let mut mark = |index: usize| {
        is_kept.get_mut(from + index).into_iter().for_each(|mark| *mark = true);
    };
    let Some(end) = places.len().checked_sub(1) else { return };
    mark(0);
    mark(end);
    let mut open = vec![(0, end)];
    while let Some((start, end)) = open.pop() {
        let (Some(a), Some(b)) = (places.get(start), places.get(end)) else { continue };
        let between = places.iter().enumerate().take(end).skip(start + 1);
        let off = between.map(|(index, place)| (index, distance(place, a, b)));
        let farthest = off.max_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some((index, _)) = farthest.filter(|(_, off)| *off > tolerance) {
            mark(index);
            open.extend([(start, index), (index, end)]);
        }
    }
}

/// Returns the distance of `place` from the line from `a` to `b`.
fn distance(place: &TrackPoint, a: &TrackPoint, b: &TrackPoint) -> f64 {
    let (along, across) = (b.x - a.x, b.y - a.y);
    let (x, y) = (place.x - a.x, place.y - a.y);
    let squared = along * along + across * across;
    let share = if squared > 0.0 {
        ((x * along + y * across) / squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (x - along * share).hypot(y - across * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circle of 50 m with `count` positions over `rounds` rounds.
    fn circles(count: u32, rounds: f64) -> Vec<TrackPoint> {
        let place = |n: u32| {
            let turn = f64::from(n) / f64::from(count) * rounds * std::f64::consts::TAU;
            TrackPoint { x: 50.0 * turn.cos(), y: 50.0 * turn.sin(), segment: 0 }
        };
        (0..count).map(place).collect()
    }

    fn simplified(places: &[TrackPoint]) -> SimplifiedPath {
        let mut path = PathSimplifier::new();
        places.iter().for_each(|place| path.add(*place));
        path.finish()
    }

    /// Returns the maximum distance of the positions from the remaining line.
    fn deviation(places: &[TrackPoint], positions: &[TrackPoint]) -> f64 {
        let of = |place: &TrackPoint| {
            let lines =
                positions.windows(2).map(|two| distance(place, &two[0], &two[1]));
            lines.fold(f64::MAX, f64::min)
        };
        places.iter().map(of).fold(0.0, f64::max)
    }

    #[test]
    fn a_circle_of_hours_stays_a_circle_of_few_places() {
        let places = circles(20_000, 13.7);
        let found = simplified(&places);
        assert_eq!(found.added, 20_000);
        assert!(found.positions.len() < 4_000, "{}", found.positions.len());
        let off = deviation(&places, &found.positions);
        assert!(
            off <= found.deviation && found.deviation < 0.1,
            "{off} {}",
            found.deviation
        );
        // The midpoints between two positions are not far from the circle either.
        for two in found.positions.windows(2) {
            let middle =
                ((two[0].x + two[1].x) / 2.0).hypot((two[0].y + two[1].y) / 2.0);
            assert!((middle - 50.0).abs() < 0.1, "{middle}");
        }
    }

    #[test]
    fn what_stands_still_is_one_place_and_what_goes_straight_two() {
        let still = TrackPoint { x: 1.0, y: 2.0, segment: 0 };
        assert!(simplified(&[still; 5000]).positions.len() <= 2);
        let line: Vec<_> = (0..900)
            .map(|n| TrackPoint { x: f64::from(n), y: 0.0, segment: 0 })
            .collect();
        let positions = simplified(&line).positions;
        assert_eq!(positions, [line[0], line[899]]);
        assert!(simplified(&[]).positions.is_empty());
    }

    #[test]
    fn each_stretch_begins_where_it_began() {
        let place = |n: u32| TrackPoint { x: f64::from(n), y: 0.0, segment: n / 100 };
        let line: Vec<_> = (0..300).map(place).collect();
        let positions: Vec<f64> =
            simplified(&line).positions.iter().map(|place| place.x).collect();
        assert_eq!(positions, [0.0, 99.0, 100.0, 199.0, 200.0, 299.0]);
    }

    #[test]
    fn places_all_over_are_bounded_and_so_are_stretches_without_number() {
        let mut state = 7_u64;
        let mut dice = || {
            let next = state.wrapping_mul(6_364_136_223_846_793_005);
            state = next.wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for segments in [1, u32::MAX] {
            let all: Vec<TrackPoint> = (0..40_000)
                .map(|n| TrackPoint { x: dice(), y: dice(), segment: n % segments })
                .collect();
            let found = simplified(&all);
            assert!(found.positions.len() <= MOST, "{}", found.positions.len());
            assert!(found.deviation < 1.5, "{}", found.deviation);
        }
    }
}
