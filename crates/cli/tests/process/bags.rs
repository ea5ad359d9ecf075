//! Bags: `info`, `cat --order`, `--key`.

use std::fs;

use serde_json::{Value, json};

use crate::{program::Folder, samples::sample};

/// A record: its fields, each `length | name=value`, and its data.
fn record(fields: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    for (name, value) in fields {
        header.extend((name.len() as u32 + 1 + value.len() as u32).to_le_bytes());
        header.extend([name.as_bytes(), b"=", value].concat());
    }
    let (header_len, len) = (header.len() as u32, data.len() as u32);
    let (header_len, len) = (header_len.to_le_bytes(), len.to_le_bytes());
    [&header_len[..], &header, &len, data].concat()
}

/// Returns the time this number of milliseconds after second 1000.
fn time(millis: u32) -> Vec<u8> {
    let (secs, nanos) = (1000 + millis / 1000, millis % 1000 * 1_000_000);
    [secs.to_le_bytes(), nanos.to_le_bytes()].concat()
}

const TOPICS: [&str; 3] = ["/a", "/b", "/a"];

fn connection(id: u32) -> Vec<u8> {
    connection_with_fields(id, &[])
}

/// Returns a connection record with the usual fields and `more`.
fn connection_with_fields(id: u32, more: &[(&str, &[u8])]) -> Vec<u8> {
    let topic = TOPICS[id as usize].as_bytes();
    let usual: [(&str, &[u8]); 4] = [
        ("topic", topic),
        ("type", b"std_msgs/Float64"),
        ("md5sum", b"fdb28210bfa9d7c91146260178d9a584"), // of ROS itself
        ("message_definition", b"float64 data\n"),
    ];
    let connection_record = record(&[&usual[..], more].concat(), b"");
    let header = &connection_record[4..connection_record.len() - 4];
    record(&[("op", &[7]), ("conn", &id.to_le_bytes()), ("topic", topic)], header)
}

/// A chunk and its index.
fn chunk(messages: &[(u32, u32)]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut index = vec![Vec::new(); 3];
    for (id, millis) in messages {
        let offset = (data.len() as u32).to_le_bytes();
        index[*id as usize].extend([&time(*millis)[..], &offset].concat());
        let value = f64::from(*millis).to_le_bytes();
        let fields: [(&str, &[u8]); 3] =
            [("conn", &id.to_le_bytes()), ("op", &[2]), ("time", &time(*millis))];
        data.extend(record(&fields, &value));
    }
    let size = (data.len() as u32).to_le_bytes();
    let mut chunk =
        record(&[("op", &[5]), ("compression", b"none"), ("size", &size)], &data);
    for (id, entries) in (0_u32..).zip(index).filter(|(_, entries)| !entries.is_empty())
    {
        let count = (entries.len() as u32 / 12).to_le_bytes();
        let fields: [(&str, &[u8]); 4] = [
            ("op", &[4]),
            ("ver", &1_u32.to_le_bytes()),
            ("conn", &id.to_le_bytes()),
            ("count", &count),
        ];
        chunk.extend(record(&fields, &entries));
    }
    chunk
}

/// The messages of each chunk: connection, milliseconds.
const CHUNKS: [&[(u32, u32)]; 2] = [
    &[(0, 0), (0, 100), (1, 150), (2, 200)],
    &[(0, 700), (1, 50), (0, 300)], // neither begins after the first, nor is in order
];

fn bag() -> Vec<u8> {
    let chunks = CHUNKS.map(chunk);
    let start = b"#ROSBAG V2.0\n".len() + 4096;
    let places = [start, start + chunks[0].len()];
    let index_at = places[1] + chunks[1].len();
    let fields: [(&str, &[u8]); 4] = [
        ("op", &[3]),
        ("index_pos", &(index_at as u64).to_le_bytes()),
        ("conn_count", &3_u32.to_le_bytes()),
        ("chunk_count", &2_u32.to_le_bytes()),
    ];
    let padding = 4096 - record(&fields, b"").len();
    let mut bag = b"#ROSBAG V2.0\n".to_vec();
    bag.extend(record(&fields, &vec![b' '; padding]));
    bag.extend(chunks.concat());
    (0..3).for_each(|id| bag.extend(connection(id)));
    for (at, messages) in places.into_iter().zip(CHUNKS) {
        let times = messages.iter().map(|(_, millis)| *millis);
        let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
        let counts = (0_u32..3).flat_map(|id| {
            let count = messages.iter().filter(|message| message.0 == id).count();
            [id.to_le_bytes(), (count as u32).to_le_bytes()].concat()
        });
        let counts: Vec<u8> = counts.collect();
        let fields: [(&str, &[u8]); 6] = [
            ("op", &[6]),
            ("ver", &1_u32.to_le_bytes()),
            ("chunk_pos", &(at as u64).to_le_bytes()),
            ("start_time", &time(first)),
            ("end_time", &time(last)),
            ("count", &3_u32.to_le_bytes()),
        ];
        bag.extend(record(&fields, &counts));
    }
    bag
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("drive.bag", &bag());
    folder
}

fn topic<'r>(report: &'r Value, name: &str) -> &'r Value {
    let mut topics = report["topics"].as_array().unwrap().iter();
    topics.find(|topic| topic["topic"] == name).unwrap()
}

#[test]
fn records_are_in_file_or_time_order() {
    let folder = folder();
    let values = |args: &[&str]| {
        let run = folder.run(&[&["cat", "drive.bag"], args].concat()).assert_success();
        let value = |line: &Value| line["data"]["data"].as_f64().unwrap() as u32;
        run.json_lines().iter().map(value).collect::<Vec<_>>()
    };
    let as_written = [0, 100, 150, 200, 700, 50, 300];
    assert_eq!(values(&[]), as_written);
    assert_eq!(values(&["--order", "file", "--threads", "1"]), as_written);
    let in_time = [0, 50, 100, 150, 200, 300, 700];
    assert_eq!(values(&["--order", "time"]), in_time);
    assert_eq!(values(&["--order", "time", "--threads", "1"]), in_time);
    assert_eq!(values(&["--order", "time", "-n", "2", "--topic", "/b"]), [50, 150]);
}

#[test]
fn info_equals_that_of_rosbag_info() {
    let text = folder().run(&["info", "drive.bag"]).assert_success().stdout;
    for words in [
        "drive.bag  ROS bag",
        "0.700 s, from 1970-01-01 00:16:40.000 to 1970-01-01 00:16:40.700",
        "version     2.0",
        "chunks      \"none\": 2 chunks",
        "std_msgs/Float64 (2 connections)",
        "2 topics, 7 records",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

#[test]
fn info_json_equals_that_of_rosbag_info_yaml() {
    let run = folder().run(&["info", "--json", "drive.bag"]).assert_success();
    let report = &run.json_lines()[0];
    assert_eq!(report["metadata"]["bag_version"], "2.0");
    assert_eq!(report["metadata"]["indexed"], true);
    assert_eq!(report["records"], 7);
    assert_eq!(
        (&report["start_s"], &report["end_s"]),
        (&json!(1000.0), &json!(1000.7))
    );
    assert_eq!(report["metadata"]["chunks"]["chunks"], 2);
    let a = topic(report, "/a");
    assert_eq!(
        (&a["records"], &a["type_name"]),
        (&json!(5), &json!("std_msgs/Float64"))
    );
    assert_eq!(a["metadata"]["md5sum"], "fdb28210bfa9d7c91146260178d9a584");
    assert_eq!(a["metadata"]["connections"], "2");
    assert!(a.get("frequency").is_none() && report.get("health").is_none());
}

#[test]
fn rates_and_gaps_equal_hand_computed_values() {
    let folder = folder();
    let run = folder.run(&["info", "--json", "--freq", "drive.bag"]).assert_success();
    // The messages of /a are at 0, 100, 200, 300 and 700 ms: 175 ms apart on average.
    let report = &run.json_lines()[0];
    let a = &topic(report, "/a")["frequency"];
    let ms = |ms: u64| json!(ms * 1_000_000);
    assert_eq!(a["rate_hz"], 10.0);
    assert_eq!((&a["min_period_ns"], &a["median_period_ns"]), (&ms(100), &ms(100)));
    assert_eq!(
        (&a["max_period_ns"], &a["largest_gap_at_s"]),
        (&ms(400), &json!(1000.3))
    );
    let jitter = ((3.0 * 75_f64.powi(2) + 225_f64.powi(2)) / 4.0).sqrt() * 1e6;
    assert!((a["jitter_ns"].as_f64().unwrap() - jitter).abs() < 1.0);
    assert_eq!(topic(report, "/b")["frequency"]["max_period_ns"], ms(100));
    let text = folder.run(&["info", "--freq", "drive.bag"]).assert_success().stdout;
    let line = text.lines().rfind(|line| line.trim_start().starts_with("/a")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let want = ["/a", "10.0", "0.100", "s", "0.100", "s", "0.130", "s", "0.400", "s"];
    assert_eq!(words[..10], want);
    assert!(line.ends_with("00:16:40.300"), "{line}");
}

#[test]
fn health_reports_the_layout_of_chunks() {
    let folder = folder();
    let run = folder.run(&["info", "--json", "--health", "drive.bag"]).assert_success();
    let health = &run.json_lines()[0]["health"];
    // A message has 4 + 13 + 8 + 17 + 4 bytes before its 8 bytes of data.
    let (first, second) = (4 * 54, 3 * 54);
    assert_eq!(health["parts"]["count"], 2);
    assert_eq!(health["parts"]["overlapping"], 1);
    assert_eq!(health["parts"]["most_at_once"], 2);
    assert_eq!(health["parts"]["out_of_order"], 0);
    let spread = json!({"min": second, "median": first, "max": first});
    assert_eq!(health["chunk_bytes"], spread);
    assert_eq!(health["uncompressed_chunk_bytes"], spread);
    assert_eq!(health["chunks"]["by_compression"]["none"]["chunks"], 2);
    let text = folder.run(&["info", "--health", "drive.bag"]).assert_success().stdout;
    assert!(text.contains("1 overlap earlier ones in time, up to 2 at once"), "{text}");
}

#[test]
fn key_of_an_encrypted_bag_is_read_from_a_file() {
    let Some(bag) = sample("rosbag/edge/encrypted_aes_lz4.bag") else { return };
    let folder = Folder::new();
    folder.run(&["cat", &bag]).assert_status(1, &["requires its key", "--key-file"]);
    let info = folder
        .run(&["info", &bag])
        .assert_status(0, &["hint: --key-file names the file"]);
    assert!(info.stdout.contains("not read, which needs its key"), "{info:?}");
    // The key in the header of the bag, as `gpg --decrypt` decrypts it.
    folder.write("key", b"38a894d77a7826af128b2503adda6c3d\n");
    let run = folder.run(&["cat", "--key-file", "key", &bag]).assert_success();
    assert_eq!(run.stdout.lines().count(), 20); // as MANIFEST.tsv says
    // A split does not contain the key.
    let plan =
        folder.run(&["plan", "--key-file", "key", &bag, "--json"]).assert_success();
    let read = ["read", "--split", "-", "--format", "jsonl", "-q"];
    let topic = plan.stdout.lines().next().unwrap();
    let with_key = [&read[..], &["--key-file", "key"]].concat();
    let rows = folder.run_with(&with_key, topic.as_bytes()).assert_success().stdout;
    assert!(!rows.is_empty());
    folder.run_with(&read, topic.as_bytes()).assert_status(1, &["requires its key"]);
    let run = folder.run(&["convert", "--key-file", "key", &bag, "-o", "open.mcap"]);
    run.assert_status(0, &["the new log is not encrypted, though the input is"]);
    folder.write("no-key", b"none");
    folder
        .run(&["cat", "--key-file", "no-key", &bag])
        .assert_status(1, &["32 hexadecimal digits"]);
}

#[test]
fn chunk_times_exclude_the_duration_of_scans() {
    let Some(bag) = sample("velodyne/sim_hdl64e_s2_bz2.bag") else { return };
    let folder = Folder::new();
    let run = folder.run(&["info", "--health", "--json", &bag]).assert_success();
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    // 5 chunks, one after the other; 13 scans in 1.167 s, as the package rosbags reads
    // them.
    assert_eq!(info["health"]["parts"]["overlapping"], 0, "{info}");
    let text = folder.run(&["info", &bag]).assert_success().stdout;
    assert!(text.contains(" ~10.3 "), "{text}");
    let run = folder.run(&["check", &bag]);
    assert!(!run.stdout.contains("part.overlap"), "{run:?}");
}

#[test]
fn strings_that_are_not_utf8_are_read_as_latin1_and_reported_once() {
    let Some(bag) = sample("rosbag/edge/latin1_text.bag") else { return };
    let run = Folder::new().run(&["cat", &bag]);
    assert_eq!(run.stdout.matches("20 °C").count(), 10, "{run:?}");
    run.assert_status(0, &["10 records with strings that are not UTF-8"]);
}

#[test]
fn unsuitable_outputs_are_rejected_on_standard_output() {
    let folder = folder();
    for args in [
        &["convert", "drive.bag", "-o", "-"][..],
        &["convert", "drive.bag", "--format", "mcap", "-o", "-"],
        &["filter", "drive.bag", "-o", "-"],
        &["repair", "drive.bag", "-o", "-"],
        &["merge", "drive.bag", "drive.bag", "-o", "-"],
        &["convert", "drive.bag", "--format", "parquet", "-t", "/a", "-o", "-"],
    ] {
        folder.run(args).assert_status(2, &["standard output"]);
    }
    assert_eq!(folder.list("."), ["drive.bag"]);
}

#[test]
fn info_reports_rates_and_schema_md5_sums() {
    let folder = folder();
    let report =
        &folder.run(&["info", "--json", "drive.bag"]).assert_success().json_lines()[0];
    // /a: 0, 100, 200, 300, 700 ms.
    let rate = topic(report, "/a")["rate_hz"].as_f64().unwrap();
    assert!((rate - 4.0 / 0.7).abs() < 0.01, "{rate}");
    let schema = folder.run(&["schema", "drive.bag"]).assert_success().stdout;
    assert!(schema.contains("md5sum fdb28210bfa9d7c91146260178d9a584"), "{schema}");
}

#[test]
fn unknown_compression_is_a_single_error_with_a_line_for_each_topic() {
    // 100 messages in four chunks, all with the compression "zstd" (EXPECT.tsv): a clear error.
    let Some(bag) = sample("rosbag/edge/comp_unknown_zstd.bag") else { return };
    let folder = Folder::new();
    let message = "compressed with \"zstd\", which is not supported";
    for args in [
        &["cat"][..],
        &["convert", "-o", "tables"],
        &["filter", "-o", "new.bag"],
        &["repair", "-o", "new.bag"],
    ] {
        let run = folder.run(&[args, &[&bag]].concat());
        assert_eq!(run.stderr.matches("compressed").count(), 1, "{run:?}");
        run.assert_status(1, &["error:", "comp_unknown_zstd.bag", message]);
        assert!(folder.list(".").is_empty());
    }
    folder.run(&["info", &bag]).assert_status(0, &[]);

    // The second and third chunk of four, of two topics.
    let Some(bag) = sample("rosbag/edge/ok_none.bag") else { return };
    let mut bytes = fs::read(bag).unwrap();
    for at in [6353, 8202] {
        let name = bytes[at..].windows(16).position(|w| w == b"compression=none");
        bytes[at + name.unwrap() + 12..][..4].copy_from_slice(b"zstd");
    }
    folder.write("half.bag", &bytes);
    let run = folder.run(&["cat", "half.bag"]);
    assert_eq!(run.stdout.lines().count(), 50);
    assert_eq!(run.stderr.matches("zstd").count(), 2, "{run:?}"); // two topics
    run.assert_status(3, &["likewise in 1 place more, up to byte 9641"]);
}

/// An unfinished bag: connections with these fields and the usual ones, each with a message.
fn bag_of_connections(headers: [&[(&str, &[u8])]; 3]) -> Vec<u8> {
    let mut bag = b"#ROSBAG V2.0\n".to_vec();
    let fields: [(&str, &[u8]); 4] = [
        ("op", &[3]),
        ("index_pos", &0_u64.to_le_bytes()),
        ("conn_count", &0_u32.to_le_bytes()),
        ("chunk_count", &0_u32.to_le_bytes()),
    ];
    let padding = 4096 - record(&fields, b"").len();
    bag.extend(record(&fields, &vec![b' '; padding]));
    let mut data = Vec::new();
    for (id, more) in (0_u32..).zip(headers) {
        data.extend(connection_with_fields(id, more));
        let fields: [(&str, &[u8]); 3] =
            [("conn", &id.to_le_bytes()), ("op", &[2]), ("time", &time(id))];
        data.extend(record(&fields, &1.5_f64.to_le_bytes()));
    }
    let size = (data.len() as u32).to_le_bytes();
    bag.extend(record(
        &[("op", &[5]), ("compression", b"none"), ("size", &size)],
        &data,
    ));
    bag
}

/// Converts `bag` to MCAP and back, and returns a function that counts the occurrences of bytes
/// in the result.
fn through_mcap(folder: &Folder, bag: &[u8]) -> impl Fn(&[u8]) -> usize + use<> {
    folder.write("a.bag", bag);
    folder.run(&["convert", "a.bag", "-q", "-o", "a.mcap"]);
    folder.run(&["convert", "a.mcap", "-q", "-o", "b.bag"]).assert_success();
    let bytes = fs::read(folder.path().join("b.bag")).unwrap();
    move |some| bytes.windows(some.len()).filter(|at| *at == some).count()
}

#[test]
fn latching_of_connections_survives_a_round_trip_through_mcap() {
    let bag = bag_of_connections([
        &[],
        &[("latching", b"")],
        &[("latching", b"1"), ("callerid", b"/n")],
    ]);
    let count = through_mcap(&Folder::new(), &bag);
    let (none, one) = (b"\x09\0\0\0latching=", b"\x0a\0\0\0latching=1");
    // Each connection is in its chunk, and again at the end.
    assert_eq!((count(none), count(one), count(b"latching=")), (2, 2, 4));
    assert_eq!(count(b"fdb28210bfa9d7c91146260178d9a584"), 6);
}

#[test]
fn unknown_connection_fields_survive_a_round_trip_through_mcap() {
    let folder = Folder::new();
    let count = through_mcap(
        &folder,
        &bag_of_connections([
            &[("robot", b"k\xc3\xa4fer = 2\n"), ("empty", b"")],
            &[("tcp_nodelay", b"1"), ("bytes", b"\xff\xfe")],
            &[("id", b"7"), ("twice", b"a"), ("twice", b"b")],
        ]),
    );
    assert_eq!(count(b"\x11\0\0\0robot=k\xc3\xa4fer = 2\n"), 2);
    assert_eq!((count(b"\x06\0\0\0empty="), count(b"\x0d\0\0\0tcp_nodelay=1")), (2, 2));
    assert_eq!((count(b"twice=a"), count(b"twice=b"), count(b"bytes=")), (2, 0, 0));
    // The losses of the conversion are reported for the bag.
    let stdout = folder.run(&["info", "a.bag"]).stdout;
    for lost in ["\"/b\": 1 field of its", "\"/a\": 2 fields of its"] {
        assert!(stdout.contains(lost), "{stdout}");
    }
    let convert = folder.run(&["convert", "a.bag", "-f", "-o", "a.mcap"]).stderr;
    assert!(convert.contains("left out: 3 fields of connection headers"), "{convert}");
}
