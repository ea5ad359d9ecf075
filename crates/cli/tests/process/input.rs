//! Sources of logs: files, standard input, and compressed files.

use std::io::Write as _;

use crate::{bytes, program::Folder};

#[test]
fn standard_input_is_read_like_a_file() {
    let folder = Folder::with_log(&bytes::log());
    let file = folder.run(&["cat", "flight.ulg"]).assert_success().stdout;
    let piped = folder.run_with(&["cat", "-"], &bytes::log()).assert_success().stdout;
    assert_eq!(file, piped);
}

#[test]
fn compressed_logs_are_recognized_by_content() {
    let log = bytes::log();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    gzip.write_all(&log).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&log).unwrap();
    let folder = Folder::with_log(&log);
    folder.write("a.ulg.gz", &gzip.finish().unwrap());
    folder.write("b", &xz.finish().unwrap());
    folder.write("c.ulg", &zstd::encode_all(&log[..], 0).unwrap());
    let file = folder.run(&["cat", "flight.ulg"]).assert_success().stdout;
    for name in ["a.ulg.gz", "b", "c.ulg"] {
        assert_eq!(folder.run(&["cat", name]).assert_success().stdout, file, "{name}");
    }
}

#[test]
fn output_with_a_compressed_extension_is_rejected() {
    let folder = Folder::with_log(&bytes::log());
    for (command, name) in [("filter", "a.ulg.gz"), ("repair", "a.XZ")] {
        let run = folder.run(&[command, "flight.ulg", "-o", name]);
        run.assert_status(2, &["has a compressed extension", "hint: name it a"]);
        assert!(!folder.path().join(name).exists());
    }
}

#[test]
fn truncated_gzip_is_read_to_its_end_and_the_loss_is_reported() {
    let mut gzip =
        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(&bytes::log()).unwrap();
    let gzip = gzip.finish().unwrap();
    let folder = Folder::new();
    // Without the trailer of 8 bytes, and without the last 3 bytes of the log.
    folder.write("cut.gz", &gzip[..gzip.len() - 11]);
    let run = folder
        .run(&["cat", "cut.gz"])
        .assert_status(3, &["cut.gz", "the gzip data is damaged"]);
    assert_eq!(run.stdout.lines().count(), 7);
    folder.run(&["cat", "cut.gz", "--strict"]).assert_status(1, &["damaged"]);
}

#[test]
fn unrecognized_input_is_named_with_a_hint() {
    let folder = Folder::new();
    folder.write("empty.ulg", b"");
    folder.write("logs/readme", b"");
    folder.write("x.zip", b"PK\x03\x04xxxxxxxx");
    folder.write("x.ulge", b"ULogEnc\x01\x01\x00\x01\x00\x00xxxxxxxxxxxx");
    folder.write("y.ulge", b"ULogEnc\x01\x01\x00\x01\x00\x00");
    let info = |name| folder.run(&["info", name]);
    info("empty.ulg")
        .assert_status(1, &["error: cannot open empty.ulg:", "it is empty"]);
    info("logs")
        .assert_status(1, &["error: cannot open logs: it is a folder", "logs/*"]);
    info("missing.ulg")
        .assert_status(1, &["error: cannot open missing.ulg: there is no such file"]);
    info("x.zip")
        .assert_status(1, &["hint: it looks like a zip archive: unpack it first"]);
    info("x.ulge").assert_status(1, &["x.ulge", "encrypted", "unknown algorithm 120"]);
    info("y.ulge").assert_status(1, &["y.ulge", "encrypted", "13 bytes of 22"]);
}

#[test]
fn unknown_incompatible_flag_is_rejected_by_default() {
    let mut log = bytes::log();
    // The incompatible flags are after the file header, the message header and the 8
    // compatible flags.
    log[16 + 3 + 8] = 2;
    let folder = Folder::with_log(&log);
    folder
        .run(&["cat", "flight.ulg"])
        .assert_status(1, &["flag bit 1", "--read-anyway"]);
    let run = folder.run(&["cat", "flight.ulg", "--read-anyway"]);
    assert_eq!((run.status, run.stdout.lines().count()), (0, 8), "{run:?}");
}
