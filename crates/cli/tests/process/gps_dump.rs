//! `gps-dump`: selections and errors. The bytes are compared with pyulog in `conformance/`.

use std::fs;

use logtool_ulog::write::{Subscription, Writer};

use crate::{program::Folder, samples::testdata};

/// A log with records of receivers: instance, `len` and the first byte of four.
fn log(records: &[(u8, u8, u8)]) -> Folder {
    let mut log = Writer::new(Vec::new(), 1_000_000);
    let fields = "uint64_t timestamp;uint8_t instance;uint8_t len;uint8_t[4] data;";
    log.format("gps_dump", fields).unwrap();
    let topic = log.subscribe(Subscription::new("gps_dump")).unwrap();
    for (time, (instance, len, byte)) in (1_000_000_u64..).zip(records) {
        let data = [*instance, *len, *byte, byte + 1, byte + 2, byte + 3];
        log.data(topic, time, &[&time.to_le_bytes()[..], &data].concat()).unwrap();
    }
    Folder::with_log(&log.finish().unwrap())
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path().join("gps").join(name)).unwrap()
}

const ARGS: [&str; 4] = ["gps-dump", "flight.ulg", "-o", "gps"];

#[test]
fn high_bit_of_the_length_is_the_direction() {
    let folder = log(&[(0, 2, 10), (1, 1, 20), (0, 0x83, 30), (0, 1, 40), (0, 0, 50)]);
    folder
        .run(&ARGS)
        .assert_status(0, &["2 receivers", "receiver 0: 3 B from it, 3 B to it"]);
    assert_eq!(bytes(&folder, "flight_0_from_device.dat"), [10, 11, 40]);
    assert_eq!(bytes(&folder, "flight_0_to_device.dat"), [30, 31, 32]);
    assert_eq!(bytes(&folder, "flight_1_from_device.dat"), [20]);
    assert!(bytes(&folder, "flight_1_to_device.dat").is_empty());
}

#[test]
fn one_receiver_is_selected_or_the_others_are_named() {
    let folder = log(&[(0, 2, 10), (1, 1, 20)]);
    folder
        .run(&[&ARGS[..], &["--instance", "2"]].concat())
        .assert_status(1, &["of 0, 1"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
    folder
        .run(&[&ARGS[..], &["--instance", "1"]].concat())
        .assert_status(0, &["1 receiver"]);
    let names = ["flight_1_from_device.dat", "flight_1_to_device.dat"];
    assert_eq!(folder.list("gps"), names);
}

#[test]
fn length_beyond_the_data_is_reported() {
    let folder = log(&[(0, 100, 10)]);
    folder.run(&ARGS).assert_status(3, &["1 record with a longer `len` than `data`"]);
    assert_eq!(bytes(&folder, "flight_0_from_device.dat"), [10, 11, 12, 13]);
}

#[test]
fn log_without_bytes_is_an_error() {
    let run =
        Folder::new().run(&["gps-dump", &testdata("quad_flight.ulg"), "-o", "gps"]);
    run.assert_status(1, &["no records of gps_dump", "GPS_DUMP_COMM"]);
}
