//! Points of generated packets of lidars with a limited field of view. The azimuth and
//! the time of each firing are known.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

mod common;

use std::sync::Arc;

use arrow_array::{
    cast::AsArray as _,
    types::{Float32Type, TimestampNanosecondType, UInt32Type},
};
use bytes::Bytes;
use common::points;
use logtool_core::{Findings, Log as _, OpenOptions};
use logtool_velodyne::{
    capture::CaptureLog,
    lidar::LidarOptions,
    model::{Model, ReturnMode, Sensor, TimestampReference},
    points::TimeSource,
};

/// The origin of the times of points.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stamp {
    /// The host timestamps packets on arrival.
    Arrival,
    /// The host timestamps packets with the times of their first firings.
    First,
    /// The lidar's own clock.
    Sensor,
}

/// A lidar that measures from `start` to `end` only, in hundredths of a degree.
#[derive(Clone, Copy, Debug)]
struct GeneratedLidar {
    model: Model,
    returns: ReturnMode,
    rpm: f64,
    start: u16,
    end: u16,
    stamp: Stamp,
    rotations: f64,
}

/// Returns the layout of packets: the number of blocks of a firing, the number of used blocks,
/// and the nanoseconds between firings.
fn layout(model: Model, returns: ReturnMode) -> (usize, usize, f64) {
    let is_dual = returns == ReturnMode::Dual;
    let factor = if is_dual { 2 } else { 1 };
    match model {
        Model::Hdl64eS2 | Model::Hdl64eS3 if is_dual => (4, 12, 57_600.0),
        Model::Hdl64eS2 | Model::Hdl64eS3 => (2, 12, 48_000.0),
        Model::Hdl32e => (factor, 12, 46_080.0),
        Model::Vlp16 | Model::Vlp16HiRes => (factor, 12, 110_592.0),
        Model::Vlp32a | Model::Vlp32c => (factor, 12, 55_296.0),
        Model::AlphaPrime => (4 * factor, if is_dual { 8 } else { 12 }, 57_800.0),
        _ => (4 * factor, if is_dual { 8 } else { 12 }, 160_000.0 / 3.0),
    }
}

/// The time of the first firing in nanoseconds of Unix time.
const START_NANOS: f64 = 1_700_000_000e9;

impl GeneratedLidar {
    /// Hundredths of a degree per nanosecond.
    fn rate(&self) -> f64 {
        self.rpm / 60.0 * 36_000.0 / 1e9
    }

    /// Returns the azimuth at a time in nanoseconds after the first firing, which is in
    /// the middle of the field of view.
    fn azimuth(&self, nanos: f64) -> f64 {
        let visible = (u32::from(self.end) + 36_000 - u32::from(self.start)) % 36_000;
        f64::from(self.start) + f64::from(visible) / 2.0 + self.rate() * nanos
    }

    fn is_visible(&self, nanos: f64) -> bool {
        let visible = (u32::from(self.end) + 36_000 - u32::from(self.start)) % 36_000;
        let after = (self.azimuth(nanos) - f64::from(self.start)).rem_euclid(36_000.0);
        after < f64::from(visible)
    }

    /// Returns how often the head passed the blanked sector up to this time.
    fn count_passes(&self, nanos: f64) -> i64 {
        ((self.azimuth(nanos) - f64::from(self.start)) / 36_000.0).floor() as i64
    }

    /// Returns the times of all firings if the field of view is limited after
    /// `limited_from` nanoseconds.
    fn firings(&self, limited_from: f64) -> Vec<f64> {
        let (_, _, interval) = layout(self.model, self.returns);
        let count = (self.rotations / (self.rate() / 36_000.0) / interval) as u64;
        let all = (0..count).map(|n| n as f64 * interval);
        all.filter(|nanos| *nanos < limited_from || self.is_visible(*nanos)).collect()
    }

    /// Returns the numbers of the packets that cross the blanked sector.
    fn crossing_packets(&self) -> Vec<usize> {
        let (blocks, used, _) = layout(self.model, self.returns);
        let firings = self.firings(0.0);
        let packets = firings.chunks_exact(used / blocks).enumerate();
        let spans = |times: &[f64]| {
            self.count_passes(times[0]) != self.count_passes(times[times.len() - 1])
        };
        packets.filter(|(_, times)| spans(times)).map(|(number, _)| number).collect()
    }

    /// Returns a capture with times in nanoseconds. The field of view is limited after
    /// `limited_from` nanoseconds. Packets for which `is_lost` returns true are omitted.
    fn capture(&self, limited_from: f64, is_lost: impl Fn(usize) -> bool) -> Bytes {
        let (blocks, used, interval) = layout(self.model, self.returns);
        let sensor = Sensor { model: self.model, returns: self.returns };
        let firings = used / blocks;
        let visible = self.firings(limited_from);
        let mut bytes = Vec::new();
        let header = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1];
        header.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        for (number, times) in visible.chunks_exact(firings).enumerate() {
            if is_lost(number) {
                continue;
            }
            let (first, last) = (times[0], times[firings - 1]);
            // The time of the first firing if the packet had no gap and the same last firing.
            let at_end = last + interval - firings as f64 * interval;
            let is_end = self.model.timestamp_reference() == TimestampReference::End;
            let packet_nanos = if is_end { sensor.packet_nanos() } else { 0.0 };
            let stamp = if is_end { at_end } else { first } + packet_nanos;
            let arrival = match self.stamp {
                Stamp::First => first + packet_nanos,
                Stamp::Arrival => at_end + packet_nanos,
                Stamp::Sensor => stamp + 400_000.0,
            };
            let nanos = (START_NANOS + arrival) as u64;
            let lengths = [1_248_u32; 2];
            let head = [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32];
            head.into_iter().chain(lengths).for_each(|w| bytes.extend(w.to_le_bytes()));
            bytes.extend(FRAME);
            for block in 0..12 {
                if block >= used {
                    bytes.extend([0; 100]);
                    continue;
                }
                let azimuth = self.azimuth(times[block / blocks]).rem_euclid(36_000.0);
                bytes.extend(self.flag(block).to_le_bytes());
                bytes.extend((azimuth as u16).to_le_bytes());
                // The two returns differ, so that both are points.
                let distance = 5_000 + (block % 8) as u16;
                for channel in 0..32 {
                    let distance = if channel % 31 == 0 { distance } else { 0 };
                    bytes.extend(distance.to_le_bytes());
                    bytes.push(9);
                }
            }
            let stamp = (START_NANOS % 3.6e12 + stamp) / 1e3;
            bytes.extend((stamp.round() as u32).to_le_bytes());
            bytes.extend(self.tail());
        }
        bytes.into()
    }

    fn flag(&self, block: usize) -> u16 {
        let is_dual = self.returns == ReturnMode::Dual;
        let bank = match self.model {
            Model::Hdl64eS2 | Model::Hdl64eS3 => block % 2,
            Model::Vls128 | Model::AlphaPrime if is_dual => block / 2,
            Model::Vls128 | Model::AlphaPrime => block % 4,
            _ => 0,
        };
        0xeeff - 0x1100 * bank as u16
    }

    fn tail(&self) -> [u8; 2] {
        let mode = if self.returns == ReturnMode::Dual { 0x39 } else { 0x37 };
        match self.model.product_id() {
            Some(product_id) => [mode, product_id],
            None => *b"H\x0c",
        }
    }

    fn open(&self, bytes: Bytes) -> CaptureLog {
        let mut options = LidarOptions::default();
        options.model = Some(self.model);
        options.returns = Some(self.returns);
        if self.stamp == Stamp::Sensor {
            options.points.time = TimeSource::Sensor { hour_nanos: 0 };
        }
        CaptureLog::open_with(Arc::new(bytes), OpenOptions::default(), &options)
            .unwrap()
    }

    /// Compares all points with the simulation, and checks that no packets are reported as
    /// lost.
    fn check(&self) {
        let log = self.open(self.capture(0.0, |_| false));
        self.check_points(&log);
        let lost = lost_packets(&log);
        assert!(lost.is_none(), "{self:?}: {lost:?}");
    }

    /// Compares the points and the field of view of `log` with the simulation.
    fn check_points(&self, log: &CaptureLog) {
        let points = points(log, 1 << 18);
        let floats = |name| points[name].as_primitive::<Float32Type>().values();
        let times = points["time"].as_primitive::<TimestampNanosecondType>().values();
        let scans = points["scan"].as_primitive::<UInt32Type>().values();
        let (azimuths, x, y) = (floats("azimuth"), floats("x"), floats("y"));
        let (blocks, _, interval) = layout(self.model, self.returns);
        assert!(blocks > 0 && !times.is_empty());
        let first_pass = self.count_passes(0.0);
        // All lasers in a block of an HDL-64E have the azimuth of the block.
        let is_still = self.model.is_hdl64e();
        let firing_angle = if is_still { self.rate() * interval / 100.0 } else { 0.0 };
        // The time of a VLS-128 is that of its fourth group of lasers.
        let shift = match self.model {
            Model::Vls128 | Model::AlphaPrime => 8_700.0,
            _ => 0.0,
        };
        for at in 0..times.len() {
            let nanos = times[at] as f64 - START_NANOS + shift;
            let true_azimuth = self.azimuth(nanos) / 100.0;
            let mut deviation = (true_azimuth - f64::from(azimuths[at]) + 180.0)
                .rem_euclid(360.0)
                - 180.0;
            if deviation > 0.0 && is_still {
                deviation = (deviation - firing_angle).max(0.0);
            }
            assert!(
                deviation.abs() < 0.06,
                "{self:?}: point {at} is {deviation} deg off"
            );
            // No laser points further to the side than 7 degrees.
            let azimuth = f64::from(-y[at]).atan2(f64::from(x[at])).to_degrees();
            let turned =
                (azimuth - f64::from(azimuths[at]) + 180.0).rem_euclid(360.0) - 180.0;
            assert!(turned.abs() < 10.0, "{self:?}: point {at} is turned by {turned}");
            let margin = 1_000_000.0_f64.min(interval * 14.0);
            let passes =
                [self.count_passes(nanos - margin), self.count_passes(nanos + margin)];
            let scan = i64::from(scans[at]) + first_pass;
            if passes[0] == passes[1] && self.is_visible(nanos) {
                assert_eq!(
                    scan, passes[0],
                    "{self:?}: point {at} at {true_azimuth} deg"
                );
            }
        }
        let topic = log.manifest().topic_id("points").unwrap();
        let metadata = &log.manifest().topics[topic.index()].metadata;
        let description =
            metadata.get("field_of_view").unwrap_or_else(|| panic!("{self:?}"));
        let (start, end) = (self.start / 100, self.end / 100 % 360);
        assert!(
            description.starts_with(&format!("{start} to {end} deg")),
            "{self:?}: {description}"
        );
    }
}

/// Returns the finding about lost packets.
fn lost_packets(log: &CaptureLog) -> Option<String> {
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let mut lost = findings.iter().filter(|f| f.code.name == "lidar.packets.lost");
    lost.next().map(|remark| remark.text.clone())
}

/// Ethernet, IPv4 without a checksum, UDP to port 2368.
const FRAME: [u8; 42] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0, 0x45, 0, 4, 210, 0, 0, 0x40, 0, 64,
    17, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255, 9, 64, 9, 64, 4, 190, 0, 0,
];

const SINGLE: ReturnMode = ReturnMode::Strongest;

#[test]
fn sectors_of_any_width_and_position_are_detected() {
    for (start, end) in [
        (4_500, 31_500),
        (9_000, 27_000),
        (29_000, 7_000),
        (100, 35_900),
        (0, 35_900),
        (18_000, 17_900),
        (20_000, 20_500),
        (35_900, 100),
        (35_800, 0),
        (100, 300),
    ] {
        for rpm in [300.0, 600.0, 1_200.0] {
            for stamp in [Stamp::Arrival, Stamp::First, Stamp::Sensor] {
                let (model, returns) = (Model::Vlp16, SINGLE);
                // With a very narrow field of view, a packet contains several rotations.
                let visible = (u32::from(end) + 36_000 - u32::from(start)) % 36_000;
                let rotations = if visible < 1_000 { 60.3 } else { 3.3 };
                GeneratedLidar { model, returns, rpm, start, end, stamp, rotations }
                    .check();
            }
        }
    }
}

#[test]
fn packets_of_all_models_may_cross_a_blanked_sector() {
    for model in [
        Model::Hdl64eS2,
        Model::Hdl64eS3,
        Model::Hdl32e,
        Model::Vlp16HiRes,
        Model::Vlp32c,
        Model::Vls128,
        Model::AlphaPrime,
    ] {
        for returns in [SINGLE, ReturnMode::Dual] {
            if model == Model::Hdl64eS2 && returns == ReturnMode::Dual {
                continue;
            }
            for (start, end) in [(9_000, 27_000), (31_000, 5_000), (17_500, 18_500)] {
                for (stamp, rpm) in [
                    (Stamp::Arrival, 600.0),
                    (Stamp::First, 1_200.0),
                    (Stamp::Sensor, 1_200.0),
                ] {
                    // A few packets that all cross the sector do not show which firing
                    // has the time of the record.
                    let is_narrow = start == 17_500;
                    let rotations = if is_narrow { 20.3 } else { 2.3 };
                    GeneratedLidar {
                        model,
                        returns,
                        rpm,
                        start,
                        end,
                        stamp,
                        rotations,
                    }
                    .check();
                }
            }
        }
    }
}

/// Sectors of 10, 90, 180 and 300 degrees. Some contain 0 degrees.
const FIELDS: [(u16, u16); 6] = [
    (500, 35_500),
    (10_000, 9_000),
    (4_500, 31_500),
    (9_000, 27_000),
    (33_000, 3_000),
    (27_000, 33_000),
];

#[test]
fn lost_packets_are_counted_around_a_sector() {
    let (model, returns, rpm, rotations) = (Model::Vlp16, SINGLE, 600.0, 12.3);
    for (start, end) in FIELDS {
        for stamp in [Stamp::Arrival, Stamp::First, Stamp::Sensor] {
            let lidar =
                GeneratedLidar { model, returns, rpm, start, end, stamp, rotations };
            let crossing_packets = lidar.crossing_packets();
            let inside = crossing_packets[crossing_packets.len() / 2];
            let is_apart = |number: &usize| {
                crossing_packets.iter().all(|other| other.abs_diff(*number) > 2)
            };
            let outside = (inside + 3..).find(is_apart).unwrap();
            for lost in [inside, outside] {
                let log = lidar.open(lidar.capture(0.0, |number| number == lost));
                lidar.check_points(&log);
                let description = lost_packets(&log).unwrap_or_default();
                let expected = "about 1 packet is missing, in 1 gap";
                assert!(
                    description.starts_with(expected),
                    "{lidar:?}: {lost}: {description}"
                );
            }
            let three = |number| (outside..outside + 3).contains(&number);
            let log = lidar.open(lidar.capture(0.0, three));
            lidar.check_points(&log);
            let description = lost_packets(&log).unwrap_or_default();
            assert!(
                description.starts_with("about 3 packets are"),
                "{lidar:?}: {description}"
            );
        }
    }
}

#[test]
fn field_of_view_that_is_limited_later_is_detected() {
    let (returns, rotations) = (SINGLE, 145.3);
    // After more than 8,192 packets.
    for (model, rpm, limited_from, (start, end), stamp) in [
        (Model::Vlp16, 600.0, 11e9, FIELDS[2], Stamp::Arrival),
        (Model::Vlp16, 600.0, 11e9, FIELDS[4], Stamp::Sensor),
        (Model::Vlp32c, 1_200.0, 5.6e9, FIELDS[3], Stamp::First),
    ] {
        let lidar =
            GeneratedLidar { model, returns, rpm, start, end, stamp, rotations };
        let log = lidar.open(lidar.capture(limited_from, |_| false));
        lidar.check_points(&log);
        assert_eq!(lost_packets(&log), None, "{lidar:?}");
        let topic = log.manifest().topic_id("points").unwrap();
        let description =
            &log.manifest().topics[topic.index()].metadata["field_of_view"];
        assert!(
            description.ends_with("but not from the start of the log"),
            "{description}"
        );
        // The private state of the manifest contains it as well.
        let manifest = Arc::new(log.manifest().clone());
        let copy = CaptureLog::open_with_manifest(
            log.source().clone(),
            manifest,
            OpenOptions::default(),
        );
        assert_eq!(copy.unwrap().lidar(topic), log.lidar(topic));
    }
}
