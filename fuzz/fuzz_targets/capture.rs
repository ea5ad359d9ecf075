//! Any bytes as a capture: opened, read in all ways, decoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_velodyne::capture::FORMAT;

fuzz_target!(|input: &[u8]| logtool_fuzz::lidar::check(&FORMAT, input));
