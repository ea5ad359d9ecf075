//! Splits of translated messages.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use arrow_array::{cast::AsArray as _, types::TimestampNanosecondType};
use logtool::{
    ErrorKind, PlanRequest, Session, Split,
    convert::{Convert, ConvertRequest, Destination, OutputFormat},
    formats::LogFormat,
    time::typed_time::TypedTime,
    translate::MessageTypes,
};
use logtool_core::{TimeRange, TopicOrigin, conformance};

use crate::{MAX_SPLIT_BYTES, Rows, SelectedData, TARGETS, testdata};

/// The times and the bytes of the messages of each topic.
type MessagesOfTopics = BTreeMap<String, Vec<(i64, Vec<u8>)>>;

/// A kind of messages that logs are translated to.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) format: LogFormat,
    output: OutputFormat,
    pub(crate) types: MessageTypes,
}

pub(crate) const BAG: Target = Target {
    format: LogFormat::Rosbag,
    output: OutputFormat::Bag,
    types: MessageTypes::Any,
};
pub(crate) const MCAP: Target = Target {
    format: LogFormat::Mcap,
    output: OutputFormat::Mcap,
    types: MessageTypes::Any,
};
pub(crate) const FOXGLOVE: Target = Target { types: MessageTypes::Foxglove, ..MCAP };

impl Target {
    fn plan(self, selected: &SelectedData, path: &Path) -> PlanRequest {
        let request = selected.request(path).with_topics(Vec::<String>::new());
        request.with_messages(self.format, self.types)
    }

    /// Converts the log at `path`, and returns the messages of the new log.
    fn convert(self, selected: &SelectedData, path: &Path) -> MessagesOfTopics {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").with_extension(self.format.extension());
        let mut request = ConvertRequest::new(self.output).with_messages(self.types);
        if let Some((start, end)) = selected.times {
            request = request.with_start(TypedTime::Relative(start));
            request = request.with_end(TypedTime::Relative(end));
        }
        let destination = Destination::File(file.clone());
        Convert::new(path, destination, request).run(&Session::new()).unwrap();
        let log = logtool::open(&file).unwrap();
        let mut all = MessagesOfTopics::new();
        for (id, topic) in log.manifest().topics() {
            if topic.origin != TopicOrigin::Logged {
                continue;
            }
            let label = topic.label().into_owned();
            let messages =
                log.messages(std::slice::from_ref(&label), TimeRange::ALL).unwrap();
            let messages = messages.map(Result::unwrap).filter(|one| one.topic == id);
            let header = topic.header_len as usize;
            let messages: Vec<_> = messages
                .map(|one| (one.time.as_nanos(), one.payload[header..].to_vec()))
                .collect();
            if !messages.is_empty() {
                all.insert(label, messages);
            }
        }
        all
    }
}

/// Returns the messages in the table `rows`.
fn messages(rows: &Rows) -> Vec<(i64, Vec<u8>)> {
    let rows = rows.concat();
    let times = rows.column(0).as_primitive::<TimestampNanosecondType>().values();
    let payloads = rows.column(1).as_binary::<i32>();
    times
        .iter()
        .copied()
        .zip(payloads.iter().map(|one| one.unwrap().to_vec()))
        .collect()
}

/// Checks that the splits of the messages of the log at `path` are those that a conversion
/// writes, and returns the highest number of splits for each topic.
fn check_messages(
    path: &Path,
    target: Target,
    selected: &SelectedData,
) -> BTreeMap<String, usize> {
    let want = target.convert(selected, path);
    assert!(!want.is_empty(), "{}", path.display());
    let mut most = BTreeMap::new();
    for bytes in TARGETS {
        let request = target.plan(selected, path).with_target_bytes(bytes);
        let plan = request.run(&Session::new()).unwrap();
        assert!(plan.failed.is_empty(), "{:?}", plan.failed);
        let mut got = MessagesOfTopics::new();
        for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
            let topic = splits[0].topic().to_owned();
            let rows = messages(&Rows::of_splits(splits));
            let count: &mut usize = most.entry(topic.clone()).or_default();
            *count = splits.len().max(*count);
            if !rows.is_empty() {
                got.insert(topic, rows);
            }
        }
        let topics = |of: &MessagesOfTopics| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(topics(&got), topics(&want), "{}", path.display());
        for (topic, want) in &want {
            let got = &got[topic];
            let case = format!("{} {topic} {bytes}", path.display());
            assert_eq!(got.len(), want.len(), "number of messages: {case}");
            let other = got.iter().zip(want).position(|(got, want)| got != want);
            let pair = other.map(|at| (&got[at], &want[at]));
            assert_eq!(pair, None, "other messages: {case}");
        }
    }
    most
}

/// Writes the packets of the capture of the test data several times, each time a rotation of
/// 0.1 s later, and a long packet of another protocol after each, so that the capture has
/// several scans and parts.
fn long_capture(folder: &Path) -> PathBuf {
    const OTHER_BYTES: usize = 15_000;
    const ROTATION_MICROS: u32 = 100_000;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let short = fs::read(testdata("puck.pcap")).unwrap();
    let (head, packets) = short.split_at(24);
    let mut long = head.to_vec();
    for rotation in 0..6 {
        let mut rest = packets;
        while !rest.is_empty() {
            let (packet, next) = rest.split_at(16 + number(&rest[8..12]) as usize);
            let mut packet = packet.to_vec();
            // The time of arrival, and the time in packets of points.
            let mut later = |at: usize| {
                let micros = number(&packet[at..at + 4]) + rotation * ROTATION_MICROS;
                packet[at..at + 4].copy_from_slice(&micros.to_le_bytes());
            };
            later(4);
            if next.len() < rest.len() - 1206 {
                later(rest.len() - next.len() - 6);
            }
            let other = (OTHER_BYTES as u32).to_le_bytes();
            // The time, both lengths, two addresses, and a type for local experiments.
            let parts = [&packet[..8], &other, &other, &[2; 12], &[0x88, 0xb5]];
            long.extend_from_slice(&packet);
            long.extend(parts.concat());
            long.resize(long.len() + OTHER_BYTES - 14, 0);
            rest = next;
        }
    }
    let path = folder.join("long.pcap");
    fs::write(&path, long).unwrap();
    path
}

#[test]
fn splits_of_messages_of_ulogs_are_those_of_conversions() {
    let path = testdata("quad_flight.ulg");
    let all = SelectedData::default();
    let most = check_messages(&path, MCAP, &all);
    assert!(most["/sensor_combined"] > 1);
    assert_eq!(most["/tf"], 1, "any attitude may be needed");
    let most = check_messages(&path, BAG, &all);
    assert!(most["/sensor_combined"] > 1);
    for topic in ["/sensor_combined/imu", "/tf", "/vehicle_local_position/pose"] {
        assert_eq!(most[topic], 1, "any attitude may be needed");
    }
    let times = Some((1_500_000_000, 4_500_000_000));
    let some = SelectedData { times, ..SelectedData::default() };
    check_messages(&path, MCAP, &some);
    check_messages(&path, BAG, &some);
}

#[test]
fn splits_of_messages_of_lidars_are_those_of_conversions() {
    let folder = tempfile::tempdir().unwrap();
    let long = long_capture(folder.path());
    for target in [BAG, FOXGLOVE] {
        for name in ["car.vel", "puck.pcap", "damaged/cut.vel"] {
            check_messages(&testdata(name), target, &SelectedData::default());
        }
        assert!(check_messages(&long, target, &SelectedData::default())["/points"] > 1);
        let times = Some((500_000_000, 900_000_000));
        let some = SelectedData { times, ..SelectedData::default() };
        check_messages(&testdata("car.vel"), target, &some);
    }
}

#[test]
fn splits_of_messages_of_ros_2_are_those_of_conversions_to_ros_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rover.mcap");
    let request =
        ConvertRequest::new(OutputFormat::Mcap).with_messages(MessageTypes::Ros);
    let destination = Destination::File(path.clone());
    let convert = Convert::new(testdata("rover.bag"), destination, request);
    convert.run(&Session::new()).unwrap();
    check_messages(&path, BAG, &SelectedData::default());
}

#[test]
fn splits_of_messages_of_real_logs_are_those_of_conversions() {
    for (name, target) in [
        ("ulog/pyulog_sample.ulg", BAG),
        ("ulog/pyulog_sample_px4_events.ulg", BAG),
        ("ulog/pyulog_sample_px4_events.ulg", MCAP),
        ("velodyne/sample_sim_s2.vel", BAG),
        ("velodyne/vlp16_veloview_test-90deg-1-50-frames.pcap", BAG),
    ] {
        if let Some(path) = conformance::sample_path(name) {
            let target_bytes = fs::metadata(&path).unwrap().len() / 3;
            let all = SelectedData::default();
            let want = target.convert(&all, &path);
            let mut request = target.plan(&all, &path).with_target_bytes(target_bytes);
            if name.ends_with(".ulg") {
                // Other topics have impossible times.
                request = request.with_topics([
                    "sensor_combined",
                    "*attitude*",
                    "vehicle_local_position",
                ]);
            }
            let plan = request.run(&Session::new()).unwrap();
            assert!(plan.failed.is_empty(), "{:?}", plan.failed);
            assert!(plan.splits.len() > 1, "{name}");
            for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
                let got = messages(&Rows::of_splits(splits));
                let want = want.get(splits[0].topic()).map_or(&[][..], Vec::as_slice);
                assert!(got == want, "other messages: {name} {}", splits[0].topic());
            }
        }
    }
}

#[test]
fn split_of_messages_reads_only_the_head_of_the_file_and_its_own_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let flight = folder.path().join("quad_flight.ulg");
    fs::copy(testdata("quad_flight.ulg"), &flight).unwrap();
    for (path, target, topic) in [
        (flight, MCAP, "sensor_combined"),
        (long_capture(folder.path()), BAG, "points"),
    ] {
        let name = path.display();
        let request = target.plan(&SelectedData::default(), &path).with_topics([topic]);
        let plan = request.with_target_bytes(1).run(&Session::new()).unwrap();
        let mut splits = plan.splits;
        let label = format!("/{topic}");
        splits.retain(|split| split.topic() == label);
        for split in &splits {
            let len = serde_json::to_string(split).unwrap().len();
            assert!(len <= MAX_SPLIT_BYTES, "{name}: {len} bytes");
        }
        let rows = |split: &Split| {
            messages(&Rows::read(&split.table(&Session::new()).unwrap()))
        };
        // The end of the last scan of points is read with its start.
        let at = splits.iter().rposition(|split| !rows(split).is_empty()).unwrap();
        let last = splits.swap_remove(at);
        splits.truncate(at);
        let want = rows(&last);
        let before: Vec<_> = splits.iter().flat_map(rows).collect();
        assert!(!before.is_empty(), "{name}");

        // Destroy bytes that the last split does not need.
        let mut bytes = fs::read(&path).unwrap();
        let (start, end) = (bytes.len() * 3 / 20, bytes.len() * 7 / 20);
        bytes[start..end].fill(0xaa);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        assert!(rows(&last) == want, "{name}");
        let after: Vec<_> = splits.iter().flat_map(rows).collect();
        assert!(after != before, "{name}: other splits need these bytes");
    }
}

#[test]
fn splits_of_messages_report_the_damage_of_their_records() {
    let folder = tempfile::tempdir().unwrap();
    let long = long_capture(folder.path());
    let mut bytes = fs::read(&long).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40_000].fill(0xaa);
    fs::write(&long, bytes).unwrap();
    for (path, target, topic) in [
        (testdata("damaged/cut.vel"), BAG, "points"),
        (testdata("damaged/cut.vel"), FOXGLOVE, "points"),
        (long, BAG, "points"),
    ] {
        let log = logtool::open(&path).unwrap();
        let want = Rows::read(&log.table(topic).unwrap()).damaged_bytes();
        assert!(!want.is_empty(), "{}", path.display());
        let request = target.plan(&SelectedData::default(), &path).with_topics([topic]);
        let plan = request.with_target_bytes(5_000).run(&Session::new()).unwrap();
        for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
            let got = Rows::of_splits(splits).damaged_bytes();
            assert_eq!(got, want, "{} {}", path.display(), splits[0].topic());
        }
    }
}

#[test]
fn messages_without_splits_are_an_error_with_a_reason() {
    for (name, topic, format, types, reason) in [
        (
            "car.vel",
            "velodyne_packets",
            LogFormat::Rosbag,
            MessageTypes::Any,
            "velodyne_msgs/VelodyneScan",
        ),
        ("quad_flight.ulg", "*", LogFormat::Mcap, MessageTypes::Ros, "in CDR"),
        ("rover.bag", "*", LogFormat::Rosbag, MessageTypes::Any, "not translated"),
        ("quad_flight.ulg", "*", LogFormat::Vel, MessageTypes::Any, "not translated"),
    ] {
        let request = PlanRequest::new([testdata(name)]).with_topics([topic]);
        let plan = request.with_messages(format, types).run(&Session::new()).unwrap();
        assert!(plan.splits.is_empty(), "{name}");
        let [(_, error)] = &plan.failed[..] else { panic!("{name}: no error") };
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
        assert!(error.to_string().contains(reason), "{error}");
        assert!(error.hint().is_some(), "{name}");
    }
}
