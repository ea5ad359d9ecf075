//! New logs on standard output.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::{program::Folder, samples::testdata};

/// Runs the command with `args` in `folder`, and returns the bytes from its standard output.
fn standard_output(folder: &Folder, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_logtool"));
    command.args(args).current_dir(folder.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    output.stdout
}

#[test]
fn sequential_formats_are_written_to_standard_output() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    folder.run(&["convert", &bag, "-q", "-o", "rover.mcap"]).assert_success();
    let (ulog, capture) = (testdata("quad_flight.ulg"), testdata("puck.pcap"));
    for (log, name) in [
        ("rover.mcap", "new.mcap"),
        (ulog.as_str(), "new.ulg"),
        (capture.as_str(), "new.pcap"),
    ] {
        assert_eq!(folder.run(&["filter", log, "-o", name]).status, 0);
        let written = fs::read(folder.path().join(name)).unwrap();
        let bytes = standard_output(&folder, &["filter", log, "-o", "-"]);
        assert!(bytes == written, "{name}: {} bytes", bytes.len());
        folder
            .run(&["repair", log, "-o", "-"])
            .assert_status(2, &["read again to be checked"]);
    }
    folder
        .run(&["merge", "-q", "rover.mcap", "rover.mcap", "-o", "m.mcap"])
        .assert_success();
    let merged =
        standard_output(&folder, &["merge", "rover.mcap", "rover.mcap", "-o", "-"]);
    assert!(merged == fs::read(folder.path().join("m.mcap")).unwrap());
}

#[test]
fn formats_with_a_final_header_are_rejected_on_standard_output() {
    let folder = Folder::new();
    for log in ["rover.bag", "car.vel"] {
        let run = folder.run(&["filter", &testdata(log), "-o", "-"]);
        assert!(run.stdout.is_empty());
        run.assert_status(
            2,
            &["is written last", "MCAP files, ULogs and captures can"],
        );
    }
}

#[cfg(unix)]
#[test]
fn devices_are_rejected_as_outputs() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    for device in ["/dev/full", "/dev/null", "/dev/stdout"] {
        for args in [
            &["filter", &log, "--force", "-o", device][..],
            &[
                "convert",
                &log,
                "--format",
                "parquet",
                "--force",
                "-t",
                "battery_status",
                "-o",
                device,
            ],
        ] {
            let run = folder.run(args);
            assert_eq!(run.status, 1, "{run:?}");
            assert!(run.stderr.contains("a device, a pipe or a socket"), "{run:?}");
        }
    }
}
