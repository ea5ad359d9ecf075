//! Any bytes as a `.vel` log: opened, read in all ways, decoded.
//!
//! Input that does not start like one is appended to the head of a log without an index.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_velodyne::vel::{FORMAT, MAGIC};

fuzz_target!(|input: &[u8]| {
    match input.starts_with(&MAGIC) {
        true => logtool_fuzz::lidar::check(&FORMAT, input),
        false => {
            let head = [&MAGIC[..], &[1, 0, 1, 0, 0, 0, 0, 0]].concat();
            logtool_fuzz::lidar::check(&FORMAT, &[&head, input].concat());
        }
    }
});
