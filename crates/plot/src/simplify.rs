//! Simplifies a path while positions are added, without a visible change of its shape.
//!
//! Only positions matter, not times. The distance of the removed positions from the remaining line
//! is too small a fraction of the size of the path to be visible. So a path of hours is as accurate
//! as a path of a minute, and the memory is bounded.

/// The size of the whole path divided by the allowed deviation.
const RELATIVE_SIZE: f64 = 8000.0;

/// The number of positions to collect before they are simplified.
const PENDING_POSITIONS: usize = 1024;

/// The maximum number of remaining positions. Longer paths are simplified further.
const MAX_POSITIONS: usize = 1 << 14;

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
    /// The deviation that was necessary to keep at most `MAX_POSITIONS` positions.
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

    pub(crate) fn add(&mut self, position: TrackPoint) {
        self.added += 1;
        self.low = (self.low.0.min(position.x), self.low.1.min(position.y));
        self.high = (self.high.0.max(position.x), self.high.1.max(position.y));
        self.pending.push(position);
        if self.pending.len() >= PENDING_POSITIONS {
            let tolerance = self.tolerance();
            let deviation = simplify(&mut self.pending, tolerance, true);
            self.deviation = self.deviation.max(deviation);
            self.positions.append(&mut self.pending);
            if self.positions.len() > MAX_POSITIONS {
                self.coarsen();
            }
        }
    }

    /// Returns the remaining positions in order.
    pub(crate) fn finish(mut self) -> SimplifiedPath {
        self.positions.append(&mut self.pending);
        let tolerance = self.tolerance();
        self.deviation += simplify(&mut self.positions, tolerance, true);
        if self.positions.len() > MAX_POSITIONS {
            self.coarsen();
        }
        // No position is further away than the size of the path.
        let path_size = (self.high.0 - self.low.0).hypot(self.high.1 - self.low.1);
        let deviation = self.deviation.min(path_size.max(0.0));
        SimplifiedPath { positions: self.positions, deviation, added: self.added }
    }

    /// Returns the allowed deviation.
    fn tolerance(&self) -> f64 {
        let path_size = (self.high.0 - self.low.0).max(self.high.1 - self.low.1);
        self.tolerance.max(path_size / RELATIVE_SIZE)
    }

    /// Reduces the path to at most half of `MAX_POSITIONS` positions: first positions on straight
    /// lines, then, if there are too many segments, without keeping the starts of
    /// segments.
    fn coarsen(&mut self) {
        let mut keep_segments = true;
        while self.positions.len() > MAX_POSITIONS / 2 {
            self.tolerance = (self.tolerance() * 2.0).max(f64::MIN_POSITIVE);
            let count = self.positions.len();
            self.deviation +=
                simplify(&mut self.positions, self.tolerance, keep_segments);
            keep_segments = keep_segments && self.positions.len() * 4 < count * 3;
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

/// Removes the positions that are closer than `tolerance` to the previous position. Then removes
/// the positions of each segment that are close to the remaining line (Ramer-Douglas-Peucker). If
/// `keep_segments` is set, the first position of each segment is kept. Returns an upper bound of
/// the distance of the removed positions from the line.
fn simplify(
    positions: &mut Vec<TrackPoint>,
    tolerance: f64,
    keep_segments: bool,
) -> f64 {
    let count = positions.len();
    let mut last: Option<TrackPoint> = None;
    let mut index = 0;
    positions.retain(|position| {
        index += 1;
        let is_kept = index == count
            || last.is_none_or(|last| {
                keep_segments && last.segment != position.segment
                    || (position.x - last.x).hypot(position.y - last.y) > tolerance
            });
        if is_kept {
            last = Some(*position);
        }
        is_kept
    });
    let mut is_kept = vec![false; positions.len()];
    let mut segment_start = 0;
    for segment in positions.chunk_by(|a, b| a.segment == b.segment) {
        mark_bends(segment, tolerance, segment_start, &mut is_kept);
        segment_start += segment.len();
    }
    let mut kept_flags = is_kept.into_iter();
    positions.retain(|_| kept_flags.next().unwrap_or(true));
    if positions.len() < count { 2.0 * tolerance } else { 0.0 }
}

/// Marks the positions of a segment that must be kept: the first, the last, and those that are not
/// close to the line between others. The flags of the segment start at the index `offset` of
/// `is_kept`.
fn mark_bends(
    positions: &[TrackPoint],
    tolerance: f64,
    offset: usize,
    is_kept: &mut [bool],
) {
    let mut mark = |index: usize| {
        is_kept.get_mut(offset + index).into_iter().for_each(|mark| *mark = true);
    };
    let Some(end) = positions.len().checked_sub(1) else { return };
    mark(0);
    mark(end);
    let mut ranges = vec![(0, end)];
    while let Some((start, end)) = ranges.pop() {
        let (Some(a), Some(b)) = (positions.get(start), positions.get(end)) else {
            continue;
        };
        let inner = positions.iter().enumerate().take(end).skip(start + 1);
        let distances =
            inner.map(|(index, position)| (index, distance(position, a, b)));
        let farthest =
            distances.max_by(|(_, first), (_, second)| first.total_cmp(second));
        if let Some((index, _)) =
            farthest.filter(|(_, distances)| *distances > tolerance)
        {
            mark(index);
            ranges.extend([(start, index), (index, end)]);
        }
    }
}

/// Returns the distance of `position` from the line between `a` and `b`.
fn distance(position: &TrackPoint, a: &TrackPoint, b: &TrackPoint) -> f64 {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let (x, y) = (position.x - a.x, position.y - a.y);
    let squared = dx * dx + dy * dy;
    let fraction =
        if squared > 0.0 { ((x * dx + y * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
    (x - dx * fraction).hypot(y - dy * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circle of 50 m with `count` positions over `rounds` rounds.
    fn circles(count: u32, rounds: f64) -> Vec<TrackPoint> {
        let point = |n: u32| {
            let turn = f64::from(n) / f64::from(count) * rounds * std::f64::consts::TAU;
            TrackPoint { x: 50.0 * turn.cos(), y: 50.0 * turn.sin(), segment: 0 }
        };
        (0..count).map(point).collect()
    }

    fn simplify_path(positions: &[TrackPoint]) -> SimplifiedPath {
        let mut path = PathSimplifier::new();
        positions.iter().for_each(|position| path.add(*position));
        path.finish()
    }

    /// Returns the maximum distance of `positions` from the line through `simplified`.
    fn deviation(positions: &[TrackPoint], simplified: &[TrackPoint]) -> f64 {
        let distance_from_line = |position: &TrackPoint| {
            let pairs = simplified.windows(2);
            let distances = pairs.map(|pair| distance(position, &pair[0], &pair[1]));
            distances.fold(f64::MAX, f64::min)
        };
        positions.iter().map(distance_from_line).fold(0.0, f64::max)
    }

    #[test]
    fn circle_of_many_rounds_is_simplified_within_its_deviation() {
        let positions = circles(20_000, 13.7);
        let path = simplify_path(&positions);
        assert_eq!(path.added, 20_000);
        assert!(path.positions.len() < 4_000, "{}", path.positions.len());
        let distance_from_path = deviation(&positions, &path.positions);
        assert!(
            distance_from_path <= path.deviation && path.deviation < 0.1,
            "{distance_from_path} {}",
            path.deviation
        );
        // The midpoints between two positions are not far from the circle either.
        for pair in path.positions.windows(2) {
            let middle =
                ((pair[0].x + pair[1].x) / 2.0).hypot((pair[0].y + pair[1].y) / 2.0);
            assert!((middle - 50.0).abs() < 0.1, "{middle}");
        }
    }

    #[test]
    fn positions_of_a_stationary_or_straight_path_are_removed() {
        let still = TrackPoint { x: 1.0, y: 2.0, segment: 0 };
        assert!(simplify_path(&[still; 5000]).positions.len() <= 2);
        let line: Vec<_> = (0..900)
            .map(|n| TrackPoint { x: f64::from(n), y: 0.0, segment: 0 })
            .collect();
        let positions = simplify_path(&line).positions;
        assert_eq!(positions, [line[0], line[899]]);
        assert!(simplify_path(&[]).positions.is_empty());
    }

    #[test]
    fn ends_of_each_segment_are_kept() {
        let point = |n: u32| TrackPoint { x: f64::from(n), y: 0.0, segment: n / 100 };
        let line: Vec<_> = (0..300).map(point).collect();
        let positions: Vec<f64> =
            simplify_path(&line).positions.iter().map(|position| position.x).collect();
        assert_eq!(positions, [0.0, 99.0, 100.0, 199.0, 200.0, 299.0]);
    }

    #[test]
    fn number_of_positions_is_limited_with_any_number_of_segments() {
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
            let path = simplify_path(&all);
            assert!(path.positions.len() <= MAX_POSITIONS, "{}", path.positions.len());
            assert!(path.deviation < 1.5, "{}", path.deviation);
        }
    }
}
