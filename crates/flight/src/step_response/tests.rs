use super::*;

/// Returns the step response of the second-order system `w² / (s² + 2 d w s + w²)`.
fn second_order(damping: f64, frequency: f64, time: f64) -> f64 {
    let damped = frequency * (1.0 - damping * damping).sqrt();
    let decay = (-damping * frequency * time).exp();
    1.0 - decay
        * ((damped * time).cos() + damping * frequency / damped * (damped * time).sin())
}

type Signal = Vec<(i64, f64)>;

/// Returns a minute at 500 Hz: a setpoint with a new level every 0.3 to 0.8 seconds, and the exact
/// response of a second-order system.
fn flight(damping: f64, frequency: f64) -> (Signal, Signal) {
    let mut state = 7_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let mut changes: Vec<(f64, f64)> = Vec::new();
    let (mut time, mut level) = (0.0, 0.0);
    while time < 60.0 {
        let next = 200.0 * (random() - 0.5);
        changes.push((time, next - level));
        level = next;
        time += 0.3 + 0.5 * random();
    }
    let samples = (0..30_000).map(|n| {
        let (mut setpoint, mut measured) = (0.0, 0.0);
        let time = f64::from(n) / 500.0;
        for (start, step) in changes.iter().filter(|(start, _)| *start <= time) {
            setpoint += step;
            measured += step * second_order(damping, frequency, time - start);
        }
        let nanos = i64::from(n) * 2_000_000;
        ((nanos, setpoint), (nanos, measured))
    });
    samples.unzip()
}

#[test]
fn response_of_a_second_order_system_is_found() {
    let (damping, frequency) = (0.5, 25.0);
    let (setpoint, measured) = flight(damping, frequency);
    let found = step_response(&setpoint, &measured, 20.0, |_, _| true).unwrap();
    assert_eq!((found.sample_rate_hz, found.response.len()), (500.0, 250));
    assert!(found.windows > 500, "{}", found.windows);
    for (at, value) in found.response.iter().enumerate() {
        let expected = second_order(damping, frequency, at as f64 / 500.0);
        // The window function weakens late values, which is a property of the method.
        assert!((value - expected).abs() < 0.15, "{at}: {value}, not {expected}");
    }
    // 16.3 percent by the formula exp(-pi d / sqrt(1 - d²)).
    let overshoot = found.metrics.overshoot_percent.unwrap();
    assert!((overshoot - 16.3).abs() < 5.0, "{overshoot}");
    assert!(
        (found.metrics.delay_s.unwrap() - 0.052).abs() < 0.01,
        "{:?}",
        found.metrics
    );
}

#[test]
fn without_input_there_is_no_response() {
    let (setpoint, measured) = flight(0.7, 20.0);
    let weak: Vec<(i64, f64)> = setpoint.iter().map(|(t, v)| (*t, v * 0.01)).collect();
    assert_eq!(step_response(&weak, &measured, 20.0, |_, _| true), None);
    assert_eq!(step_response(&setpoint, &measured, 20.0, |_, _| false), None);
    assert_eq!(step_response(&[], &measured, 20.0, |_, _| true), None);
    assert_eq!(step_response(&setpoint, &[], 20.0, |_, _| true), None);
}

#[test]
fn resampling_is_linear_and_holds_the_ends() {
    let samples = [(0, 0.0), (10, 1.0), (20, 3.0), (20, 4.0), (30, 4.0)];
    let found = resample(&samples, [-5, 0, 5, 10, 15, 25, 40].into_iter());
    assert_eq!(found, [0.0, 0.0, 0.5, 1.0, 2.0, 4.0, 4.0]);
    let late = resample(&samples, [12, 14].into_iter());
    assert!((late[0] - 1.4).abs() < 1e-12 && (late[1] - 1.8).abs() < 1e-12);
    assert_eq!(resample(&[], [1].into_iter()), [0.0]);
}

#[test]
fn gap_is_in_no_window() {
    let samples = [(0, 0.0), (1, 0.0), (2, 0.0), (9, 0.0), (10, 0.0), (10, 0.0)];
    let lengths: Vec<usize> = segments(&samples, 1).map(<[_]>::len).collect();
    assert_eq!(lengths, [3, 2, 1]);
}

#[test]
fn metrics_are_those_of_the_curve() {
    let mut curve = vec![0.0, 0.2, 0.6, 1.2];
    curve.resize(20, 1.0);
    let metrics = ResponseMetrics::new(&curve, 0.01);
    assert_eq!((metrics.final_value, metrics.delay_s), (1.0, Some(0.02)));
    assert!((metrics.rise_s.unwrap() - 0.02).abs() < 1e-12);
    assert!((metrics.overshoot_percent.unwrap() - 20.0).abs() < 1e-9);
    assert_eq!(ResponseMetrics::new(&[0.0; 5], 0.01).rise_s, None);
    // A response that is complete at its first sample has no measurable times.
    let slow = ResponseMetrics::new(&[1.1, 1.0, 1.0, 1.0, 1.0], 0.03);
    assert_eq!((slow.delay_s, slow.rise_s), (None, None));
}
