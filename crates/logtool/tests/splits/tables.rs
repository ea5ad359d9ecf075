//! Splits of tables.

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use logtool::{
    ErrorKind, PlanRequest, Session, Split,
    convert::{Convert, ConvertRequest, Destination, OutputFormat},
    filter::Filter,
    formats::Compression,
    output::LogOutput,
};
use logtool_core::{Timestamp, TopicOrigin, conformance};
use logtool_rosbag::{ConnectionHeader, Writer, WriterOptions};

use crate::{MAX_SPLIT_BYTES, Rows, SelectedData, TARGETS, testdata};

/// The number of bytes of the length of each topic of a log, in a split of a topic whose times
/// depend on all others.
const MAX_BYTES_PER_TOPIC: usize = 64;

/// Checks that the splits of each topic of the log at `path` are its table, and returns the
/// highest number of splits of a topic.
fn check(path: &Path, selected: &SelectedData) -> usize {
    let log = logtool::open(path).unwrap();
    let mut most = 0;
    for target in TARGETS {
        let request = selected.request(path).with_target_bytes(target);
        let plan = request.run(&Session::new()).unwrap();
        assert!(plan.failed.is_empty(), "{:?}", plan.failed);
        for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
            let topic = splits[0].topic();
            let case = format!("{} {topic} {target}", path.display());
            let want = Rows::read(&selected.table(&log, topic));
            let got = Rows::of_splits(splits);
            assert_eq!(got.schema, want.schema, "{case}");
            assert!(got.concat() == want.concat(), "other rows: {case}");
            assert_eq!(got.damaged_bytes(), want.damaged_bytes(), "{case}");
            most = most.max(splits.len());
        }
    }
    most
}

fn check_all(path: &Path) -> usize {
    check(path, &SelectedData::default())
}

/// Checks the splits of 3 s of the log at `path`, with the `columns`.
fn check_some(path: &Path, columns: &[&str]) {
    let columns = columns.iter().copied().map(str::to_owned).collect();
    check(path, &SelectedData { columns, times: Some((1_500_000_000, 4_500_000_000)) });
}

/// Converts the log `name` of the test data to the log `output` in `folder`.
fn convert(name: &str, folder: &Path, output: &str, format: OutputFormat) -> PathBuf {
    let output = folder.join(output);
    let destination = Destination::File(output.clone());
    let request = ConvertRequest::new(format);
    Convert::new(testdata(name), destination, request).run(&Session::new()).unwrap();
    output
}

#[test]
fn splits_of_ulogs_are_their_tables() {
    assert!(check_all(&testdata("quad_flight.ulg")) > 1);
    check_some(&testdata("quad_flight.ulg"), &["q*", "voltage_v"]);
    for name in ["hostile_types.ulg", "pasta.ulg"] {
        check_all(&testdata(name));
    }
    for name in ["damaged/crashed.ulg", "damaged/lost_sector.ulg"] {
        check_all(&testdata(name));
    }
}

#[test]
fn splits_of_bags_are_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    for compression in [Compression::None, Compression::Bz2, Compression::Lz4] {
        let bag = folder.path().join(compression.name()).with_extension("bag");
        let output = LogOutput::new(&*bag).with_compression(compression);
        Filter::new(testdata("rover.bag"), output).run(&Session::new()).unwrap();
        check_all(&bag);
        check_some(&bag, &["header", "orientation"]);
    }
    assert!(check_all(&testdata("rover.bag")) > 1);
}

#[test]
fn splits_of_damaged_bags_are_their_tables() {
    check_all(&testdata("damaged/killed.bag.active"));
    check_all(&testdata("damaged/lost_sector.bag"));
}

#[test]
fn splits_of_mcap_files_are_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    for (name, output) in [("rover.bag", "ros.mcap"), ("quad_flight.ulg", "pb.mcap")] {
        check_all(&convert(name, folder.path(), output, OutputFormat::Mcap));
    }
}

#[test]
fn splits_of_points_have_the_scans_of_the_whole_log() {
    for name in ["puck.pcap", "car.vel", "damaged/cut.vel"] {
        check_all(&testdata(name));
    }
    check(
        &testdata("car.vel"),
        &SelectedData {
            times: Some((500_000_000, 900_000_000)),
            ..SelectedData::default()
        },
    );
}

#[test]
fn splits_of_points_of_packets_in_bags_and_mcap_files_are_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in
        [("car.bag", OutputFormat::Bag), ("car.mcap", OutputFormat::Mcap)]
    {
        let log = convert("car.vel", folder.path(), name, format);
        let opened = logtool::open(&log).unwrap();
        let has_points =
            opened.topics().iter().any(|topic| topic.name.ends_with("/points"));
        assert!(has_points, "{name}");
        check_all(&log);
    }
}

/// A bag with messages of a topic from two lidars, which differ in their frame ids. Chunks have one
/// message each. The last message has the frame id of neither.
fn bag_of_two_lidars() -> Vec<u8> {
    let header = ConnectionHeader::new(
        "/velodyne",
        "velodyne_msgs/VelodyneScan",
        "Header header\nVelodynePacket[] packets\n================\nMSG: std_msgs/Header\n\
         uint32 seq\ntime stamp\nstring frame_id\n================\n\
         MSG: velodyne_msgs/VelodynePacket\ntime stamp\nuint8[1206] data\n",
    );
    let options = WriterOptions::default().with_chunk_bytes(1);
    let mut bag = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let lidar = bag.connect(&header).unwrap();
    let frame_ids = (0..30_u32).map(|i| if i % 2 == 0 { "front" } else { "rear" });
    for (index, frame_id) in (0..).zip(frame_ids.chain(["tear"])) {
        let stamp = [1_000_u32, index * 20_000_000].map(u32::to_le_bytes).concat();
        let mut message = [&[0; 4][..], &stamp].concat();
        message.extend((frame_id.len() as u32).to_le_bytes());
        message.extend(frame_id.as_bytes());
        message.extend(2_u32.to_le_bytes());
        for packet in 0..2_u32 {
            message.extend(&stamp);
            for block in 0..12 {
                let azimuth = (index * 24 + packet * 12 + block) * 200 % 36_000;
                message.extend([0xff, 0xee]);
                message.extend((azimuth as u16).to_le_bytes());
                message.extend([0xe8, 3, 9].repeat(32)); // 2 m, intensity 9
            }
            message.extend((index * 20_000).to_le_bytes());
            message.extend([0x37, 0x22]);
        }
        let nanos = 1_000_000_000_000 + i64::from(index) * 20_000_000;
        bag.write(lidar, Timestamp::from_nanos(nanos), &message).unwrap();
    }
    bag.finish().unwrap().into_inner()
}

#[test]
fn splits_of_lidars_that_share_a_topic_are_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.bag");
    fs::write(&path, bag_of_two_lidars()).unwrap();
    let log = logtool::open(&path).unwrap();
    for label in ["/velodyne/packets", "/velodyne/packets.1"] {
        let rows = Rows::read(&SelectedData::default().table(&log, label));
        assert_eq!(rows.concat().num_rows(), 15 * 2, "{label}");
        assert!(!rows.damaged_bytes().is_empty(), "{label}");
    }
    check_all(&path);
    let times = Some((100_000_000, 300_000_000));
    check(&path, &SelectedData { times, ..SelectedData::default() });
    let output = folder.path().join("two.mcap");
    let destination = Destination::File(output.clone());
    Convert::new(&path, destination, ConvertRequest::new(OutputFormat::Mcap))
        .run(&Session::new())
        .unwrap();
    check_all(&output);
}

#[test]
fn splits_of_real_logs_are_their_tables() {
    for name in [
        "rosbag/bag-reader-java-PointCloud2.bag",
        "rosbag/example-bz2.bag",
        "rosbag/example-unsorted-chunks.bag",
        "rosbag/synthetic-velodynescan-compressedimage.bag",
        "ulog/pyulog_sample_appended_multiple.ulg",
        "ulog/pyulog_sample_px4_events.ulg",
        "velodyne/hdl64e_s1_atwall.bag",
        "velodyne/sample_sim_s2.vel",
        "velodyne/vlp16_veloview_test-90deg-1-50-frames.pcap",
    ] {
        if let Some(path) = conformance::sample_path(name) {
            let log = logtool::open(&path).unwrap();
            let request = PlanRequest::new([&path]).with_topics(["*"]);
            let request = request.with_target_bytes(log.manifest().bytes / 3);
            let plan = request.run(&Session::new()).unwrap();
            let mut most = 0;
            for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
                most = most.max(splits.len());
                let case = format!("{name} {}", splits[0].topic());
                let want = Rows::read(&log.table(splits[0].topic()).unwrap());
                assert!(Rows::of_splits(splits).concat() == want.concat(), "{case}");
            }
            // Most of these bags have one chunk.
            assert!(most > 1 || name.ends_with(".bag"), "{name} has no parts");
        }
    }
}

#[test]
fn log_that_is_compressed_as_a_whole_has_one_split_for_each_topic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rover.bag.zst");
    let bag = fs::read(testdata("rover.bag")).unwrap();
    fs::write(&path, zstd::encode_all(&bag[..], 1).unwrap()).unwrap();
    assert_eq!(check_all(&path), 1);
    let plan = PlanRequest::new([&path]).with_topics(["/imu/data"]);
    let splits = plan.run(&Session::new()).unwrap().splits;
    assert!(splits[0].bytes() > bag.len() as u64 / 2, "{}", splits[0].bytes());
}

#[test]
fn splits_have_the_bytes_the_records_and_the_times_of_their_topic() {
    let path = testdata("rover.bag");
    let log = logtool::open(&path).unwrap();
    let request = PlanRequest::new([&path]).with_topics(["/imu/data"]);
    let plan = request.with_target_bytes(1).run(&Session::new()).unwrap();
    let topic = log.topics().iter().find(|topic| topic.name == "/imu/data").unwrap();
    let records: u64 = plan.splits.iter().map(|split| split.records().unwrap()).sum();
    let all = topic.records.unwrap();
    assert!(records <= all && records + plan.splits.len() as u64 > all, "{records}");
    let bytes: u64 = plan.splits.iter().map(Split::bytes).sum();
    assert!(bytes > 0 && bytes <= log.manifest().bytes, "{bytes}");
    for split in &plan.splits {
        let time = split.time().unwrap();
        let rows = Rows::read(&split.table(&Session::new()).unwrap());
        assert!(time.start < time.end && !rows.batches.is_empty());
        assert!(Path::new(split.path()).is_absolute());
    }
}

/// A split has the columns and the definitions of its topic. Splits of `events` and `messages`
/// of a ULog also have the definitions of events, which take about 100 kB.
#[test]
fn splits_take_a_few_kilobytes() {
    let mut paths: Vec<PathBuf> =
        ["quad_flight.ulg", "rover.bag", "car.vel", "puck.pcap"]
            .into_iter()
            .map(testdata)
            .collect();
    for name in [
        "rosbag/robot_localization-test1.bag",
        "rosbag/tilt_laser.bag",
        "ulog/pyulog_sample.ulg",
        "ulog/px4ulogrs_6ba1abc7.ulg",
        "ulog/pyulog_sample_px4_events.ulg",
        "ulog/flightreviewrs_battery_brownout.ulg",
    ] {
        paths.extend(conformance::sample_path(name));
    }
    for path in paths {
        let log = logtool::open(&path).unwrap();
        let request = PlanRequest::new([&path]).with_topics(["*"]);
        let plan = request.run(&Session::new()).unwrap();
        for split in &plan.splits {
            if ["events", "messages"].contains(&split.topic()) {
                continue;
            }
            let len = serde_json::to_string(split).unwrap().len();
            let topic = log.manifest().topic_id(split.topic()).unwrap();
            let most = match log.topics()[topic.index()].origin {
                TopicOrigin::BuiltIn => {
                    MAX_SPLIT_BYTES + MAX_BYTES_PER_TOPIC * log.topics().len()
                }
                _ => MAX_SPLIT_BYTES,
            };
            let case = format!("{} {}: {len} bytes", path.display(), split.topic());
            assert!(len <= most, "{case}, at most {most}");
        }
    }
}

/// Returns a ULog of `count` topics, each with one record at its index in milliseconds.
fn ulog_of_topics(count: u16) -> Vec<u8> {
    let message = |kind: u8, payload: &[u8]| {
        let len = (payload.len() as u16).to_le_bytes();
        [&len[..], &[kind], payload].concat()
    };
    let mut log = [&b"ULog\x01\x12\x35\x01"[..], &[0; 8]].concat();
    log.extend(message(b'B', &[0; 40]));
    for index in 0..count {
        let format = format!("t{index}:uint64_t timestamp;uint16_t x;");
        log.extend(message(b'F', format.as_bytes()));
    }
    for index in 0..count {
        let id = index.to_le_bytes();
        let name = format!("t{index}");
        log.extend(message(b'A', &[&[0], &id[..], name.as_bytes()].concat()));
    }
    for index in 0..count {
        let id = index.to_le_bytes();
        let micros = (u64::from(index) * 1000).to_le_bytes();
        log.extend(message(b'D', &[&id[..], &micros, &id].concat()));
    }
    log
}

#[test]
fn splits_of_logs_with_many_topics_are_as_long_as_those_of_logs_with_few() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = [20, 2_000].map(|count| {
        let path = folder.path().join(format!("{count}.ulg"));
        fs::write(&path, ulog_of_topics(count)).unwrap();
        let plan = PlanRequest::new([&path]).with_topics(["t*"]);
        let splits = plan.run(&Session::new()).unwrap().splits;
        assert_eq!(splits.len(), usize::from(count));
        let last = splits.last().unwrap();
        let rows = Rows::read(&last.table(&Session::new()).unwrap());
        let numbers = rows.concat().column(1).to_data();
        assert_eq!(numbers.buffer::<u16>(0), [count - 1]);
        assert!(rows.damage.is_empty(), "{:?}", rows.damage);
        serde_json::to_string(last).unwrap().len()
    });
    assert!(lengths[1] < lengths[0] + 50, "{lengths:?}");
}

#[test]
fn topic_that_no_log_has_is_an_error() {
    let logs = [testdata("rover.bag"), testdata("quad_flight.ulg")];
    let plan = PlanRequest::new(&logs).with_topics(["nothing"]).run(&Session::new());
    assert_eq!(plan.unwrap_err().kind(), ErrorKind::NotFound);
    let plan = PlanRequest::new(&logs).with_topics(["/gps/fix"]).run(&Session::new());
    assert!(plan.unwrap().splits.iter().all(|split| split.format() == "rosbag"));
}
