//! `logtool align`, and `logtool merge` with its result.

use std::fs;

use crate::{
    bytes::{att, definitions},
    program::Folder,
    samples::sample,
};

/// Numbers from -1 to 1 that look random: Knuth's linear congruences.
fn dice(state: &mut u64) -> f64 {
    let next = state.wrapping_mul(6_364_136_223_846_793_005);
    *state = next.wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A motion of five minutes: peaks at random times.
fn motion(seed: u64) -> Vec<(f64, f64, f64)> {
    let mut state = seed;
    let bump = |_| {
        let (at, width) = (300.0 * (dice(&mut state) + 1.0) / 2.0, dice(&mut state));
        (at, 0.2 + 0.15 * width, dice(&mut state))
    };
    (0..450).map(bump).collect()
}

/// Returns a ULog of a motion between two times, with noise. `clock` converts a time to that of
/// the log's clock, in seconds.
fn log(
    motion: &[(f64, f64, f64)],
    (start, end): (f64, f64),
    clock: impl Fn(f64) -> f64,
) -> Vec<u8> {
    let mut state = start.to_bits() + 5;
    let mut log = definitions();
    for n in 0..((end - start) * 100.0) as u32 {
        let t = start + f64::from(n) / 100.0;
        let near = motion.iter().filter(|(at, width, _)| (t - at).abs() < 4.0 * width);
        let value =
            near.map(|(at, width, high)| high * (-((t - at) / width).powi(2)).exp());
        let value = value.sum::<f64>() + 0.05 * dice(&mut state);
        log.extend(att(0, (clock(t) * 1e6) as u64, value as f32));
    }
    log
}

#[test]
fn two_logs_of_one_motion_are_aligned_within_the_requested_error() {
    let (folder, motion) = (Folder::new(), motion(3));
    folder.write("a.ulg", &log(&motion, (0.0, 280.0), |t| 10.0 + t));
    let other = |t: f64| (t + 10.0 - 2.345) / (1.0 + 50e-6);
    folder.write("b.ulg", &log(&motion, (15.0, 300.0), other));
    let args = ["align", "a.ulg", "b.ulg", "--signal", "att.x", "att.x"];
    let run = folder.run(&[&args[..], &["--json"]].concat()).assert_success();
    let estimate = &run.json_lines()[0];
    let number = |name: &str| estimate[name].as_f64().unwrap();
    assert!((number("drift_ppm") - 50.0).abs() < 5.0, "{estimate}");
    for time in [20.0, 150.0, 280.0] {
        let elapsed = time - number("reference_s");
        let mapped = time + number("offset_s") + number("drift_ppm") * 1e-6 * elapsed;
        let truth = time * (1.0 + 50e-6) + 2.345;
        assert!((mapped - truth).abs() < 0.002, "{mapped}, not {truth}: {estimate}");
    }
    assert_eq!(estimate["aligned"], true);
    let text = folder.run(&args).assert_success().stdout;
    assert!(text.contains("--offset b.ulg=2.3"), "{text}");

    // The printed options can be pasted into a shell, even if names contain special
    // characters of shells or look like options.
    let b = fs::read(folder.path().join("b.ulg")).unwrap();
    folder.write("of b/it's.ulg", &b);
    let signals = ["--signal", "att.x", "att.x"];
    let run =
        folder.run(&[&["align", "a.ulg", "of b/it's.ulg"][..], &signals].concat());
    assert!(run.assert_success().stdout.contains("--offset 'of b/it'\\''s.ulg=2.3"));
    let piped = [&["align", "a.ulg", "-"][..], &signals].concat();
    let piped = folder.run_with(&piped, &b).assert_success().stdout;
    assert!(
        piped.contains("--offset 2=2.3") && piped.contains("--drift 2="),
        "{piped}"
    );
}

#[test]
fn values_before_the_clock_was_set_are_dropped() {
    let (folder, motion) = (Folder::new(), motion(3));
    folder.write("a.ulg", &log(&motion, (0.0, 280.0), |t| 10.0 + t));
    // The first three seconds are a day early.
    let other = |t: f64| if t < 18.0 { t } else { 86_400.0 + t };
    folder.write("b.ulg", &log(&motion, (15.0, 300.0), other));
    let args = ["align", "a.ulg", "b.ulg", "--json", "--signal", "att.x", "att.x"];
    let run = folder
        .run(&args)
        .assert_status(0, &["300 values left out", "more than an hour"]);
    let offset = run.json_lines()[0]["offset_s"].as_f64().unwrap();
    assert!((offset + 86_390.0).abs() < 0.002, "{run:?}");
}

#[test]
fn unrelated_logs_are_refused() {
    let folder = Folder::new();
    folder.write("a.ulg", &log(&motion(3), (0.0, 280.0), |t| t));
    folder.write("b.ulg", &log(&motion(4), (0.0, 280.0), |t| t));
    let args = ["align", "a.ulg", "b.ulg", "--signal", "att.x", "att.x"];
    let run =
        folder.run(&args).assert_status(1, &["do not fit", "windows agree", "hint: "]);
    assert_eq!(run.stdout, "");
    let run = folder
        .run(&[&args[..], &["--json"]].concat())
        .assert_status(1, &["do not fit"]);
    assert_eq!(run.json_lines()[0]["aligned"], false);
    let args = ["align", "a.ulg", "b.ulg", "--signal", "att.x", "bat.v"];
    folder.run(&args).assert_status(
        1,
        &["b.ulg: |bat.v|: it has only 0 values, and at least 50 are required"],
    );
}

/// Returns the part of the ULog `data` between two times of its own clock, in seconds. `clock`
/// converts its times, and the rates of its gyro get noise of up to `noise` rad/s.
fn cut(
    data: &[u8],
    (start, end): (f64, f64),
    clock: impl Fn(f64) -> f64,
    noise: f64,
) -> Vec<u8> {
    let (mut log, mut rest) = (data[..16].to_vec(), &data[16..]);
    let (mut gyro, mut state) = (None, start.to_bits() + 5);
    while let Some((head, _)) = rest.split_first_chunk::<3>() {
        let len = 3 + usize::from(u16::from_le_bytes([head[0], head[1]]));
        let Some((message, more)) = rest.split_at_checked(len) else { break };
        rest = more;
        let mut message = message.to_vec();
        if head[2] == b'A' && message[3] == 0 && &message[6..] == b"sensor_combined" {
            gyro = Some([message[4], message[5]]);
        }
        if head[2] == b'D' {
            let time = u64::from_le_bytes(message[5..13].try_into().unwrap());
            let time = time as f64 / 1e6;
            if time < start || time > end {
                continue;
            }
            let micros = (clock(time) * 1e6).round() as u64;
            message[5..13].copy_from_slice(&micros.to_le_bytes());
            if gyro == Some([message[3], message[4]]) {
                for rate in message[13..25].chunks_exact_mut(4) {
                    let value = f32::from_le_bytes(rate.try_into().unwrap());
                    let noisy = value + (noise * dice(&mut state)) as f32;
                    rate.copy_from_slice(&noisy.to_le_bytes());
                }
            }
        }
        log.extend(message);
    }
    log
}

#[test]
fn two_cuts_of_a_real_flight_are_aligned_and_another_flight_is_refused() {
    let Some(path) = sample("ulog/px4ulogrs_quadrotor_local.ulg") else { return };
    let (folder, data) = (Folder::new(), fs::read(path).unwrap());
    folder.write("a.ulg", &cut(&data, (0.0, 185.0), |t| t, 0.01));
    let clock = |t: f64| (t - 2.345) / (1.0 + 50e-6);
    folder.write("b.ulg", &cut(&data, (112.0, 200.0), clock, 0.01));
    let signal = "sensor_combined.gyro_rad";
    let args = ["align", "a.ulg", "b.ulg", "--json", "--signal", signal, signal];
    let estimate = &folder.run(&args).assert_success().json_lines()[0];
    let number = |name: &str| estimate[name].as_f64().unwrap();
    assert!((number("drift_ppm") - 50.0).abs() < 5.0, "{estimate}");
    for time in [112.0, 150.0, 185.0] {
        let elapsed = time - number("reference_s");
        let mapped = time + number("offset_s") + number("drift_ppm") * 1e-6 * elapsed;
        let truth = time * (1.0 + 50e-6) + 2.345;
        assert!((mapped - truth).abs() < 0.002, "{mapped}, not {truth}: {estimate}");
    }
    let Some(other) = sample("ulog/flightreviewrs_battery_brownout.ulg") else {
        return;
    };
    let args = ["align", "a.ulg", &other, "--signal", signal, signal];
    folder.run(&args).assert_status(1, &["do not fit"]);
}

#[test]
fn list_of_numbers_is_a_vector_like_its_source_array() {
    let Some(log) = sample("ulog/px4ulogrs_quadrotor_local.ulg") else { return };
    let folder = Folder::new();
    for (new, more) in [("a.mcap", &[][..]), ("b.mcap", &["--ros2"]), ("c.bag", &[])] {
        let convert = ["convert", &log, "-q", "-o", new];
        folder.run(&[&convert[..], more].concat()).assert_status(0, &[]);
        let signals = ["sensor_combined.gyro_rad", "/sensor_combined.gyro_rad"];
        let args = ["align", &log, new, "--json", "--signal", signals[0], signals[1]];
        let run = folder.run(&args);
        assert_eq!(run.status, 0, "{new}: {}", run.stderr);
        let estimate = &run.json_lines()[0];
        assert_eq!(estimate["b"]["signal"], "|/sensor_combined.gyro_rad|");
        // The log has no UTC reference, so its times stay unchanged.
        assert!(
            estimate["offset_s"].as_f64().unwrap().abs() < 1e-4,
            "{new}: {estimate}"
        );
    }
}

#[test]
fn log_aligned_with_itself_has_an_offset_within_the_stated_error() {
    let Some(log) = sample("ulog/px4ulogrs_quadrotor_local.ulg") else { return };
    let signal = "sensor_combined.gyro_rad";
    let args = ["align", &log, &log, "--json", "--signal", signal, signal];
    let estimate = &Folder::new().run(&args).assert_success().json_lines()[0];
    let (offset, error) =
        (&estimate["offset_s"], &estimate["confidence"]["offset_error_s"]);
    assert!(offset.as_f64().unwrap().abs() <= error.as_f64().unwrap(), "{estimate}");
}
