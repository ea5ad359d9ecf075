//! Simplifying a path while it is added, so that its shape is kept.
//!
//! Only positions matter, not times. The removed positions are near the remaining line,
//! at a distance that is too small a fraction of the whole path to be visible. So a path
//! of hours is as accurate as one of a minute, in bounded memory.

/// The size of the whole path divided by the allowed deviation.
const FINENESS: f64 = 8000.0;

/// The number of positions to collect before they are simplified.
const WAITING: usize = 1024;

/// The maximum number of remaining positions. Longer paths are simplified further.
const MOST: usize = 1 << 14;

/// A position in metres east and north, and the index of its track segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) stretch: u32,
}

/// A path that is simplified while positions are added.
#[derive(Clone, Debug)]
pub(super) struct Way {
    kept: Vec<Place>,
    waiting: Vec<Place>,
    low: (f64, f64),
    high: (f64, f64),
    /// The deviation that was necessary to keep at most `MOST` positions.
    grain: f64,
    /// The maximum distance of the removed positions from the line.
    pub(super) within: f64,
    /// The number of positions that were added.
    pub(super) places: u64,
}

impl Way {
    /// Creates an empty path.
    pub(super) fn new() -> Self {
        Self {
            kept: Vec::new(),
            waiting: Vec::new(),
            low: (f64::INFINITY, f64::INFINITY),
            high: (f64::NEG_INFINITY, f64::NEG_INFINITY),
            grain: 0.0,
            within: 0.0,
            places: 0,
        }
    }

    pub(super) fn add(&mut self, place: Place) {
        self.places += 1;
        self.low = (self.low.0.min(place.x), self.low.1.min(place.y));
        self.high = (self.high.0.max(place.x), self.high.1.max(place.y));
        self.waiting.push(place);
        if self.waiting.len() >= WAITING {
            let grain = self.grain();
            let off = thin(&mut self.waiting, grain, true);
            self.within = self.within.max(off);
            self.kept.append(&mut self.waiting);
            if self.kept.len() > MOST {
                self.coarsen();
            }
        }
    }

    /// Returns the remaining positions in order.
    pub(super) fn finish(mut self) -> Finished {
        self.kept.append(&mut self.waiting);
        let grain = self.grain();
        self.within += thin(&mut self.kept, grain, true);
        if self.kept.len() > MOST {
            self.coarsen();
        }
        // No position is further away than the size of the path.
        let most = (self.high.0 - self.low.0).hypot(self.high.1 - self.low.1);
        let within = self.within.min(most.max(0.0));
        Finished { kept: self.kept, within, places: self.places }
    }

    /// Returns the allowed deviation.
    fn grain(&self) -> f64 {
        let reach = (self.high.0 - self.low.0).max(self.high.1 - self.low.1);
        self.grain.max(reach / FINENESS)
    }

    /// Reduces the path to at most half of `MOST` positions: first positions on straight
    /// lines, then, if there are too many segments, without keeping the starts of
    /// segments.
    fn coarsen(&mut self) {
        let mut heeds = true;
        while self.kept.len() > MOST / 2 {
            self.grain = (self.grain() * 2.0).max(f64::MIN_POSITIVE);
            let before = self.kept.len();
            self.within += thin(&mut self.kept, self.grain, heeds);
            heeds = heeds && self.kept.len() * 4 < before * 3;
        }
    }
}

/// A simplified path.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    pub(super) kept: Vec<Place>,
    pub(super) within: f64,
    pub(super) places: u64,
}

/// Removes from `places` those that are closer than `grain` to the previous one. Then
/// removes from each segment those that are close to the line between others
/// (Ramer-Douglas-Peucker). If `heeds` is set, the first position of each segment is
/// kept. Returns an upper bound of the distance of the removed positions from the line.
fn thin(places: &mut Vec<Place>, grain: f64, heeds: bool) -> f64 {
    let before = places.len();
    let mut last: Option<Place> = None;
    let mut index = 0;
    places.retain(|place| {
        index += 1;
        let is_kept = index == before
            || last.is_none_or(|last| {
                heeds && last.stretch != place.stretch
                    || (place.x - last.x).hypot(place.y - last.y) > grain
            });
        if is_kept {
            last = Some(*place);
        }
        is_kept
    });
    let mut is_kept = vec![false; places.len()];
    let mut start = 0;
    for stretch in places.chunk_by(|a, b| a.stretch == b.stretch) {
        bends(stretch, grain, start, &mut is_kept);
        start += stretch.len();
    }
    let mut kept = is_kept.into_iter();
    places.retain(|_| kept.next().unwrap_or(true));
    if places.len() < before { 2.0 * grain } else { 0.0 }
}

/// Marks in `is_kept`, from `from` on, the first and the last of `places`, and those that
/// are not close to the line between others.
fn bends(places: &[Place], grain: f64, from: usize, is_kept: &mut [bool]) {
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
        if let Some((index, _)) = farthest.filter(|(_, off)| *off > grain) {
            mark(index);
            open.extend([(start, index), (index, end)]);
        }
    }
}

/// Returns the distance of `place` from the line from `a` to `b`.
fn distance(place: &Place, a: &Place, b: &Place) -> f64 {
    let (along, across) = (b.x - a.x, b.y - a.y);
    let (x, y) = (place.x - a.x, place.y - a.y);
    let squared = along * along + across * across;
    let share = match squared > 0.0 {
        true => ((x * along + y * across) / squared).clamp(0.0, 1.0),
        false => 0.0,
    };
    (x - along * share).hypot(y - across * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circle of 50 m with `count` positions over `rounds` rounds.
    fn circles(count: u32, rounds: f64) -> Vec<Place> {
        let place = |n: u32| {
            let turn = f64::from(n) / f64::from(count) * rounds * std::f64::consts::TAU;
            Place { x: 50.0 * turn.cos(), y: 50.0 * turn.sin(), stretch: 0 }
        };
        (0..count).map(place).collect()
    }

    fn thinned(places: &[Place]) -> Finished {
        let mut way = Way::new();
        places.iter().for_each(|place| way.add(*place));
        way.finish()
    }

    /// Returns the maximum distance of the positions from the remaining line.
    fn off(places: &[Place], kept: &[Place]) -> f64 {
        let of = |place: &Place| {
            let lines = kept.windows(2).map(|two| distance(place, &two[0], &two[1]));
            lines.fold(f64::MAX, f64::min)
        };
        places.iter().map(of).fold(0.0, f64::max)
    }

    #[test]
    fn a_circle_of_hours_stays_a_circle_of_few_places() {
        let places = circles(20_000, 13.7);
        let found = thinned(&places);
        assert_eq!(found.places, 20_000);
        assert!(found.kept.len() < 4_000, "{}", found.kept.len());
        let off = off(&places, &found.kept);
        assert!(off <= found.within && found.within < 0.1, "{off} {}", found.within);
        // The midpoints between two positions are not far from the circle either.
        for two in found.kept.windows(2) {
            let middle =
                ((two[0].x + two[1].x) / 2.0).hypot((two[0].y + two[1].y) / 2.0);
            assert!((middle - 50.0).abs() < 0.1, "{middle}");
        }
    }

    #[test]
    fn what_stands_still_is_one_place_and_what_goes_straight_two() {
        let still = Place { x: 1.0, y: 2.0, stretch: 0 };
        assert!(thinned(&[still; 5000]).kept.len() <= 2);
        let line: Vec<_> =
            (0..900).map(|n| Place { x: f64::from(n), y: 0.0, stretch: 0 }).collect();
        let kept = thinned(&line).kept;
        assert_eq!(kept, [line[0], line[899]]);
        assert!(thinned(&[]).kept.is_empty());
    }

    #[test]
    fn each_stretch_begins_where_it_began() {
        let place = |n: u32| Place { x: f64::from(n), y: 0.0, stretch: n / 100 };
        let line: Vec<_> = (0..300).map(place).collect();
        let kept: Vec<f64> = thinned(&line).kept.iter().map(|place| place.x).collect();
        assert_eq!(kept, [0.0, 99.0, 100.0, 199.0, 200.0, 299.0]);
    }

    #[test]
    fn places_all_over_are_bounded_and_so_are_stretches_without_number() {
        let mut state = 7_u64;
        let mut dice = || {
            let next = state.wrapping_mul(6_364_136_223_846_793_005);
            state = next.wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for stretches in [1, u32::MAX] {
            let all: Vec<Place> = (0..40_000)
                .map(|n| Place { x: dice(), y: dice(), stretch: n % stretches })
                .collect();
            let found = thinned(&all);
            assert!(found.kept.len() <= MOST, "{}", found.kept.len());
            assert!(found.within < 1.5, "{}", found.within);
        }
    }
}
