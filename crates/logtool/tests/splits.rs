//! Planning splits, and reading each of them.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use arrow_array::{RecordBatch, cast::AsArray as _, types::TimestampNanosecondType};
use arrow_schema::SchemaRef;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use logtool::{
    ErrorKind, Log, PlanRequest, Session, Split, Table,
    convert::{Convert, ConvertRequest, Destination, OutputFormat},
    filter::Filter,
    formats::{Compression, LogFormat},
    output::LogOutput,
    time::typed_time::TypedTime,
    translate::MessageTypes,
};
use logtool_core::{Damage, TimeRange, TopicOrigin, conformance};

/// The number of bytes of a split in JSON that the parts of its log may take.
const BYTES: usize = 6 << 10;

/// The number of bytes that each topic of a log may take in a split of a topic whose times
/// depend on all others: its length.
const BYTES_FOR_TOPIC: usize = 64;

/// Target sizes of splits in bytes.
const TARGETS: [u64; 4] = [1, 5_000, 1 << 16, u64::MAX];

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// The selected columns and times.
#[derive(Default)]
struct Selected {
    columns: Vec<String>,
    /// The start and the end, in nanoseconds since the start of the log.
    times: Option<(i64, i64)>,
}

impl Selected {
    fn request(&self, path: &Path) -> PlanRequest {
        let request = PlanRequest::new([path]).with_topics(["*"]);
        let request = request.with_columns(&self.columns);
        match self.times {
            None => request,
            Some((start, end)) => request.with_time(
                Some(TypedTime::Relative(start)),
                Some(TypedTime::Relative(end)),
            ),
        }
    }

    fn table(&self, log: &Log, topic: &str) -> Table {
        let mut table = log.table(topic).unwrap();
        if !self.columns.is_empty() {
            let has_column = |column: &&String| {
                table.clone().with_columns(&[String::clone(column)]).is_ok()
            };
            let columns: Vec<String> =
                self.columns.iter().filter(has_column).cloned().collect();
            table = table.with_columns(&columns).unwrap();
        }
        let Some((start, end)) = self.times else { return table };
        let log_start = log.manifest().time.unwrap().start;
        table.with_time(TimeRange {
            start: log_start.shifted_by(start),
            end: log_start.shifted_by(end),
        })
    }
}

/// The rows and the damage of a table.
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    damage: Vec<Damage>,
}

impl Rows {
    fn read(table: &Table) -> Self {
        let mut batches = table.batches().unwrap();
        let all = (&mut batches).collect::<Result<Vec<_>, _>>().unwrap();
        let (schema, damage) = (batches.schema().clone(), batches.damage().to_vec());
        Self { schema, batches: all, damage }
    }

    /// Reads the splits of one topic, each after a round trip through JSON.
    fn of_splits(splits: &[Split]) -> Self {
        let tables = splits.iter().map(|split| {
            let json = serde_json::to_string(split).unwrap();
            let split: Split = serde_json::from_str(&json).unwrap();
            Self::read(&split.table(&Session::new()).unwrap())
        });
        let join = |mut all: Self, next: Self| {
            assert_eq!(all.schema, next.schema);
            all.batches.extend(next.batches);
            next.damage.into_iter().for_each(|one| one.add_to(&mut all.damage));
            all
        };
        tables.reduce(join).unwrap()
    }

    fn concat(&self) -> RecordBatch {
        arrow_select::concat::concat_batches(&self.schema, &self.batches).unwrap()
    }

    fn damaged_bytes(&self) -> Vec<(String, u64, u64)> {
        let known = |damage: &Damage| {
            (format!("{:?}", damage.kind), damage.bytes.start, damage.bytes.end)
        };
        self.damage.iter().map(known).collect()
    }
}

/// Checks that the splits of each topic of the log at `path` are its table, and returns the
/// highest number of splits of a topic.
fn check(path: &Path, selected: &Selected) -> usize {
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
    check(path, &Selected::default())
}

/// Checks the splits of 3 s of the log at `path`, with the `columns`.
fn check_some(path: &Path, columns: &[&str]) {
    let columns = columns.iter().copied().map(str::to_owned).collect();
    check(path, &Selected { columns, times: Some((1_500_000_000, 4_500_000_000)) });
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
        &Selected { times: Some((500_000_000, 900_000_000)), ..Selected::default() },
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

/// A split has the columns and the definitions of its topic. The definitions of events of a ULog take about 100 kB by themselves.
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
            let topic = log.manifest().topic(split.topic()).unwrap();
            let most = match log.topics()[topic.index()].origin {
                TopicOrigin::BuiltIn => BYTES + BYTES_FOR_TOPIC * log.topics().len(),
                _ => BYTES,
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

#[test]
fn topic_that_no_log_has_is_an_error() {
    let logs = [testdata("rover.bag"), testdata("quad_flight.ulg")];
    let plan = PlanRequest::new(&logs).with_topics(["nothing"]).run(&Session::new());
    assert_eq!(plan.unwrap_err().kind(), ErrorKind::NotFound);
    let plan = PlanRequest::new(&logs).with_topics(["/gps/fix"]).run(&Session::new());
    assert!(plan.unwrap().splits.iter().all(|split| split.format() == "rosbag"));
}

/// The times and the bytes of the messages of each topic.
type MessagesOfTopics = BTreeMap<String, Vec<(i64, Vec<u8>)>>;

/// A kind of messages that logs are translated to.
#[derive(Clone, Copy)]
struct Target {
    format: LogFormat,
    output: OutputFormat,
    types: MessageTypes,
}

const BAG: Target = Target {
    format: LogFormat::Rosbag,
    output: OutputFormat::Bag,
    types: MessageTypes::Any,
};
const MCAP: Target = Target {
    format: LogFormat::Mcap,
    output: OutputFormat::Mcap,
    types: MessageTypes::Any,
};
const FOXGLOVE: Target = Target { types: MessageTypes::Foxglove, ..MCAP };

impl Target {
    fn plan(self, selected: &Selected, path: &Path) -> PlanRequest {
        let request = selected.request(path).with_topics(Vec::<String>::new());
        request.with_messages(self.format, self.types)
    }

    /// Converts the log at `path`, and returns the messages of the new log.
    fn convert(self, selected: &Selected, path: &Path) -> MessagesOfTopics {
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
    selected: &Selected,
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
    let all = Selected::default();
    let most = check_messages(&path, MCAP, &all);
    assert!(most["/sensor_combined"] > 1);
    assert_eq!(most["/tf"], 1, "any attitude may be needed");
    let most = check_messages(&path, BAG, &all);
    assert!(most["/sensor_combined"] > 1);
    for topic in ["/sensor_combined/imu", "/tf", "/vehicle_local_position/pose"] {
        assert_eq!(most[topic], 1, "any attitude may be needed");
    }
    let times = Some((1_500_000_000, 4_500_000_000));
    let some = Selected { times, ..Selected::default() };
    check_messages(&path, MCAP, &some);
    check_messages(&path, BAG, &some);
}

#[test]
fn splits_of_messages_of_lidars_are_those_of_conversions() {
    let folder = tempfile::tempdir().unwrap();
    let long = long_capture(folder.path());
    for target in [BAG, FOXGLOVE] {
        for name in ["car.vel", "puck.pcap", "damaged/cut.vel"] {
            check_messages(&testdata(name), target, &Selected::default());
        }
        assert!(check_messages(&long, target, &Selected::default())["/points"] > 1);
        let times = Some((500_000_000, 900_000_000));
        let some = Selected { times, ..Selected::default() };
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
    check_messages(&path, BAG, &Selected::default());
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
            let all = Selected::default();
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
        let request = target.plan(&Selected::default(), &path).with_topics([topic]);
        let plan = request.with_target_bytes(1).run(&Session::new()).unwrap();
        let mut splits = plan.splits;
        let label = format!("/{topic}");
        splits.retain(|split| split.topic() == label);
        for split in &splits {
            let len = serde_json::to_string(split).unwrap().len();
            assert!(len <= BYTES, "{name}: {len} bytes");
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
        let request = target.plan(&Selected::default(), &path).with_topics([topic]);
        let plan = request.with_target_bytes(5_000).run(&Session::new()).unwrap();
        for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
            let got = Rows::of_splits(splits).damaged_bytes();
            assert_eq!(got, want, "{} {}", path.display(), splits[0].topic());
        }
    }
}

#[test]
fn messages_that_have_no_splits_are_an_error_with_a_reason() {
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
