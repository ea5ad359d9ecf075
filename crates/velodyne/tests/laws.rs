//! `.vel` logs that an independent writer assembled satisfy the conformance checks.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use bytes::Bytes;
use logtool_core::conformance;
use logtool_velodyne::vel;

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("velodyne/{name}"))
}

#[test]
fn sound_vel_logs_conform() {
    for name in ["sample_real_s1.vel", "sample_real_s1_size21.vel"] {
        if let Some(bytes) = sample(name) {
            conformance::check(&vel::FORMAT, bytes);
        }
    }
}

#[test]
fn long_and_damaged_vel_logs_conform() {
    for name in ["sample_real_s1_trunc_noindex.vel", "sample_real_s1_loop12.vel"] {
        if let Some(bytes) = sample(name) {
            conformance::check_damaged(&vel::FORMAT, bytes);
        }
    }
}
