//! Matches photos to shots.

use crate::{
    error::{Error, Result},
    text::units::count_of,
    time::clock::Seconds,
};

/// The maximum difference between a photo and its shot in addition to the step of its clock: the
/// shutter lag, and the drift of the clock during a flight.
const JITTER_NANOS: i64 = 500_000_000;

/// The maximum number of comparisons in the search for the offset: about a second. Offsets are tried
/// with a sample of the photos if they would take more than `MAX_EXACT_COMPARISONS`.
const MAX_COMPARISONS: u64 = 400_000_000;
const MAX_EXACT_COMPARISONS: u64 = 4_000_000;

/// The number of photos in the sample, and the number of offsets that fit it best, which are then
/// tried with all photos.
const SAMPLED_PHOTOS: usize = 128;
const SAMPLED_OFFSETS: usize = 64;

/// The number of photos whose shot is searched first, if some photos may have none.
const FIRST_PHOTOS: usize = 16;

/// The method of matching photos to shots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum MatchMethod {
    /// One by one if the counts are equal, and by time otherwise; the times must agree
    #[default]
    Auto,
    /// One by one, in the order of the photos and of the shots
    Sequence,
    /// By time, with the offset of the camera's clock
    Time,
}

/// The photos and the shots to match.
pub(super) struct MatchInput<'t> {
    /// The number of photos.
    pub(super) photos: usize,
    /// The times of the photos in nanoseconds, and the step of the camera's clock, if all photos have
    /// a time.
    pub(super) taken: Option<(&'t [i64], i64)>,
    /// The times of the shots, sorted.
    pub(super) shots: &'t [i64],
    /// The name of the topic of the shots.
    pub(super) topic: &'t str,
    /// The given offset from the clock of the camera to that of the shots.
    pub(super) offset: Option<i64>,
    /// Whether photos may be left over.
    pub(super) is_partial: bool,
}

/// The matches of photos and shots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matches {
    /// For each photo, the index of its shot.
    pub(super) shots: Vec<Option<usize>>,
    /// The offset from the clock of the camera to that of the shots, in nanoseconds, if the photos
    /// have times.
    pub(super) offset: Option<i64>,
    /// Whether the photos were matched one by one.
    pub(super) is_by_sequence: bool,
}

impl MatchInput<'_> {
    /// Matches the photos by `method`.
    ///
    /// # Errors
    /// If the counts, or the times, cannot be explained. The message has the counts.
    pub(super) fn find(&self, method: MatchMethod) -> Result<Matches> {
        let counts = self.counts();
        let is_equal = self.photos == self.shots.len();
        match (method, self.taken) {
            (MatchMethod::Sequence, _) => {
                if !is_equal && !self.is_partial {
                    let hint = "--match time compares times; --partial pairs them from the first \
                                on, and leaves out the rest";
                    return Err(
                        Error::other(format!("{counts}: they differ")).with_hint(hint)
                    );
                }
                Ok(self.in_sequence())
            }
            (MatchMethod::Time, None) => {
                let message = format!(
                    "{counts}, and not all photos have the time in their Exif data"
                );
                Err(Error::other(message).with_hint("--match sequence needs no times"))
            }
            (MatchMethod::Auto, None) if self.offset.is_some() => {
                let message =
                    "--offset needs the time of each photo, and not all have one";
                Err(Error::other(message).with_hint("--match sequence needs no times"))
            }
            (MatchMethod::Auto, None) if is_equal => Ok(self.in_sequence()),
            (MatchMethod::Auto, None) => {
                let message = format!(
                    "{counts}: they differ, and not all photos have the time in their Exif data"
                );
                let hint = "remove photos of other flights; or --match sequence --partial pairs \
                            them from the first on";
                Err(Error::other(message).with_hint(hint))
            }
            (MatchMethod::Auto, Some((taken, step)))
                if is_equal && self.offset.is_none() =>
            {
                let matches = self.in_sequence();
                let offset = matches.offset.unwrap_or_default();
                let residual = |(photo, shot): (&i64, &i64)| {
                    shot.saturating_sub(photo.saturating_add(offset)).saturating_abs()
                };
                let worst = taken.iter().zip(self.shots).map(residual).max();
                let worst = worst.unwrap_or_default();
                if worst <= tolerance(step) {
                    return Ok(matches);
                }
                if self.is_partial {
                    return self.by_time(taken, step);
                }
                let message = format!(
                    "{counts}: they are equal, but times differ by up to {} s if they are paired \
                     one by one",
                    Seconds(worst)
                );
                let hint = "--match sequence pairs them nevertheless; --partial tags those that \
                            match by time";
                Err(Error::other(message).with_hint(hint))
            }
            (_, Some((taken, step))) => self.by_time(taken, step),
        }
    }

    fn counts(&self) -> String {
        let photos = count_of(self.photos as u64, "photo");
        let shots = count_of(self.shots.len() as u64, "shot");
        format!("{photos} and {shots} in {}", self.topic)
    }

    fn in_sequence(&self) -> Matches {
        let index = |photo| (photo < self.shots.len()).then_some(photo);
        let shots: Vec<Option<usize>> = (0..self.photos).map(index).collect();
        let offset = self.taken.and_then(|(taken, _)| {
            median(
                taken
                    .iter()
                    .zip(self.shots)
                    .map(|(photo, shot)| shot.saturating_sub(*photo))
                    .collect(),
            )
        });
        Matches { shots, offset, is_by_sequence: true }
    }

    /// Matches by time, and finds the offset if it is not given.
    fn by_time(&self, taken: &[i64], step: i64) -> Result<Matches> {
        let limit = tolerance(step);
        let found = match self.offset {
            Some(offset) => {
                let shots = nearest_shots(taken, self.shots, offset, limit);
                Matches { shots, offset: Some(offset), is_by_sequence: false }
            }
            None => self.search(taken, limit)?,
        };
        let unmatched = found.shots.iter().filter(|shot| shot.is_none()).count();
        let offset = Seconds(found.offset.unwrap_or_default());
        if unmatched == found.shots.len() {
            let message = format!(
                "{}: with an offset of {offset} s, no photo is within {} s of a shot",
                self.counts(),
                Seconds(limit)
            );
            let hint = "--offset is added to the time of the camera; without it, it is searched";
            return Err(Error::other(message).with_hint(hint));
        }
        if unmatched > 0 && !self.is_partial {
            let message = format!(
                "{}: with an offset of {offset} s, {} without a shot",
                self.counts(),
                if unmatched == 1 {
                    "1 photo is".to_owned()
                } else {
                    format!("{unmatched} photos are")
                },
            );
            let hint = "--partial leaves them out; or give the offset of the camera's clock with \
                        --offset";
            return Err(Error::other(message).with_hint(hint));
        }
        Ok(found)
    }

    /// Searches the offset with which most photos have a shot.
    fn search(&self, taken: &[i64], limit: i64) -> Result<Matches> {
        // Unless photos may be left over, the first one has one of the first shots.
        let (first, unmatched_photos) = if self.is_partial {
            (FIRST_PHOTOS, self.shots.len())
        } else {
            (1, (self.shots.len() + 1).saturating_sub(taken.len()))
        };
        if unmatched_photos == 0 {
            let message =
                format!("{}: there are more photos than shots", self.counts());
            let hint = "--partial leaves out the photos without a shot";
            return Err(Error::other(message).with_hint(hint));
        }
        let each = taken.len() as u64 + self.shots.len() as u64;
        let candidates = first.min(taken.len()) as u64 * unmatched_photos as u64;
        let is_exact = candidates.saturating_mul(each) <= MAX_EXACT_COMPARISONS;
        if candidates.saturating_mul(SAMPLED_PHOTOS as u64) > MAX_COMPARISONS {
            let message = format!(
                "{}: too many to search the offset of the camera",
                self.counts()
            );
            return Err(Error::other(message).with_hint("--offset gives the offset"));
        }
        let mut offsets: Vec<i64> = Vec::new();
        for photo in taken.iter().take(first) {
            let shots = self.shots.iter().take(unmatched_photos);
            offsets.extend(shots.filter_map(|shot| shot.checked_sub(*photo)));
        }
        if !is_exact {
            offsets = best_of_sample(taken, self.shots, &offsets, limit);
        }
        let mut found: Vec<Candidate> = Vec::new();
        for offset in offsets {
            let candidate =
                Candidate::with_refined_offset(taken, self.shots, offset, limit);
            let best = found.first().map_or(0, |best| best.count);
            if candidate.count > best {
                found.clear();
            }
            if candidate.count >= best && candidate.count > 0 {
                let is_known = |other: &Candidate| other.shots == candidate.shots;
                // Two are enough to know that the offset is ambiguous.
                if !found.iter().any(is_known) && found.len() < FIRST_PHOTOS {
                    found.push(candidate);
                }
            }
        }
        found.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
        let Some((best, others)) = found.split_first() else {
            let message = format!("{}: no offset of the camera fits", self.counts());
            return Err(Error::other(message));
        };
        let is_rival = |other: &&Candidate| {
            let pairs = other.shots.iter().zip(&best.shots);
            let differing = pairs.filter(|(a, b)| a != b).count();
            differing * 2 >= best.count
                && other.deviation <= best.deviation * 1.5 + JITTER_NANOS as f64 / 10.0
        };
        if let Some(other) = others.iter().find(is_rival) {
            let message = format!(
                "{}: offsets of {} s and of {} s fit equally well",
                self.counts(),
                Seconds(best.offset),
                Seconds(other.offset)
            );
            let hint = "give the offset of the camera's clock with --offset; it is added to the \
                        times of the photos";
            return Err(Error::other(message).with_hint(hint));
        }
        Ok(Matches {
            shots: best.shots.clone(),
            offset: Some(best.offset),
            is_by_sequence: false,
        })
    }
}

/// Returns those of `offsets` with which most of a sample of the photos `taken` have a shot; among
/// equals, those with the least differences. Both kinds of times are sorted.
fn best_of_sample(
    taken: &[i64],
    shots: &[i64],
    offsets: &[i64],
    limit: i64,
) -> Vec<i64> {
    // The first and the last photo are in the sample: they show an offset of one shot.
    let last = taken.len().saturating_sub(1);
    let count = SAMPLED_PHOTOS.min(taken.len());
    let index = |number: usize| number * last / count.saturating_sub(1).max(1);
    let sample: Vec<i64> =
        (0..count).filter_map(|number| taken.get(index(number)).copied()).collect();
    let distance = |time: i64| {
        let after = shots.partition_point(|shot| *shot < time);
        let near = shots.get(after.saturating_sub(1)..).unwrap_or_default();
        let distances =
            near.iter().take(2).map(|shot| shot.saturating_sub(time).saturating_abs());
        distances.min().unwrap_or(i64::MAX)
    };
    let rank = |offset: &i64| {
        let differences =
            sample.iter().map(|photo| distance(photo.saturating_add(*offset)));
        // An offset may still be wrong by the tolerance, as that of a single photo is.
        let matches =
            differences.filter(|difference| *difference <= limit.saturating_mul(2));
        let (count, sum) = matches
            .fold((0, 0_i64), |(count, sum), d| (count + 1, sum.saturating_add(d)));
        (std::cmp::Reverse(count), sum, *offset)
    };
    let mut ranks: Vec<(std::cmp::Reverse<usize>, i64, i64)> =
        offsets.iter().map(rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter().take(SAMPLED_OFFSETS).map(|(_, _, offset)| offset).collect()
}

/// The matches with one offset.
struct Candidate {
    offset: i64,
    shots: Vec<Option<usize>>,
    /// The number of photos with a shot.
    count: usize,
    /// The root mean square of their differences.
    deviation: f64,
}

impl Candidate {
    /// Matches photos and shots within `limit`. The offset is refined first: it becomes the median of
    /// the differences between those that match within twice the limit with `offset`. All times are
    /// in nanoseconds.
    fn with_refined_offset(
        taken: &[i64],
        times: &[i64],
        offset: i64,
        limit: i64,
    ) -> Self {
        let differences = |shots: &[Option<usize>]| -> Vec<i64> {
            let pairs = taken.iter().zip(shots);
            let pairs = pairs.filter_map(|(photo, shot)| Some((photo, (*shot)?)));
            let difference = |(photo, shot): (&i64, usize)| {
                Some(times.get(shot)?.saturating_sub(*photo))
            };
            pairs.filter_map(difference).collect()
        };
        let rough = nearest_shots(taken, times, offset, limit.saturating_mul(2));
        let offset = median(differences(&rough)).unwrap_or(offset);
        let shots = nearest_shots(taken, times, offset, limit);
        let differences = differences(&shots);
        let count = differences.len();
        let square =
            |difference: &i64| (difference.saturating_sub(offset) as f64).powi(2);
        let sum: f64 = differences.iter().map(square).sum();
        let deviation = (sum / count.max(1) as f64).sqrt();
        Self { offset, shots, count, deviation }
    }
}

/// Returns how far a photo and its shot may be apart, if the clock of the camera has this step.
fn tolerance(step: i64) -> i64 {
    step / 2 + JITTER_NANOS
}

/// Returns for each photo the nearest shot within `limit` that no earlier photo has. All times are
/// sorted.
fn nearest_shots(
    taken: &[i64],
    times: &[i64],
    offset: i64,
    limit: i64,
) -> Vec<Option<usize>> {
    let mut next = 0;
    let find = |photo: &i64| {
        let time = photo.saturating_add(offset);
        let distance = |index: usize| {
            times.get(index).map(|shot| shot.saturating_sub(time).saturating_abs())
        };
        let mut distance_here = distance(next)?;
        while let Some(after) = distance(next + 1)
            && after <= distance_here
        {
            distance_here = after;
            next += 1;
        }
        if distance_here > limit {
            return None;
        }
        next += 1;
        Some(next - 1)
    };
    taken.iter().map(find).collect()
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests;
