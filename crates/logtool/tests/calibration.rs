//! Calibrations of lidars through the library alone.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::path::PathBuf;

use logtool::{ErrorKind, Session, calibration::ExtractCalibration};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

#[test]
fn calibration_of_a_log_is_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new();
    let request = ExtractCalibration::new(testdata("puck.pcap"));
    let calibration = request.run(&session).unwrap();
    assert_eq!(calibration.lasers.len(), 16);
    for name in ["db.xml", "vlp16.yaml"] {
        let path = folder.path().join(name);
        request.write(&path, &session).unwrap();
        let read = ExtractCalibration::new(&path).run(&session).unwrap();
        assert_eq!(read.lasers.len(), 16, "{name}");
        let error = request.write(&path, &session).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}");
    }
}

#[test]
fn calibration_of_a_log_without_lidar_or_in_an_unknown_format_is_refused() {
    let session = Session::new();
    let request = ExtractCalibration::new(testdata("rover.bag"));
    assert_eq!(request.run(&session).unwrap_err().kind(), ErrorKind::NotFound);
    let request = ExtractCalibration::new(testdata("puck.pcap"));
    let path = PathBuf::from("calibration.txt");
    let error = request.write(&path, &session).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}
