//! Any bytes as messages of any type, of ROS 1 and in CDR.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use logtool_fuzz::bag::types::TYPES;
use logtool_rosmsg::{Definition, Transcoder};

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    /// An arbitrary definition instead of a known one.
    text: Option<String>,
    /// Bytes before each payload.
    before: Vec<u8>,
    payloads: Vec<Vec<u8>>,
}

fuzz_target!(|input: Input| {
    let (name, text) = TYPES[usize::from(input.kind) % TYPES.len()];
    let (name, text) = match &input.text {
        Some(text) => ("odd/Any", text.as_str()),
        None => (name, text),
    };
    // Whether or not it is a valid definition of ROS 2, decoding messages with it terminates.
    if let Ok(layout) = Definition::parse_ros2(name, text).and_then(|of| of.layout())
        && let Ok(of_ros2) = Transcoder::for_ros2_layout(&layout)
    {
        let mut converted = Vec::new();
        for payload in &input.payloads {
            let payload = [&[0, payload.len() as u8 & 7, 0, 0], &payload[..]].concat();
            converted.clear();
            if of_ros2.from_cdr(&payload, &mut converted).is_some() {
                assert!(converted.len() <= payload.len());
            }
        }
    }
    // As a definition of ROS 1: all types exist, and converting messages terminates.
    if let Ok(in_ros1) = Definition::ros1_from_ros2(name, text) {
        let layout = in_ros1.layout().expect("all types exist");
        in_ros1.md5sum().expect("all types exist");
        if let Ok(to_ros1) = Transcoder::for_ros1_layout(&layout) {
            let mut converted = Vec::new();
            for payload in &input.payloads {
                let payload = [&[0, 1, 0, 0], &payload[..]].concat();
                converted.clear();
                assert!(
                    to_ros1.from_cdr(&payload, &mut converted).is_some()
                        || converted.is_empty()
                );
            }
        }
    }
    let Ok(definition) = Definition::parse(name, text) else { return };
    let Ok(layout) = definition.layout() else { return };
    let in_ros2 = definition.ros2_text().expect("all types exist");
    let Ok(transcoder) = Transcoder::for_ros1_layout(&layout) else { return };
    let of_ros2 = Definition::parse_ros2(&definition.ros2_name(), &in_ros2);
    let of_ros2 = of_ros2.and_then(|of| Transcoder::for_ros2_layout(&*of.layout()?));
    // Unusual names may mean another type in ROS 2.
    let of_ros2 = match &input.text {
        None => Some(of_ros2.expect("it is parsed again")),
        Some(_) => None,
    };
    let (mut cdr, mut round_trip, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for payload in input.payloads.iter().take(64) {
        let payload = [&input.before[..], payload].concat();
        cdr.clear();
        round_trip.clear();
        again.clear();
        if !transcoder.to_cdr(&payload, &mut cdr) {
            assert!(cdr.is_empty());
            continue;
        }
        if let Some(of_ros2) = &of_ros2 {
            assert!(
                of_ros2.from_cdr(&cdr, &mut again).is_some(),
                "with its definition in ROS 2"
            );
            assert!(again.len() <= payload.len());
        }
        again.clear();
        // Except for `seq`, the round trip returns the same message.
        assert!(transcoder.from_cdr(&cdr, &mut round_trip).is_some());
        assert_eq!(round_trip.len(), payload.len());
        assert!(transcoder.to_cdr(&round_trip, &mut again) && again == cdr);
    }
});
