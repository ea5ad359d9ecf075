//! Series of photos and shots with known matches.

use super::*;

const SECOND: i64 = 1_000_000_000;

/// Irregular shots, in seconds.
const SHOTS: [f64; 8] = [10.0, 12.3, 14.1, 18.8, 20.2, 25.0, 26.9, 31.4];

fn nanos(seconds: &[f64]) -> Vec<i64> {
    seconds.iter().map(|seconds| (seconds * 1e9) as i64).collect()
}

/// Photos of these shots whose clock is 3600.7 s ahead, in whole seconds.
fn photos(shots: &[f64]) -> Vec<i64> {
    let taken = shots.iter().map(|shot| (shot + 3600.7).floor() + 0.5);
    nanos(&taken.collect::<Vec<_>>())
}

fn find(
    taken: Option<&[i64]>,
    shots: &[i64],
    change: impl Fn(&mut MatchInput<'_>) -> MatchMethod,
) -> Result<Vec<Option<usize>>> {
    let mut input = MatchInput {
        photos: taken.map_or(7, <[i64]>::len),
        taken: taken.map(|taken| (taken, SECOND)),
        shots,
        topic: "camera_capture",
        offset: None,
        is_partial: false,
    };
    let method = change(&mut input);
    Ok(input.find(method)?.shots)
}

#[test]
fn equal_counts_are_paired_if_the_times_agree() {
    let shots = nanos(&SHOTS);
    let all: Vec<_> = (0..8).map(Some).collect();
    let taken = photos(&SHOTS);
    assert_eq!(find(Some(&taken), &shots, |_| MatchMethod::Auto).unwrap(), all);

    let mut other = SHOTS;
    other[7] += 9.0; // the last shot has no photo, and there is another one later
    let taken = photos(&other);
    let error = find(Some(&taken), &shots, |_| MatchMethod::Auto).unwrap_err();
    assert!(error.to_string().contains("8 photos and 8 shots in camera_capture"));
    assert!(error.to_string().contains("times differ by up to 9"), "{error}");
    assert_eq!(find(Some(&taken), &shots, |_| MatchMethod::Sequence).unwrap(), all);
    let partial = find(Some(&taken), &shots, |input| {
        input.is_partial = true;
        MatchMethod::Auto
    });
    let mut first = all.clone();
    first[7] = None;
    assert_eq!(partial.unwrap(), first);
}

#[test]
fn missing_photo_is_found_by_time() {
    let shots = nanos(&SHOTS);
    let mut some = SHOTS.to_vec();
    some.remove(3);
    let found = find(Some(&photos(&some)), &shots, |_| MatchMethod::Auto).unwrap();
    let want = [0, 1, 2, 4, 5, 6, 7].map(Some);
    assert_eq!(found, want);
    let none = find(None, &shots, |_| MatchMethod::Auto).unwrap_err();
    assert!(none.to_string().contains("7 photos and 8 shots"), "{none}");
}

#[test]
fn regular_shots_with_a_missing_photo_are_ambiguous() {
    let times: Vec<f64> = (0..8).map(|index| f64::from(index) * 2.0).collect();
    let taken = photos(&times[..7]);
    let shots = nanos(&times);
    let error = find(Some(&taken), &shots, |_| MatchMethod::Auto).unwrap_err();
    assert!(error.to_string().contains("fit equally well"), "{error}");
    let found = find(Some(&taken), &shots, |input| {
        input.offset = Some(-36_007 * SECOND / 10);
        MatchMethod::Auto
    });
    assert_eq!(found.unwrap(), [0, 1, 2, 3, 4, 5, 6].map(Some));
}

#[test]
fn more_photos_than_shots_need_a_permission() {
    let shots = nanos(&SHOTS[2..]);
    let taken = photos(&SHOTS);
    let error = find(Some(&taken), &shots, |_| MatchMethod::Auto).unwrap_err();
    assert!(error.to_string().contains("8 photos and 6 shots"), "{error}");
    let found = find(Some(&taken), &shots, |input| {
        input.is_partial = true;
        MatchMethod::Time
    });
    let want = [None, None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)];
    assert_eq!(found.unwrap(), want);
}

#[test]
fn wrong_offset_matches_no_photo() {
    let error = find(Some(&photos(&SHOTS)), &nanos(&SHOTS), |input| {
        input.offset = Some(0);
        MatchMethod::Time
    });
    assert!(error.unwrap_err().to_string().contains("no photo is within 1.000000 s"));
}
