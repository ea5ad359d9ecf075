//! `logtool check`.

use std::{fs, path::Path};

use crate::{
    bytes,
    program::Folder,
    samples::{sample, testdata},
};

/// The findings in bags with one kind of damage each, as described in EXPECT.tsv.
const BAGS: [(&str, i32, &[&str]); 28] = [
    ("ok_none.bag", 0, &[]),
    ("ok_bz2.bag", 0, &[]),
    ("ok_lz4.bag", 0, &[]),
    ("unindexed.bag", 3, &["bag.unfinished"]),
    ("active_unterminated_none.bag", 3, &["bag.unfinished", "bag.chunk.unfinished"]),
    ("trunc_mid_chunk.bag", 3, &["bag.index.position", "damage.truncated"]),
    ("trunc_in_index.bag", 3, &["bag.index.truncated"]),
    ("index_pos_beyond_eof.bag", 3, &["bag.index.position"]),
    ("index_pos_in_header.bag", 3, &["bag.index.position"]),
    ("trailing_garbage.bag", 0, &["bag.trailing"]),
    ("chunk_size_small_lz4.bag", 3, &["bag.chunk.size"]),
    ("chunk_size_4g_none.bag", 3, &["bag.chunk.size"]),
    ("lz4_badchecksum.bag", 3, &["bag.chunk.checksum", "damage.doubtful"]),
    ("latin1_text.bag", 0, &["text.latin1"]),
    // The message of Python's rosbags 0.11: invalid literal for int() with base 10: 'true'.
    ("latching_true.bag", 0, &["bag.connection.latching"]),
    ("latching_variants.bag", 0, &["bag.connection.latching"]),
    ("comp_unknown_zstd.bag", 3, &["bag.chunk.compression"]),
    ("data_len_huge.bag", 3, &["bag.chunk.length"]),
    ("chunkinfo_count_high.bag", 3, &["bag.chunk_info.count"]),
    ("chunkinfo_times_wrong.bag", 3, &["bag.chunk_info.time"]),
    ("index_offset_bad.bag", 3, &["bag.index_data.offset"]),
    ("index_ver0.bag", 3, &["bag.index_data.version"]),
    ("index_datalen_wrong.bag", 3, &["bag.index_data.length"]),
    ("unlisted_messages.bag", 3, &["bag.index_data.count"]),
    ("conn_count_huge.bag", 3, &["bag.header.connections"]),
    ("conn_only_in_chunks.bag", 3, &["bag.connection.chunks_only"]),
    ("missing_conn.bag", 3, &["bag.connection.undeclared"]),
    ("short_payload.bag", 3, &["damage.undecodable"]),
];

#[test]
fn each_false_statement_in_a_bag_has_its_code() {
    let folder = Folder::new();
    for (name, status, codes) in BAGS {
        let Some(bag) = sample(&format!("rosbag/edge/{name}")) else { return };
        let run = folder.run(&["check", "--json", &bag]);
        assert_eq!(run.status, status, "{name}: {run:?}");
        let report = &run.json_lines()[0];
        let found_codes = report["findings"].as_array().unwrap();
        let found_codes: Vec<&str> = found_codes
            .iter()
            .map(|finding| finding["code"].as_str().unwrap())
            .collect();
        for code in codes {
            assert!(
                found_codes.contains(code),
                "{name} has no {code}: {found_codes:?}"
            );
        }
        assert!(!codes.is_empty() || found_codes.is_empty(), "{name}: {found_codes:?}");
    }
}

#[test]
fn doubtful_and_complete_records_are_not_reported_as_lost() {
    let folder = Folder::new();
    // EXPECT.tsv: in one bag, the content checksums are wrong and the data are correct. In
    // the other, only the end of the stream of the last chunk is missing. Each has 100
    // readable messages.
    let bags = [
        ("lz4_badchecksum.bag", 3, "read, but doubtful"),
        ("active_unterminated_bz2.bag", 0, ""),
    ];
    for (name, status, expected) in bags {
        let Some(bag) = sample(&format!("rosbag/edge/{name}")) else { return };
        let cat = folder.run(&["cat", &bag]);
        assert_eq!((cat.status, cat.stdout.lines().count()), (status, 100), "{name}");
        assert!(
            cat.stderr.contains(expected) && !cat.stderr.contains("lost"),
            "{cat:?}"
        );
        let check = folder.run(&["check", "--json", &bag]);
        let report = check.json_lines()[0].to_string();
        assert!(!report.contains("damage.garbled"), "{report}");
        assert!(!report.contains("damage.truncated"), "{report}");
        let info = folder.run(&["info", "--json", &bag]);
        assert_eq!(info.json_lines()[0]["lost_bytes"], 0, "{name}");
    }
}

#[test]
fn encrypted_bag_is_checked_with_its_key() {
    let folder = Folder::new();
    let Some(bag) = sample("rosbag/edge/encrypted_aes_lz4.bag") else { return };
    // The key in the header of the bag, as `gpg --decrypt` decrypts it.
    folder.write("key", b"38a894d77a7826af128b2503adda6c3d\n");
    let run = folder.run(&["check", "--key-file", "key", &bag]).assert_success();
    assert!(run.stdout.contains("1 note") && run.stdout.contains("bag.encrypted"));
    folder.write("wrong", &[b'0'; 32]);
    for command in ["check", "info", "cat"] {
        let run = folder.run(&[command, "--key-file", "wrong", &bag]);
        run.assert_status(1, &["encrypted_aes_lz4.bag", "the key is wrong"]);
    }
    folder
        .run(&["cat", &bag])
        .assert_status(1, &["encrypted_aes_lz4.bag", "requires its key"]);
    folder
        .run(&["check", &bag])
        .assert_status(1, &["encrypted_aes_lz4.bag", "requires its key"]);
}

#[test]
fn anomalies_of_ulogs_are_reported() {
    let folder = Folder::new();
    let run = folder.run(&["check", "--json", &testdata("hostile_types.ulg")]);
    let report = &run.json_lines()[0];
    let findings = report["findings"].as_array().unwrap();
    let has_finding = |code: &str, topic: &str| {
        findings.iter().any(|f| f["code"] == code && f["topic"] == topic)
    };
    // testdata/README.md describes these files.
    assert!(
        has_finding("ulog.timestamp.narrow", "clock32")
            && has_finding("ulog.timestamp.narrow", "clock16")
    );
    assert!(has_finding("ulog.timestamp.missing", "no_clock"));
    assert!(has_finding("ulog.padding", "padded"), "{report}");

    let run = folder.run(&["check", &testdata("quad_flight.ulg")]);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("ulog.dropout") && run.stdout.contains("120 ms"));
}

#[test]
fn warnings_fail_only_a_strict_check() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    assert_eq!(folder.run(&["check", &flight]).status, 0);
    assert_eq!(folder.run(&["check", "--strict", &flight]).status, 3);
    let quiet = folder.run(&["check", "--level", "error", &flight]).assert_success();
    assert_eq!(quiet.stdout.lines().count(), 1, "{quiet:?}");
}

#[test]
fn damage_is_an_error_and_one_bad_log_does_not_hide_the_others() {
    let folder = Folder::with_log(&bytes::cut_log());
    folder.run(&["check", "flight.ulg"]).assert_status(3, &[]);
    let run = folder.run(&["check", "none.ulg", "flight.ulg"]);
    let run = run.assert_status(1, &["cannot open none.ulg: there is no such file"]);
    assert!(run.stdout.contains("damage.truncated"), "{run:?}");
}

#[test]
fn documented_table_of_codes_equals_the_printed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CHECK.md");
    let document = fs::read_to_string(path).unwrap();
    let codes = Folder::new().run(&["check", "--codes"]).assert_success().stdout;
    assert!(document.ends_with(&codes), "docs/CHECK.md should end with:\n{codes}");
    let names: Vec<&str> =
        codes.lines().skip(2).filter_map(|row| row.split('`').nth(1)).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "each once, in order");
}
