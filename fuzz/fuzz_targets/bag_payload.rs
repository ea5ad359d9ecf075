//! Any bytes as messages of some type: each becomes rows or is reported as damage. The types include
//! those with special decoders, e.g. point clouds and images.

#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use logtool_core::{Log as _, Selection, View};
use logtool_fuzz::bag::{laws, make, types::TYPES};
use logtool_rosbag::{RosbagLog, RosbagOptions};

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
    let md5sum = logtool_rosmsg::md5sum(name, text).unwrap_or_else(|_| "*".to_owned());
    let mut bag = make::head(0, 0, 0);
    let mut content = make::connection(0, "/a", name, &md5sum, text);
    for (number, payload) in input.payloads.iter().take(64).enumerate() {
        let payload = [&input.before[..], payload].concat();
        content.extend(make::message(0, 1, number as u32, &payload));
    }
    bag.extend(make::chunk("none", content.len() as u32, &content));
    let source = Arc::new(Bytes::from(bag));
    let log = RosbagLog::open(source, RosbagOptions::default()).expect("it opens");
    let all = Selection::default();
    let (whole, _) = laws::read(&log, &log.manifest().plan(&all, u64::MAX), &all);
    for view in [View::Nested, View::Flat] {
        laws::check_columns(&log, view, &whole);
    }
});
