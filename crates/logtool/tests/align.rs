//! Alignments of clocks through the library alone.

#![cfg(feature = "align")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{io::Write as _, path::Path};

use logtool::{
    ErrorKind, Session,
    align::{Align, AlignInput},
};

/// Writes a ULog of 120 seconds with an irregular motion, sampled at 50 Hz. `offset` is added to
/// its times, in microseconds.
fn write_log(path: &Path, offset: u64) {
    let mut log = b"ULog\x01\x12\x35\x01".to_vec();
    log.extend(offset.to_le_bytes());
    let mut message = |kind: u8, payload: &[u8]| {
        log.extend((payload.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend(payload);
    };
    message(b'F', b"att:uint64_t timestamp;float rate;");
    message(b'A', b"\0\0\0att");
    for n in 0..6_000_u32 {
        let t = f64::from(n) / 50.0;
        // A frequency that rises all the time: no other offset fits.
        let rate = (0.5 * t + 0.02 * t * t).sin() + 0.5 * (0.003 * t * t * t).cos();
        let time = offset + u64::from(n) * 20_000;
        let payload =
            [&[0, 0][..], &time.to_le_bytes(), &(rate as f32).to_le_bytes()].concat();
        message(b'D', &payload);
    }
    std::fs::File::create(path).unwrap().write_all(&log).unwrap();
}

#[test]
fn align_finds_the_offset_between_two_logs_of_one_motion() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.ulg", "b.ulg"].map(|name| folder.path().join(name));
    write_log(&a, 7_500_000);
    write_log(&b, 2_000_000);
    let input = |path: &Path| AlignInput::new(path, "att.rate");
    let report = Align::new(input(&a), input(&b)).run(&Session::new()).unwrap();
    assert!(report.is_aligned(), "{report:?}");
    let error = report.estimate.offset_nanos.abs_diff(5_500_000_000);
    assert!(error < 1_000_000, "{error} ns");
    assert_eq!(report.drift().is_some(), report.estimate.confidence.is_drift_known());
    assert_eq!((report.first.outliers, report.second.outliers), (0, 0));
}

#[test]
fn align_refuses_signals_that_a_log_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ulg");
    write_log(&path, 0);
    let inputs = ["att.rate", "att.nothing"].map(|name| AlignInput::new(&*path, name));
    let [first, second] = inputs;
    let error = Align::new(first, second).run(&Session::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
