//! Messages of `.vel` logs without a usable time.

use crate::program::Folder;

/// Returns a message of the type `OBDDataM`: its size, validity, type, version, time, and seven
/// numbers. The first number is the speed.
fn obd(millis: f64, speed: i32) -> Vec<u8> {
    let (size, kind, version) = (17_u32 + 28, 0x0001_4043_u32, 100_i32);
    [
        &size.to_le_bytes()[..],
        b"I",
        &kind.to_le_bytes(),
        &version.to_le_bytes(),
        &millis.to_le_bytes(),
        &speed.to_le_bytes(),
        &[0; 24],
    ]
    .concat()
}

/// A log without an index of messages at these times, in milliseconds.
fn log(times: &[f64]) -> Vec<u8> {
    let mut log = b"\xa4VEL\x01\0\x01\0\0\0\0\0".to_vec();
    let messages = (0..).zip(times).map(|(speed, millis)| obd(*millis, speed));
    messages.for_each(|message| log.extend(message));
    log
}

/// Times that are not numbers, infinite, too large for nanoseconds, years and days away, or
/// long before the others; the first one, one between others, the last one, and several in a
/// row.
#[test]
fn message_without_a_usable_time_is_written_at_the_time_of_its_neighbour() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let day = 86_400e3;
    for (bad, count) in [
        (&[nan][..], 1),
        (&[inf], 1),
        (&[-inf], 1),
        (&[1e300], 1),
        (&[800.0 * day], 1),
        (&[2.0 * day], 1),
        (&[-40.0 * day], 1),
        (&[nan, -inf, 800.0 * day], 3),
    ] {
        for at in [0, 5, 10] {
            let mut times: Vec<f64> = (1..=10).map(|i| f64::from(i) * 1e3).collect();
            times.splice(at..at, bad.iter().copied());
            let folder = Folder::new();
            folder.write("drive.vel", &log(&times));
            let case = format!("{bad:?} at {at}");
            for out in ["a.mcap", "a.bag"] {
                let run = folder.run(&["convert", "drive.vel", "-o", out]);
                assert_eq!(run.status, 0, "{case}: {run:?}");
                let warning = format!("{count} record");
                assert!(
                    run.stderr.contains(&warning)
                        && run.stderr.contains("an impossible time"),
                    "{case}: {run:?}"
                );
                let rows = folder.run(&["cat", out]).json_lines();
                let actual: Vec<(i64, i64)> = rows
                    .iter()
                    .map(|row| {
                        let time = row["time"].as_i64().unwrap() / 1_000_000_000;
                        (time, row["data"]["speed"].as_i64().unwrap())
                    })
                    .collect();
                let neighbour = |i: usize| {
                    let bad_index =
                        i.checked_sub(at).filter(|bad_index| *bad_index < bad.len());
                    match bad_index {
                        Some(_) => (at as i64).max(1),
                        None => (times[i] / 1e3) as i64,
                    }
                };
                let expected: Vec<(i64, i64)> =
                    (0..times.len()).map(|i| (neighbour(i), i as i64)).collect();
                assert_eq!(actual, expected, "{case}: {out}");
            }
        }
    }
}
