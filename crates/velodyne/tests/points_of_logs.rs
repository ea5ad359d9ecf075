//! Points are the same in any container, and for any division into parts.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

mod common;
#[path = "points_of_logs/switches.rs"]
mod switches;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    BooleanArray, RecordBatch,
    cast::AsArray as _,
    types::{TimestampNanosecondType, UInt32Type},
};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use common::points;
use logtool_core::{
    Block, Columns, Findings, Log, OpenOptions, Selection, TimeRange, Timestamp, View,
    conformance,
};
use logtool_velodyne::{
    calibration::Origin,
    capture::CaptureLog,
    lidar::{ClockChoice, LidarOptions},
    model::{Model, ReturnMode},
    points::{Formula, PARTIAL_SCANS, PointOptions},
    vel::VelLog,
};

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("velodyne/{name}"))
}

fn capture(name: &str) -> Option<CaptureLog> {
    let bytes = Arc::new(sample(name)?);
    Some(CaptureLog::open(bytes, OpenOptions::default()).unwrap())
}

#[test]
fn points_of_packets_without_time_have_null_times() {
    let Some(log) = capture("pcap_variants/simplepackets.pcapng") else { return };
    let points = points(&log, u64::MAX);
    assert!(points.num_rows() > 0);
    assert_eq!(points["time"].null_count(), points.num_rows());
}

#[test]
fn vel_log_has_the_points_of_its_source_capture() {
    for (vel, pcap) in [
        ("sample_real_s1.vel", "hdl64e_atwallshort.pcap"),
        ("sample_real_s1_size21.vel", "hdl64e_atwallshort.pcap"),
        ("sample_sim_s2.vel", "sim_hdl64e_s2.pcap"),
    ] {
        let (Some(bytes), Some(capture)) = (sample(vel), capture(pcap)) else {
            continue;
        };
        let log = VelLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
        let (actual, expected) = (points(&log, u64::MAX), points(&capture, u64::MAX));
        assert_eq!(actual.num_rows(), expected.num_rows(), "{vel}");
        for column in ["x", "y", "z", "intensity", "laser", "ring", "distance", "scan"]
        {
            let is_equal = actual[column].as_ref() == expected[column].as_ref();
            assert!(is_equal, "{vel}: {column}");
        }
    }
}

/// Returns the points in `time`, and the list of partial scans.
fn points_within(log: &dyn Log, time: TimeRange) -> (RecordBatch, String) {
    let topic = log.manifest().topic_id("points").unwrap();
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, time };
    let columns = Columns { time, ..Columns::new(View::Nested) };
    let (mut block, mut damage) = (Block::default(), vec![]);
    let mut decoder = log.decoder(topic, &columns).unwrap();
    let schema = decoder.schema().clone();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    let partial_scans =
        &schema.field_with_name("scan").unwrap().metadata()[PARTIAL_SCANS];
    (decoder.take().unwrap(), partial_scans.clone())
}

/// Parses a list of numbers such as `0,7-9`.
fn numbers(text: &str) -> Vec<u32> {
    let runs = text.split(',').filter(|run| !run.is_empty());
    let all = runs.flat_map(|run| {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        first.parse().unwrap()..=last.parse().unwrap()
    });
    all.collect()
}

#[test]
fn points_are_selected_by_firing_time_and_partial_scans_are_listed() {
    let vel = ["sample_sim_s2.vel", "sample_real_s1.vel"].map(|name| {
        let log = VelLog::open(Arc::new(sample(name)?), OpenOptions::default());
        Some((name, Box::new(log.unwrap()) as Box<dyn Log>))
    });
    let captures = ["sim_hdl64e_s2.pcap", "vlp16_nebula.pcap"]
        .map(|name| Some((name, Box::new(capture(name)?) as Box<dyn Log>)));
    for (name, log) in vel.into_iter().chain(captures).flatten() {
        let all = points(&*log, u64::MAX);
        let times = all["time"].as_primitive::<TimestampNanosecondType>().values();
        let scans = all["scan"].as_primitive::<UInt32Type>().values();
        let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        let at_percent = |percent: i64| {
            Timestamp::from_nanos(first + (last - first) / 100 * percent)
        };
        for (start, end) in [
            (at_percent(30), at_percent(70)),
            (Timestamp::MIN, at_percent(50)),
            (at_percent(90), Timestamp::MAX),
        ] {
            let time = TimeRange { start, end };
            let is_selected: Vec<bool> = times
                .iter()
                .map(|nanos| time.contains(Timestamp::from_nanos(*nanos)))
                .collect();
            let filter = BooleanArray::from(is_selected.clone());
            let expected = filter_record_batch(&all, &filter).unwrap();
            let (actual, partial_scans) = points_within(&*log, time);
            let case = format!("{name}: {start:?} to {end:?}");
            assert_eq!(actual.columns(), expected.columns(), "{case}");
            // The numbers of points of each scan that are not selected, and selected.
            let mut counts: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
            for (scan, is_selected) in scans.iter().zip(&is_selected) {
                counts.entry(*scan).or_default()[usize::from(*is_selected)] += 1;
            }
            let partial_scans = numbers(&partial_scans);
            for (scan, [outside, inside]) in &counts {
                let is_listed = partial_scans.contains(scan);
                if *inside == 0 {
                    assert!(!is_listed, "{case}: scan {scan}");
                } else if *outside > 0 {
                    assert!(is_listed, "{case}: scan {scan}");
                }
            }
            assert!(
                partial_scans.iter().all(|scan| counts.contains_key(scan)),
                "{case}"
            );
        }
    }
}

/// Returns whether all parts are short enough to keep the points of a few parts in
/// memory. The points of a packet take about twelve times the bytes of the packet.
fn are_short(log: &dyn Log) -> bool {
    let parts = &log.manifest().parts;
    parts.iter().all(|part| part.bytes.end - part.bytes.start < 5 << 18)
}

#[test]
fn parts_decoded_separately_have_the_points_of_the_whole() {
    let Some(log) = capture("sim_hdl64e_s2.pcap") else { return };
    assert!(are_short(&log));
    assert!(points(&log, 0) == points(&log, u64::MAX));
    let Some(bytes) = sample("sample_sim_s2.vel") else { return };
    let log = VelLog::open(Arc::new(bytes), OpenOptions::default()).unwrap();
    assert!(are_short(&log));
    assert!(points(&log, 0) == points(&log, u64::MAX));
}

#[test]
fn calibration_in_packets_is_found_when_opening() {
    for name in ["sim_hdl64e_s2.pcap", "sim_hdl64e_s3_single.pcap"] {
        let Some(log) = capture(name) else { continue };
        let points = log.manifest().topic_id("points").unwrap();
        let lidar = log.lidar(points).unwrap();
        assert_eq!(lidar.calibration.origin, Origin::Stream, "{name}");
        let metadata = &log.manifest().topic(points).unwrap().metadata;
        assert_eq!(metadata["formula"], "manual");
        assert_eq!(metadata["calibration"], "sent by the lidar itself");
    }
}

#[test]
fn vlp_16_with_the_product_id_of_hdl_32e_is_detected() {
    for name in
        ["vlp16_veloview_test-90deg-1-50-frames.pcap", "vlp16_rustlidarutils.pcap"]
    {
        let Some(log) = capture(name) else { continue };
        let points = log.manifest().topic_id("points").unwrap();
        assert_eq!(log.lidar(points).unwrap().sensor.model, Model::Vlp16, "{name}");
        let is_reported = |remark: &String| remark.contains("VLP-16, although");
        assert!(log.manifest().remarks.iter().any(is_reported), "{name}");
    }
}

#[test]
fn options_override_detected_values() {
    let Some(bytes) = sample("vlp16_nebula.pcap") else { return };
    let mut options = LidarOptions::default();
    options.model = Some(Model::Vlp16HiRes);
    options.returns = Some(ReturnMode::Dual);
    options.points = PointOptions::default();
    options.points.formula = Formula::Ros;
    let source = Arc::new(bytes);
    let log = CaptureLog::open_with(source, OpenOptions::default(), &options).unwrap();
    let id = log.manifest().topic_id("points").unwrap();
    let metadata = &log.manifest().topic(id).unwrap().metadata;
    assert_eq!(metadata["lidar"], "VLP-16 Hi-Res, dual return");
    assert_eq!(metadata["lidar_reasons"], "set by the user");
    assert_eq!(metadata["formula"], "ros");
    assert!(points(&log, u64::MAX).num_rows() > 0);
}

/// Returns the Unix time of the first point in nanoseconds, if UTC is requested.
fn first_utc(name: &str) -> Option<(i64, CaptureLog)> {
    let mut options = LidarOptions::default();
    options.utc = true;
    let source = Arc::new(sample(name)?);
    let log = CaptureLog::open_with(source, OpenOptions::default(), &options).unwrap();
    let offset =
        log.manifest().clock.to_unix.as_ref().map_or(0, |fit| fit.offset_nanos);
    let points = points(&log, u64::MAX);
    let times = points["time"].as_primitive::<TimestampNanosecondType>();
    Some((times.value(0) + offset, log))
}

#[test]
fn points_are_in_utc_if_a_receiver_sets_the_lidar_clock() {
    // The timestamps of the first data packets in microseconds past the hour, the hours
    // from NMEA and the status bytes, and the nanoseconds until the first firing.
    // date -u -d "2015-07-23 21:00" +%s; date -u -d "2010-09-30 12:00" +%s
    for (name, hour, micros, first_firing, description_start) in [
        ("vlp16_opendlv_sampleShort.pcap", 1_437_685_200, 2_467_108_343, 0, "those of"),
        ("sim_hdl64e_s2.pcap", 1_285_848_000, 3_598_900_288, -288_000, "locked"),
    ] {
        let Some((time, log)) = first_utc(name) else { continue };
        let expected = hour * 1_000_000_000 + micros * 1_000 + first_firing;
        // Some of the first firings have no return.
        let late = time - expected;
        assert!((0..100_000).contains(&late), "{name}: {late} ns late");
        let id = log.manifest().topic_id("points").unwrap();
        let metadata = &log.manifest().topic(id).unwrap().metadata;
        assert_eq!(metadata["times"], "those of the lidar's own clock");
        let description = metadata.get("lidar_clock").unwrap_or(&metadata["times"]);
        assert!(description.starts_with(description_start), "{name}: {description}");
    }
}

#[test]
fn capture_clock_is_compared_with_utc_by_locked_packets() {
    let Some(log) = capture("vlp16_opendlv_sampleShort.pcap") else { return };
    // The first position packet: captured at 21:41:05.704139, with NMEA 21:41:06 and
    // 2467110195 us past the hour.
    let fit = log.manifest().clock.to_unix.clone().unwrap();
    let first = 1_406_056_000;
    assert!((fit.offset_nanos - first).abs() < 2_000_000, "{fit:?}");
    assert!(fit.spread_nanos < 2_000_000, "{fit:?}");
    let Some(log) = capture("vlp16_nebula.pcap") else { return };
    assert_eq!(log.manifest().clock.to_unix, None);
}

#[test]
fn packets_without_a_pulse_state_utc_if_there_are_no_others() {
    let Some(bytes) = sample("hdl32e_rustlidarutils_example.pcap") else { return };
    let fit_to_unix = |clock| {
        let mut options = LidarOptions::default();
        options.clock = clock;
        let source = Arc::new(bytes.clone());
        let log = CaptureLog::open_with(source, OpenOptions::default(), &options);
        log.unwrap().manifest().clock.to_unix.clone()
    };
    // The first position packet: captured at 22:02:45.380293, with NMEA 22:02:43 and
    // 164475540 us past the hour.
    let fit = fit_to_unix(ClockChoice::Auto).unwrap();
    assert!((fit.offset_nanos + 904_753_000).abs() < 1_000_000, "{fit:?}");
    assert!(fit.spread_nanos < 1_000_000 && fit.observations == 100, "{fit:?}");
    assert_eq!(fit_to_unix(ClockChoice::Log), None);
}

#[test]
fn clock_that_is_not_set_is_not_utc() {
    let Some((_, log)) = first_utc("vlp16_rustlidarutils.pcap") else { return };
    let id = log.manifest().topic_id("points").unwrap();
    let metadata = &log.manifest().topic(id).unwrap().metadata;
    assert_eq!(metadata["times"], "those of the records");
}

#[test]
fn model_option_that_contradicts_the_packets_is_reported() {
    let Some(bytes) = sample("sim_hdl64e_s2.pcap") else { return };
    let open_as = |model| {
        let mut options = LidarOptions::default();
        options.model = Some(model);
        let source = Arc::new(bytes.clone());
        CaptureLog::open_with(source, OpenOptions::default(), &options).unwrap()
    };
    let log = open_as(Model::Hdl64eS1);
    let is_about_model = |remark: &&String| remark.contains("as set by the user");
    let remark = log.manifest().remarks.iter().find(is_about_model).expect("a remark");
    for words in ["HDL-64E S1", "the packets indicate HDL-64E S2", "blocks alternate"] {
        assert!(remark.contains(words), "{remark}");
    }
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    assert!(
        findings.iter().any(|finding| finding.code.name == "lidar.model.overruled")
    );
    let log = open_as(Model::Hdl64eS2);
    assert_eq!(log.manifest().remarks.iter().find(is_about_model), None);
}

#[test]
fn contradicting_clocks_are_reported_and_one_is_chosen() {
    let Some(bytes) = sample("sample_sim_s2.vel") else { return };
    let metadata = |clock| {
        let mut options = LidarOptions::default();
        (options.utc, options.clock) = (true, clock);
        let source = Arc::new(bytes.clone());
        let log = VelLog::open_with(source, OpenOptions::default(), &options).unwrap();
        let id = log.manifest().topic_id("points").unwrap();
        log.manifest().topic(id).unwrap().metadata.clone()
    };
    // GPS states 13:11:07 in the first seconds, and the packets 59:58.9 past the hour.
    let records = "those of the records";
    let lidar = "those of the lidar's own clock";
    for (clock, times, alternative) in [
        (ClockChoice::Auto, records, "can have those of the lidar"),
        (ClockChoice::Log, records, "can have those of the lidar"),
        (ClockChoice::Lidar, lidar, "can have those of the log"),
    ] {
        let metadata = metadata(clock);
        assert_eq!(metadata["times"], times);
        let warning = &metadata["clock_warning"];
        assert!(warning.contains(alternative) && warning.contains("668."), "{warning}");
    }
    // A capture has only the GPS of the lidar, and both agree.
    let Some((_, log)) = first_utc("sim_hdl64e_s2.pcap") else { return };
    let id = log.manifest().topic_id("points").unwrap();
    assert!(!log.manifest().topic(id).unwrap().metadata.contains_key("clock_warning"));
}
