//! Alignment of synthetic signals with known offsets.

use super::*;

/// Pseudo-random numbers from 0 to 1 (Knuth's linear congruential generator).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an approximately normally distributed number.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// A motion: bumps at random times, and oscillations.
fn motion(seed: u64, seconds: f64) -> impl Fn(f64) -> f64 {
    let mut random = RandomNumbers(seed);
    let bumps: Vec<(f64, f64, f64)> = (0..(seconds * 1.5) as usize)
        .map(|_| (random.next() * seconds, 0.05 + 0.4 * random.next(), random.normal()))
        .collect();
    let phase = random.next() * 6.0;
    move |t| {
        let nearby =
            bumps.iter().filter(|(center, width, _)| (t - center).abs() < 4.0 * width);
        let sum: f64 = nearby
            .map(|(center, width, height)| {
                height * (-((t - center) / width).powi(2)).exp()
            })
            .sum();
        sum + 0.2 * (t * 0.7 + phase).sin()
    }
}

/// Samples of `motion` from `start` to `end` at `rate`. `clock` returns the seconds that the
/// clock shows at a time.
fn samples(
    motion: &dyn Fn(f64) -> f64,
    (start, end, rate): (f64, f64, f64),
    noise: f64,
    clock: &dyn Fn(f64) -> f64,
) -> Vec<(i64, f64)> {
    let mut random = RandomNumbers((start * 1e3 + rate) as u64 + 99);
    let count = ((end - start) * rate) as usize;
    let sample = |n: usize, random: &mut RandomNumbers| {
        let t = start + (n as f64 + 0.3 * random.next()) / rate;
        ((clock(t) * 1e9) as i64, motion(t) + noise * random.normal())
    };
    (0..count).map(|n| sample(n, &mut random)).collect()
}

/// Returns the largest error of the estimate in seconds: at the first and the last time of
/// `b`, and at the reference. `expected` maps seconds of the second clock to seconds of the
/// first.
fn max_error(
    estimate: &Estimate,
    b: &[(i64, f64)],
    expected: &dyn Fn(f64) -> f64,
) -> f64 {
    let error_at = |time: i64| {
        let seconds = (time - estimate.reference) as f64 / 1e9;
        let mapped = (time + estimate.offset_nanos) as f64 / 1e9
            + estimate.drift_ppm * 1e-6 * seconds;
        (mapped - expected(time as f64 / 1e9)).abs()
    };
    error_at(b[0].0).max(error_at(b[b.len() - 1].0)).max(error_at(estimate.reference))
}

/// An offset of 2.345 s is estimated to 2 ms, and a drift of 50 ppm to 5 ppm.
#[test]
fn two_logs_of_one_motion_are_aligned() {
    let motion = motion(7, 300.0);
    let time_of_a = |t: f64| t;
    let time_of_b = |t: f64| (t - 2.345) / (1.0 + 50e-6);
    let a = samples(&motion, (0.0, 280.0, 250.0), 0.1, &time_of_a);
    let b = samples(&motion, (12.0, 300.0, 100.0), 0.1, &time_of_b);
    let estimate = align(&a, &b).unwrap();
    assert_eq!(estimate.doubts, [""; 0], "{estimate:?}");
    assert!((estimate.drift_ppm - 50.0).abs() < 5.0, "{estimate:?}");
    let expected = |t: f64| t * (1.0 + 50e-6) + 2.345;
    let max_error = max_error(&estimate, &b, &expected);
    assert!(max_error < 0.002, "{max_error} {estimate:?}");
    assert!((estimate.offset_nanos as f64 / 1e9 - 2.345).abs() < 0.02, "{estimate:?}");
    assert!(estimate.confidence.drift_error_ppm < 10.0, "{estimate:?}");
}

#[test]
fn clocks_far_apart_that_overlap_in_part_are_aligned() {
    let motion = motion(3, 400.0);
    // Unix time, and seconds since a start.
    let time_of_a = |t: f64| 1.7e9 + t;
    let a = samples(&motion, (0.0, 260.0, 200.0), 0.1, &time_of_a);
    let b = samples(&|t| 5.0 + 3.0 * motion(t), (140.0, 400.0, 200.0), 0.2, &|t| {
        t * (1.0 + 80e-6)
    });
    let estimate = align(&a, &b).unwrap();
    assert_eq!(estimate.doubts, [""; 0], "{estimate:?}");
    let error = estimate.confidence.drift_error_ppm;
    assert!(
        (estimate.drift_ppm + 80.0).abs() < 3.0 * error && error < 20.0,
        "{estimate:?}"
    );
    let overlap = estimate.confidence.overlap_seconds;
    assert!((overlap - 120.0).abs() < 0.1, "{estimate:?}");
}

#[test]
fn unrelated_signals_are_doubtful() {
    for seed in 0..6 {
        let (first, second) = (motion(11 + seed, 200.0), motion(91 + seed, 200.0));
        let a = samples(&first, (0.0, 200.0, 100.0), 0.05, &|t| t);
        let b = samples(&second, (0.0, 150.0, 100.0), 0.05, &|t| t);
        let estimate = align(&a, &b).unwrap();
        assert!(!estimate.doubts.is_empty(), "{estimate:?}");
    }
}

#[test]
fn ambiguous_periodic_signal_is_doubtful() {
    let wave = |t: f64| (t * 3.0).sin();
    let a = samples(&wave, (0.0, 100.0, 100.0), 0.01, &|t| t);
    let b = samples(&wave, (20.0, 100.0, 100.0), 0.01, &|t| t);
    let estimate = align(&a, &b).unwrap();
    assert!(
        estimate.doubts.iter().any(|doubt| doubt.contains("another offset")),
        "{estimate:?}"
    );
}

#[test]
fn unusable_signals_are_reported() {
    let good: Vec<(i64, f64)> =
        (0..100).map(|n| (n * 10_000_000, (n as f64).sin())).collect();
    assert_eq!(align(&good, &[]).unwrap_err(), (1, UnusableSignal::TooFewValues(0)));
    let flat: Vec<(i64, f64)> = good.iter().map(|(time, _)| (*time, 2.0)).collect();
    assert_eq!(align(&flat, &good).unwrap_err(), (0, UnusableSignal::Constant(2.0)));
}

/// The turn rates of a hand-held gyroscope: noise with a correlation time of 0.2 s.
fn gyro(seed: u64, seconds: f64) -> impl Fn(f64) -> f64 {
    let mut random = RandomNumbers(seed.wrapping_mul(977) + 5);
    let (mut rate, mut smooth) = (0.0, 0.0);
    let values: Vec<f64> = (0..(seconds * 500.0) as usize)
        .map(|_| {
            rate += -rate / 50.0 + 0.2 * random.normal();
            smooth += (rate - smooth) / 10.0;
            smooth
        })
        .collect();
    move |t| {
        let (index, fraction) = ((t * 500.0) as usize, (t * 500.0).fract());
        let value = |index: usize| values.get(index).copied().unwrap_or(0.0);
        value(index) * (1.0 - fraction) + value(index + 1) * fraction
    }
}

#[test]
fn short_overlap_is_aligned_without_an_unknown_drift() {
    for seed in 0..8 {
        let motion = gyro(seed, 40.0);
        let a = samples(&motion, (0.0, 30.0, 200.0), 0.1, &|t| t);
        let b = samples(&motion, (3.0, 33.0, 100.0), 0.1, &|t| t - 2.345);
        let estimate = align(&a, &b).unwrap();
        assert_eq!(estimate.doubts, [""; 0], "{seed} {estimate:?}");
        let deviation = (estimate.offset_nanos as f64 / 1e9 - 2.345).abs();
        let stated_error = estimate.confidence.offset_error_seconds;
        assert!(
            deviation < 0.003 && deviation < 4.0 * stated_error.max(2e-4),
            "{seed} {deviation} {estimate:?}"
        );
        let error = estimate.confidence.drift_error_ppm;
        let max_drift =
            if estimate.confidence.is_drift_known() { 4.0 * error } else { 0.0 };
        assert!(estimate.drift_ppm.abs() <= max_drift, "{estimate:?}");
    }
    // Twenty seconds with an offset of many years.
    let motion = gyro(77, 40.0);
    let a = samples(&motion, (0.0, 20.0, 200.0), 0.05, &|t| 1.7e9 + t);
    let b = samples(&motion, (1.0, 21.0, 200.0), 0.05, &|t| t);
    let estimate = align(&a, &b).unwrap();
    assert_eq!(estimate.doubts, [""; 0], "{estimate:?}");
    let deviation = estimate.offset_nanos - 1_700_000_000_000_000_000;
    assert!(deviation.abs() < 3_000_000, "{deviation}");
}

#[test]
fn short_signals_of_different_motions_are_doubtful() {
    for seed in 0..30 {
        for seconds in [20.0, 30.0, 60.0] {
            let (first, second) = (gyro(100 + seed, 70.0), gyro(300 + seed, 70.0));
            let a = samples(&first, (0.0, seconds, 100.0), 0.05, &|t| t);
            let b = samples(&second, (0.0, seconds, 100.0), 0.05, &|t| t);
            let estimate = align(&a, &b).unwrap();
            assert!(!estimate.doubts.is_empty(), "{estimate:?}");
            let (first, second) = (motion(100 + seed, 70.0), motion(300 + seed, 70.0));
            let a = samples(&first, (0.0, seconds, 100.0), 0.05, &|t| t);
            let b = samples(&second, (0.0, seconds, 100.0), 0.05, &|t| t);
            let estimate = align(&a, &b).unwrap();
            assert!(!estimate.doubts.is_empty(), "{estimate:?}");
        }
    }
    // A periodic signal fits everywhere.
    let wave = |t: f64| (t * 3.0).sin();
    let a = samples(&wave, (0.0, 30.0, 100.0), 0.01, &|t| t);
    let b = samples(&wave, (5.0, 35.0, 100.0), 0.01, &|t| t);
    assert!(!align(&a, &b).unwrap().doubts.is_empty());
}

/// The samples are few and irregular, so that most values are interpolated.
#[test]
fn signal_aligned_with_itself_has_no_offset() {
    for seed in 0..6 {
        let motion = motion(500 + seed, 130.0);
        let smooth = |t: f64| (-4..=4).map(|n| motion(t + f64::from(n) * 0.2)).sum();
        let mut random = RandomNumbers(seed);
        let mut time = 0.0;
        let mut samples: Vec<(i64, f64)> = Vec::new();
        while time < 64.0 + 10.0 * seed as f64 {
            samples.push(((time * 1e9) as i64, smooth(time)));
            time += 0.086 + 0.042 * random.next();
        }
        let estimate = align(&samples, &samples).unwrap();
        let Confidence { offset_error_seconds, drift_error_ppm, .. } =
            estimate.confidence;
        let deviation = estimate.offset_nanos as f64 / 1e9;
        assert!(deviation.abs() <= offset_error_seconds.min(1e-3), "{estimate:?}");
        assert!(estimate.drift_ppm.abs() <= drift_error_ppm, "{estimate:?}");
    }
}

/// The maximum offset of a window is then only two values of the grid.
#[test]
fn signals_with_one_value_per_second_are_aligned() {
    let motion = |t: f64| (t * 0.2).sin() + (t * t * 4e-4).cos();
    let a = samples(&motion, (0.0, 600.0, 1.0), 0.01, &|t| t);
    let b = samples(&motion, (60.0, 580.0, 1.0), 0.01, &|t| t - 7.25);
    let estimate = align(&a, &b).unwrap();
    assert_eq!(estimate.doubts, [""; 0], "{estimate:?}");
    assert!(
        (estimate.offset_nanos - 7_250_000_000).abs() < 200_000_000,
        "{estimate:?}"
    );
}
