//! `logtool repair`.

use std::fs;

use crate::{
    bytes,
    program::Folder,
    samples::{expected_bag_messages, sample, testdata},
};

/// Bags whose number of messages differs from the table, and the reason.
const OTHER: [(&str, u64, &str); 4] = [
    ("data_len_huge.bag", 100, "only the length of a chunk is wrong; 75"),
    ("active_unterminated_bz2.bag", 100, "the last chunk lacks only its checksum; 75+"),
    ("corrupt_chunk2_none.bag", 99, "one message is broken; the next is as it was"),
    ("bz2_bomb.bag", 0, "its one message is larger than is allowed"),
];

/// Bags in which something is lost, according to their names and the table.
const LOST: [&str; 7] = [
    "active_unterminated_none.bag",
    "trunc_mid_chunk.bag",
    "corrupt_chunk2_bz2.bag",
    "corrupt_chunk2_none.bag",
    "lz4_badchecksum.bag",
    "bz2_bomb.bag",
    "missing_conn.bag",
];

/// Bags with records that do not fit their definitions and are kept: an array is longer than the
/// message, or the message has more bytes than the definition.
const KEPT: [&str; 3] =
    ["def_array_huge_len.bag", "def_empty.bag", "short_payload.bag"];

/// A bag with a type that it does not define. No repair can add the definition.
const UNUSABLE: &str = "def_missing_dep.bag";

#[test]
fn repair_recovers_all_readable_messages_of_damaged_bags() {
    let folder = Folder::new();
    for (name, count) in expected_bag_messages() {
        let bag = sample(&name).unwrap();
        let name = name.rsplit('/').next().unwrap();
        let run = folder.run(&["repair", &bag, "-o", "new.bag", "-fq"]);
        if run.status == 1 {
            assert_eq!(count, 0, "{name}: {run:?}");
            continue; // it says what is to be done
        }
        let is_damaged =
            LOST.contains(&name) || KEPT.contains(&name) || name == UNUSABLE;
        let status = if is_damaged { 3 } else { 0 };
        assert_eq!(run.status, status, "{name}: {run:?}");
        let other = OTHER.iter().find(|(other, ..)| *other == name);
        let count = other.map_or(count, |(_, count, _)| *count);
        let info = folder.run(&["info", "--json", "new.bag"]);
        assert_eq!(
            info.status,
            if name == UNUSABLE { 3 } else { 0 },
            "{name}: {info:?}"
        );
        let new = info.json_lines();
        assert_eq!(new[0]["records"], count, "{name}");
        // The remaining differences are in the messages themselves.
        let reports = folder.run(&["check", "--json", "new.bag"]).json_lines();
        for finding in reports[0]["findings"].as_array().unwrap() {
            let code = finding["code"].as_str().unwrap();
            let is_content = code.starts_with("time.")
                || code.starts_with("bag.definition.")
                || matches!(
                    code,
                    "damage.undecodable"
                        | "damage.extra_bytes"
                        | "text.latin1"
                        | "bag.message.time_zero"
                        | "bag.chunk.checksum"
                        | "part.overlap"
                        | "log.remark"
                );
            assert!(is_content, "{name}: {finding}");
        }
    }
}

#[test]
fn repair_reports_losses_by_topic_and_time() {
    let Some(bag) = sample("rosbag/edge/corrupt_chunk2_bz2.bag") else { return };
    let folder = Folder::new();
    let run = folder.run(&["repair", &bag, "-o", "new.bag", "--json"]);
    let run = run.assert_status(3, &["75 records"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["records"], 75);
    // The second of four chunks, which is found by the index after it. EXPECT.tsv has the
    // checksum.
    let topics = report["lost"]["topics"].as_array().unwrap();
    let lost: Vec<(&str, u64)> = topics
        .iter()
        .map(|t| (t["topic"].as_str().unwrap(), t["records"].as_u64().unwrap()))
        .collect();
    assert_eq!(lost, [("/chatter", 20), ("/num", 5)]);
    assert!(topics.iter().all(|t| t["from_s"].is_number() && t["to_s"].is_number()));
}

#[test]
fn repair_completes_the_bag_of_a_killed_recorder() {
    let (folder, bag) = (Folder::new(), testdata("damaged/killed.bag.active"));
    folder.run(&["repair", &bag, "-o", "new.bag"]).assert_status(3, &["lost:"]);
    let run = folder.run(&["check", "new.bag"]);
    assert_eq!(run.status, 0, "{run:?}");
}

#[test]
fn repair_recovers_ulogs() {
    let folder = Folder::with_log(&bytes::cut_log());
    let args = ["repair", "flight.ulg", "-o", "new.ulg"];
    folder.run(&args).assert_status(3, &["ends inside a record"]);
    // Four of five records, two strings and a parameter change: see bytes.rs.
    let report =
        folder.run(&["info", "--json", "new.ulg"]).assert_success().json_lines();
    assert_eq!(report[0]["records"], 7);
    let zeroed = testdata("damaged/lost_sector.ulg");
    folder.run(&["repair", &zeroed, "-o", "sector.ulg", "-q"]).assert_status(3, &[]);
    let reports = folder.run(&["check", "--json", "sector.ulg"]).json_lines();
    assert_eq!(reports[0]["errors"], 0, "{reports:?}");
}

#[test]
fn repair_of_a_sound_log_loses_nothing() {
    let folder = Folder::with_log(&bytes::log());
    let args = ["repair", "flight.ulg", "-o", "new.ulg"];
    folder.run(&args).assert_status(0, &["nothing was lost"]);
}

#[test]
fn repair_keeps_and_reports_undecodable_records() {
    let Some(bag) = sample("rosbag/edge/short_payload.bag") else { return };
    let folder = Folder::new();
    let args = ["repair", &bag, "-o", "new.bag", "--json"];
    let run =
        folder.run(&args).assert_status(3, &["not decodable: 10 records of /chatter"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["records"], &report["undecodable_records"]),
        (&20.into(), &10.into())
    );
    let strict = ["repair", &bag, "-o", "strict.bag", "--strict"];
    folder.run(&strict).assert_status(1, &["10 records of /chatter cannot be decoded"]);
    assert_eq!(folder.list("."), ["new.bag"]);
}

/// Returns the bytes of a file of the test data in which the `index`-th block flag of a lidar
/// packet, and the azimuth after it, are replaced by `wrong`.
fn with_block_header(name: &str, index: usize, wrong: &[u8]) -> Vec<u8> {
    let mut bytes = fs::read(testdata(name)).unwrap();
    let mut flags =
        bytes.windows(2).enumerate().filter(|(_, two)| *two == [0xff, 0xee]);
    let at = flags.nth(index).unwrap().0;
    bytes[at..at + wrong.len()].copy_from_slice(wrong);
    bytes
}

/// Only decoding shows that a packet is damaged, if its frame or message is sound: by the manuals,
/// a block begins with a flag, and its azimuth is below 36,000.
#[test]
fn repair_and_check_agree_on_damaged_packets() {
    let cases = [
        ("a.vel", with_block_header("car.vel", 20, &[0x12])),
        ("b.vel", with_block_header("car.vel", 24, &[0; 512])),
        ("a.pcap", with_block_header("puck.pcap", 36, &[0xff, 0xee, 0xff, 0xff])),
        ("b.pcap", with_block_header("puck.pcap", 40, &[0; 512])),
    ];
    let folder = Folder::new();
    for (name, bytes) in cases {
        folder.write(name, &bytes);
        let check = folder.run(&["check", name]);
        assert_eq!(check.status, 3, "{check:?}");
        assert!(check.stdout.contains("damage.undecodable"), "{check:?}");
        let new = format!("new-{name}");
        let kept = "kept unchanged, but not decodable: 1 record of points";
        let run = folder.run(&["repair", name, "-o", &new, "--json"]);
        let run = run.assert_status(3, &[kept]);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["undecodable_records"], 1, "{name}");
        assert_eq!(report["remaining"][0]["code"], "damage.undecodable", "{name}");
        assert_eq!(folder.run(&["check", &new]).status, 3);
        let strict = ["repair", name, "-o", "strict", "--strict"];
        folder.run(&strict).assert_status(1, &["1 record of points cannot be decoded"]);
        folder.run(&["cat", name, "-t", "points", "-q"]).assert_status(3, &[]);
        // The description reports that payloads were not decoded.
        let info = folder.run(&["info", name]).assert_status(0, &[]);
        assert!(info.stdout.contains("payloads were not decoded"), "{info:?}");
        let info = &folder.run(&["info", "--json", name]).json_lines()[0];
        assert_eq!(info["not_inspected"], "payloads");
        let undecodable = info.get("undecodable_records");
        assert_eq!(undecodable, Some(&serde_json::Value::Null));
    }
    assert!(!folder.path().join("strict").exists());
}

/// All flags of the fourth packet are wrong. Its port is that of the lidar, so that it is lost.
#[test]
fn packet_of_a_lidar_without_a_known_flag_is_a_loss_for_all_commands() {
    let mut bytes = fs::read(testdata("puck.pcap")).unwrap();
    let flags = bytes.windows(2).enumerate().filter(|(_, two)| *two == [0xff, 0xee]);
    let offsets: Vec<usize> = flags.map(|(at, _)| at).skip(36).take(12).collect();
    offsets.into_iter().for_each(|at| bytes[at] = 0x12);
    let folder = Folder::new();
    folder.write("x.pcap", &bytes);
    for args in [
        &["info", "x.pcap"][..],
        &["cat", "x.pcap"],
        &["check", "x.pcap"],
        &["convert", "x.pcap", "-o", "tables", "--format", "csv"],
        &["filter", "x.pcap", "-o", "filtered.pcap"],
        &["repair", "x.pcap", "-o", "new.pcap"],
    ] {
        assert_eq!(folder.run(args).status, 3, "{args:?}");
    }
    assert_eq!(folder.run(&["check", "new.pcap"]).status, 0);
}
