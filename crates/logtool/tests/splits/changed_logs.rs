//! Splits that do not match their log: the log or the split was changed after planning.

use std::{fs, io::Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use logtool::{ErrorKind, PlanRequest, Session, Split};

use crate::{
    messages::{BAG, FOXGLOVE, MCAP},
    testdata,
};

#[test]
fn reading_a_file_that_has_changed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rover.bag");
    fs::copy(testdata("rover.bag"), &path).unwrap();
    let request = PlanRequest::new([&path]).with_topics(["/imu/data"]);
    let plan = request.run(&Session::new()).unwrap();
    assert!(logtool::read(&plan.splits[0]).is_ok());
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"x").unwrap();
    drop(file);
    let error = logtool::read(&plan.splits[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("has changed"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(logtool::read(&plan.splits[0]).is_err());
}

#[test]
fn changed_splits_end_without_a_panic() {
    for name in ["quad_flight.ulg", "rover.bag", "car.vel", "puck.pcap"] {
        let request = PlanRequest::new([testdata(name)]).with_topics(["*"]);
        let plan = request.run(&Session::new()).unwrap();
        let split = plan.splits.last().unwrap();
        let json = serde_json::to_string(split).unwrap();
        for at in (0..json.len()).step_by(json.len().div_ceil(60)) {
            for change in [b'0', b'9', b'A', b'}', b'\\'] {
                let mut changed = json.clone().into_bytes();
                changed[at] = change;
                let Ok(split) = serde_json::from_slice::<Split>(&changed) else {
                    continue;
                };
                if let Ok(batches) = logtool::read(&split) {
                    batches.for_each(drop);
                }
            }
        }
    }
}

/// Returns `split` with another number at the index `change` of the numbers in its state.
fn with_number(split: &Split, change: usize, number: &str) -> Option<Split> {
    let mut json = serde_json::to_value(split).unwrap();
    let state = STANDARD.decode(json["state"].as_str().unwrap()).unwrap();
    let state = zstd::decode_all(&state[..]).unwrap();
    let state = String::from_utf8(state).unwrap();
    let is_digit = |at: usize| state.as_bytes()[at].is_ascii_digit();
    let mut starts = (1..state.len()).filter(|at| is_digit(*at) && !is_digit(at - 1));
    let start = starts.nth(change)?;
    let end = (start..state.len()).find(|at| !is_digit(*at)).unwrap();
    let changed = format!("{}{number}{}", &state[..start], &state[end..]);
    let packed = zstd::encode_all(changed.as_bytes(), 1).unwrap();
    json["state"] = STANDARD.encode(packed).into();
    Some(serde_json::from_value(json).unwrap())
}

#[test]
fn states_with_any_number_end_without_a_panic() {
    for (name, topic, target) in [
        ("quad_flight.ulg", "*", None),
        ("rover.bag", "*", None),
        ("car.vel", "*", None),
        ("puck.pcap", "*", None),
        ("quad_flight.ulg", "sensor_combined", Some(BAG)),
        ("quad_flight.ulg", "vehicle_gps_position", Some(MCAP)),
        ("car.vel", "points", Some(FOXGLOVE)),
        ("puck.pcap", "points", Some(BAG)),
    ] {
        let mut request = PlanRequest::new([testdata(name)]).with_topics([topic]);
        request = request.with_target_bytes(1);
        if let Some(target) = target {
            request = request.with_messages(target.format, target.types);
        }
        let plan = request.run(&Session::new()).unwrap();
        let split = plan.splits.last().unwrap();
        for number in ["0", "3", "255", "65535", "4294967295", "18446744073709551615"] {
            let changed = (0..4000).step_by(37);
            for changed in changed.map_while(|at| with_number(split, at, number)) {
                let Ok(batches) = logtool::read(&changed) else { continue };
                for batch in batches {
                    if let Err(error) = batch {
                        assert!(!error.to_string().contains("thread"), "{error}");
                    }
                }
            }
        }
    }
}
