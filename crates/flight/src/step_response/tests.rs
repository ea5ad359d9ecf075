use super::*;

/// Returns the step response of the second-order system `w² / (s² + 2 d w s + w²)`.
fn second_order(damping: f64, frequency: f64, time: f64) -> f64 {
    let damped = frequency * (1.0 - damping * damping).sqrt();
    let decay = (-damping * frequency * time).exp();
    1.0 - decay
        * ((damped * time).cos() + damping * frequency / damped * (damped * time).sin())
}

type Signal = Vec<(i64, f64)>;

/// Returns a minute at these times: a setpoint with a new level every 0.3 to 0.8 seconds, and the exact
/// response of a system with this response to a step.
fn flight(times: &[i64], step: impl Fn(f64) -> f64) -> (Signal, Signal) {
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
    let samples = times.iter().map(|nanos| {
        let (mut setpoint, mut measured) = (0.0, 0.0);
        let time = *nanos as f64 / 1e9;
        for (start, change) in changes.iter().filter(|(start, _)| *start <= time) {
            setpoint += change;
            measured += change * step(time - start);
        }
        ((*nanos, setpoint), (*nanos, measured))
    });
    samples.unzip()
}

/// Returns the times of a minute, from intervals in milliseconds that repeat.
fn minute(intervals: &[i64]) -> Vec<i64> {
    let mut time = 0;
    let mut times = vec![0];
    for interval in intervals.iter().cycle() {
        time += interval * 1_000_000;
        if time > 60_000_000_000 {
            break;
        }
        times.push(time);
    }
    times
}

#[test]
fn response_of_a_first_order_system_has_its_final_value_and_no_overshoot() {
    // 250 and 100 Hz, the latter also with uneven intervals.
    for intervals in [&[4][..], &[10], &[8, 8, 14], &[4, 4, 4, 28]] {
        for constant in [0.02, 0.05, 0.1] {
            let expected = |time: f64| 1.0 - (-time / constant).exp();
            let (setpoint, measured) = flight(&minute(intervals), expected);
            let found = step_response(&setpoint, &measured, 20.0, |_, _| true).unwrap();
            let name = format!("{intervals:?} {constant}");
            let end = found.response.last().unwrap();
            assert!((end - 1.0).abs() < 0.02, "{name}: {end}");
            let metrics = found.metrics;
            assert!((metrics.final_value - 1.0).abs() < 0.03, "{name}: {metrics:?}");
            assert!(metrics.overshoot_percent.unwrap() < 1.0, "{name}: {metrics:?}");
            let is_close = |delay: f64| (delay - constant * 2.0_f64.ln()).abs() < 0.012;
            assert!(metrics.delay_s.is_none_or(is_close), "{name}: {metrics:?}");
            for (at, value) in found.response.iter().enumerate().skip(2) {
                let expected = expected(at as f64 * found.time_step_s);
                assert!(
                    (value - expected).abs() < 0.1,
                    "{name} {at}: {value}, {expected}"
                );
            }
        }
    }
}

#[test]
fn response_of_a_second_order_system_is_found() {
    let (damping, frequency) = (0.5, 25.0);
    let step = |time| second_order(damping, frequency, time);
    let (setpoint, measured) = flight(&minute(&[2]), step);
    let found = step_response(&setpoint, &measured, 20.0, |_, _| true).unwrap();
    assert_eq!((found.sample_rate_hz, found.response.len()), (500.0, 50));
    assert!(found.windows > 30, "{}", found.windows);
    for (at, value) in found.response.iter().enumerate() {
        let expected = step(at as f64 * found.time_step_s);
        assert!((value - expected).abs() < 0.03, "{at}: {value}, not {expected}");
    }
    assert!(found.deviation.iter().all(|deviation| *deviation < 0.05), "{found:?}");
    // 16.3 percent by the formula exp(-pi d / sqrt(1 - d²)).
    let overshoot = found.metrics.overshoot_percent.unwrap();
    assert!((overshoot - 16.3).abs() < 3.0, "{overshoot}");
    assert!(
        (found.metrics.delay_s.unwrap() - 0.052).abs() < 0.01,
        "{:?}",
        found.metrics
    );
}

#[test]
fn response_of_a_short_flight_is_found() {
    for (interval, constant) in [(4, 0.03), (4, 0.1), (10, 0.03), (10, 0.1)] {
        let expected = |time: f64| 1.0 - (-time / constant).exp();
        let times = minute(&[interval]);
        let flight_of = |seconds: i64| {
            let samples = seconds * 1_000 / interval + 1;
            flight(&times[..samples as usize], expected)
        };
        let (setpoint, measured) = flight_of(4);
        let found = step_response(&setpoint, &measured, 20.0, |_, _| true).unwrap();
        // Of 1.52 s each, half a second apart.
        assert_eq!(found.windows, 5);
        let metrics = found.metrics;
        assert!((metrics.final_value - 1.0).abs() < 0.04, "{metrics:?}");
        assert!(metrics.overshoot_percent.unwrap() < 2.0, "{metrics:?}");
        let (setpoint, measured) = flight_of(3);
        assert_eq!(step_response(&setpoint, &measured, 20.0, |_, _| true), None);
    }
}

#[test]
fn uncertain_response_is_not_returned() {
    let times = minute(&[10]);
    let (setpoint, measured) = flight(&times, |time| 1.0 - (-time / 0.05).exp());
    // The measurement in reverse order has nothing to do with the setpoint.
    let reversed = measured.iter().rev().map(|(_, value)| value);
    let disturbed = |share: f64| -> Signal {
        let values = measured.iter().zip(reversed.clone());
        values.map(|((time, value), other)| (*time, value + share * other)).collect()
    };
    let of_first = |seconds: usize, share: f64| {
        let disturbed = disturbed(share);
        let samples = seconds * 100;
        step_response(&setpoint[..samples], &disturbed[..samples], 20.0, |_, _| true)
    };
    for seconds in [4, 5, 6, 8, 10, 15] {
        let found = of_first(seconds, 1.0);
        assert_eq!(found, None, "{seconds} s");
    }
    // A weak disturbance changes the response little, and a long flight averages a strong one.
    for (seconds, share, error) in [(6, 0.03, 0.1), (60, 0.5, 0.15)] {
        let found = of_first(seconds, share).unwrap();
        let final_value = found.metrics.final_value;
        assert!((final_value - 1.0).abs() < error, "{seconds} s: {final_value}");
    }
}

#[test]
fn without_input_there_is_no_response() {
    let (setpoint, measured) =
        flight(&minute(&[2]), |time| second_order(0.7, 20.0, time));
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
    let lengths: Vec<usize> = segments(&samples, 3).map(<[_]>::len).collect();
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
