//! `record` of telemetry logs whose packets are repeated, out of sequence, or of several logs.

use std::fs;

use crate::{
    bytes,
    mavlink::{Sender, packet, stream, telemetry_log},
    program::Folder,
};

const VEHICLE: Sender = (1, 1);

/// The header and the definitions of a log that starts at this time in microseconds.
fn start(micros: u64) -> Vec<u8> {
    let mut start = b"ULog\x01\x12\x35\x01".to_vec();
    start.extend(micros.to_le_bytes());
    start.extend(bytes::message(b'F', b"att:uint64_t timestamp;float x;"));
    start.extend(bytes::subscription(0, 0, "att"));
    start
}

/// Rows at 1 s, 1.02 s and so on, with this value.
fn rows(count: u64, value: f32) -> Vec<Vec<u8>> {
    (0..count).map(|row| bytes::att(0, 1_000_000 + 20_000 * row, value)).collect()
}

/// The packets of a log with these rows.
fn log(sender: Sender, rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    stream(sender, &start(1_000_000), rows)
}

/// Records `packets` as a ULog. The program ends with `status`, and its messages contain `words`.
#[track_caller]
fn recorded(
    packets: &[Vec<u8>],
    more: &[&str],
    status: i32,
    words: &[&str],
) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("flight.tlog", &telemetry_log(packets));
    let args = ["record", "mavlink", "flight.tlog", "-o", "flight.ulg"];
    folder.run(&[&args[..], more].concat()).assert_status(status, words);
    fs::read(folder.path().join("flight.ulg")).unwrap()
}

fn ulog(rows: &[Vec<u8>]) -> Vec<u8> {
    [start(1_000_000), rows.concat()].concat()
}

#[test]
fn repeated_packets_are_compared() {
    let rows = rows(20, 0.5);
    let twice =
        log(VEHICLE, &rows).into_iter().flat_map(|packet| [packet.clone(), packet]);
    let words = ["21 packets came again with the same bytes"];
    assert_eq!(recorded(&twice.collect::<Vec<_>>(), &[], 0, &words), ulog(&rows));
    let mut packets = log(VEHICLE, &rows);
    for (place, number) in [(15, 3), (8, 7)] {
        packets.insert(place, packet(VEHICLE, number, 0, &bytes::att(0, 7, 9.0)));
    }
    let words = ["lost: 2 packets out of sequence"];
    assert_eq!(recorded(&packets, &[], 3, &words), ulog(&rows));
}

#[test]
fn log_that_starts_again_without_its_header_is_counted() {
    let (old, new) = (rows(30, 0.5), rows(50, 2.0));
    let again = log(VEHICLE, &new).split_off(1);
    let packets = [log(VEHICLE, &old), again].concat();
    let words = ["lost: 50 packets out of sequence"];
    assert_eq!(recorded(&packets, &[], 3, &words), ulog(&old));
}

#[test]
fn rows_after_a_wrong_number_are_not_lost() {
    let rows = rows(30, 0.5);
    for wrong in [1000, 30_000, 40_000, 65_000] {
        let mut packets = log(VEHICLE, &rows);
        packets[11] = packet(VEHICLE, wrong, 0, &rows[10]);
        let words = [
            "lost: 1 packet, 1 packet out of sequence, recorded as 1 dropout of 40 ms",
        ];
        let dropout = bytes::message(b'O', &[40, 0]);
        let want = [ulog(&rows[..10]), dropout, rows[11..].concat()].concat();
        assert_eq!(recorded(&packets, &[], 3, &words), want, "{wrong}");
    }
}

#[test]
fn rows_after_numbers_that_went_back_are_not_lost() {
    let rows = rows(40, 0.5);
    let mut packets = log(VEHICLE, &rows);
    let changed = packets[11..15].iter_mut().zip(&rows[10..14]);
    for (number, (old, row)) in (2011..).zip(changed) {
        *old = packet(VEHICLE, number, 0, row);
    }
    let made = recorded(&packets, &[], 3, &["lost: 4 packets, recorded as 2 dropouts"]);
    for row in &rows {
        assert!(made.windows(row.len()).any(|bytes| bytes == &**row), "{row:?}");
    }
}

#[test]
fn packets_before_the_header_are_counted() {
    let rows = rows(10, 0.5);
    let earlier = (700..729).map(|number| packet(VEHICLE, number, 0, &rows[0]));
    let packets = [earlier.collect(), log(VEHICLE, &rows)].concat();
    let words = ["29 packets before the header of a log, and unreadable without it"];
    assert_eq!(recorded(&packets, &[], 3, &words), ulog(&rows));
}

#[test]
fn each_log_of_a_telemetry_log_can_be_chosen() {
    let (first, second, third) = (rows(5, 0.5), rows(6, 1.0), rows(7, 1.5));
    let other = (1, 2);
    let mut packets = log(VEHICLE, &first);
    for (index, packet) in
        stream(other, &start(2_000_000), &second).into_iter().enumerate()
    {
        packets.insert((2 * index + 1).min(packets.len()), packet);
    }
    packets.extend(stream(VEHICLE, &start(3_000_000), &third));
    let made = |micros: u64, rows: &[Vec<u8>]| [start(micros), rows.concat()].concat();
    let words = [
        "15 packets of other vehicles or of other logs, not in the file",
        "log 1 of 3; --log",
    ];
    assert_eq!(recorded(&packets, &[], 3, &words), made(1_000_000, &first));
    for (log, want) in [
        ("1", made(1_000_000, &first)),
        ("2", made(2_000_000, &second)),
        ("3", made(3_000_000, &third)),
    ] {
        let words = [format!("this is log {log} of 3"), "left out: ".to_owned()];
        let words = words.each_ref().map(String::as_str);
        assert_eq!(recorded(&packets, &["--log", log], 0, &words), want);
    }
    let folder = Folder::new();
    folder.write("flight.tlog", &telemetry_log(&packets));
    let args = ["record", "mavlink", "flight.tlog", "-o", "x.ulg", "--log"];
    folder
        .run(&[&args[..], &["4"]].concat())
        .assert_status(1, &["flight.tlog: it has 3 logs, and no log 4"]);
    let args = ["record", "mavlink", "udp:1", "-o", "x.ulg", "--log", "1"];
    folder.run(&args).assert_status(2, &["only a telemetry log has several logs"]);
    assert_eq!(folder.list("."), ["flight.tlog"]);
}
