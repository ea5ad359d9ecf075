//! `record`, without a vehicle. `conformance/mavlink.py` emulates one.

use std::net::UdpSocket;

use crate::{bytes, mavlink::packet, program::Folder};

/// Returns a record of a telemetry log with a part of a log.
fn record(sequence: u16, first_message: u8, data: &[u8]) -> Vec<u8> {
    let time = 1_700_000_000_000_000 + 20_000 * u64::from(sequence);
    let packet = packet((1, 1), sequence, first_message, data);
    [&time.to_be_bytes(), packet.as_slice()].concat()
}

/// Returns the records of the definitions and of three rows, and the ULog of these.
fn parts() -> (Vec<Vec<u8>>, Vec<u8>) {
    let definitions = bytes::definitions();
    let (first, second) = definitions.split_at(200);
    // Where a message starts in the second part.
    let mut start = 16;
    while start < first.len() {
        let size = [definitions[start], definitions[start + 1]];
        start += 3 + usize::from(u16::from_le_bytes(size));
    }
    let start = (start - first.len()) as u8;
    let rows: Vec<Vec<u8>> =
        (0..3).map(|row| bytes::att(0, 1_000_000 + 50_000 * row, 0.5)).collect();
    let mut parts = vec![record(0, 0, first), record(1, start, second)];
    parts.extend((2..).zip(&rows).map(|(sequence, row)| record(sequence, 0, row)));
    (parts, [definitions, rows.concat()].concat())
}

#[test]
fn telemetry_log_becomes_the_ulog_that_was_streamed() {
    let folder = Folder::new();
    let (parts, ulog) = parts();
    folder.write("flight.tlog", &parts.concat());
    let convert = ["record", "mavlink", "flight.tlog", "-o", "flight.ulg"];
    let run = folder.run(&convert).assert_status(0, &["flight.tlog → flight.ulg: "]);
    assert_eq!(run.stdout, "");
    assert_eq!(std::fs::read(folder.path().join("flight.ulg")).unwrap(), ulog);
    let piped = ["record", "mavlink", "-", "-o", "piped.ulg", "--quiet"];
    folder.run_with(&piped, &parts.concat()).assert_success();
    assert_eq!(std::fs::read(folder.path().join("piped.ulg")).unwrap(), ulog);
    folder.run(&convert).assert_status(1, &["flight.ulg", "--force"]);
    folder.run(&[&convert[..], &["--force", "--quiet"]].concat()).assert_success();
}

#[test]
fn losses_and_damage_are_reported_and_the_status_is_3() {
    let folder = Folder::new();
    let (mut parts, ulog) = parts();
    parts[3] = vec![7; 30];
    let place = parts[..3].concat().len();
    folder.write("flight.tlog", &parts.concat());
    let convert = ["record", "mavlink", "flight.tlog", "-o", "flight.ulg"];
    let words = [
        "lost: 1 packet, recorded as 1 dropout of 100 ms in all",
        &format!("bytes {place}..{}", place + 30),
    ];
    folder.run(&convert).assert_status(3, &words);
    let made = std::fs::read(folder.path().join("flight.ulg")).unwrap();
    let row = bytes::att(0, 0, 0.0).len();
    let end = ulog.len() - row;
    let want =
        [&ulog[..end - row], &bytes::message(b'O', &[100, 0]), &ulog[end..]].concat();
    assert_eq!(made, want);
    let strict = ["record", "mavlink", "flight.tlog", "-o", "x.ulg", "--strict"];
    folder.run(&strict).assert_status(1, &["flight.tlog: a part of the log was lost"]);
    assert_eq!(folder.list("."), ["flight.tlog", "flight.ulg"]);
}

#[test]
fn telemetry_log_without_a_stream_leaves_no_file() {
    let folder = Folder::new();
    let (parts, _) = parts();
    folder.write("late.tlog", &parts[2..].concat());
    folder.write("other.tlog", b"this is not a telemetry log");
    for (log, words) in [
        ("late.tlog", "began before the telemetry log"),
        ("other.tlog", "not a telemetry log"),
        ("missing.tlog", "there is no such file"),
    ] {
        let run = folder.run(&["record", "mavlink", log, "-o", "flight.ulg"]);
        run.assert_status(1, &[log, words]);
    }
    let run = folder.run(&["record", "mavlink", "udp:host", "-o", "flight.ulg"]);
    run.assert_status(2, &["`udp:host` is not an address, such as udp:14550"]);
    let run = folder.run(&["record", "mavlink", "late.tlog", "-o", "flight.csv"]);
    run.assert_status(
        2,
        &["flight.csv looks like a CSV table, and a recording is a ULog"],
    );
    assert_eq!(folder.list("."), ["late.tlog", "other.tlog"]);
}

#[test]
fn vehicle_that_is_not_heard_is_an_error_and_leaves_no_file() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let folder = Folder::new();
    let address = format!("udp:127.0.0.1:{port}");
    let record = ["record", "mavlink", &address, "-o", "flight.ulg", "--timeout", "1s"];
    // The port is in use.
    folder.run(&record).assert_status(1, &[&address]);
    drop(socket);
    folder
        .run(&record)
        .assert_status(1, &[&address, "no heartbeat of a vehicle in 1 s"]);
    assert!(folder.list(".").is_empty());
}
