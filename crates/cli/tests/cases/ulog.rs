//! The cases of ULogs.

use crate::{program::Folder, samples::sample};

#[test]
fn infinities_are_null_in_json_lines() {
    let Some(file) = sample("cases/ulog/infinity.ulg") else { return };
    let folder = Folder::new();
    let run = folder.run(&["convert", &file, "--format", "jsonl", "-o", "tables"]);
    run.assert_status(0, &["null", "hint: --keep-infinities writes them as 1e999"]);
    for name in folder.list("tables").iter().filter(|name| name.ends_with(".jsonl")) {
        let text = folder.read(&format!("tables/{name}"));
        assert!(!text.contains("e999"), "{text}");
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
    let args =
        ["convert", &file, "--format", "jsonl", "-o", "large", "--keep-infinities"];
    folder.run(&args).assert_status(0, &[]);
    let names = folder.list("large");
    let texts = names.iter().map(|name| folder.read(&format!("large/{name}")));
    assert!(texts.into_iter().any(|text| text.contains(":1e999")));
}

#[test]
fn infinities_printed_by_cat_are_null_and_counted() {
    let Some(file) = sample("cases/ulog/infinity.ulg") else { return };
    let folder = Folder::new();
    let run =
        folder.run(&["cat", "--json", &file]).assert_status(0, &["1 infinity is null"]);
    assert!(!run.stdout.contains("e999") && !run.json_lines().is_empty());
}

#[test]
fn records_of_a_wrong_length_are_payloads() {
    let Some(file) = sample("cases/ulog/wrong_record_length.ulg") else { return };
    let folder = Folder::new();
    let run = folder.run(&["cat", "--json", &file, "--topic", "irlock_report"]);
    let rows = run.assert_status(3, &["200 records"]).json_lines();
    assert_eq!(rows.len(), 200);
    // The first has 12 bytes and the second 18; the format of irlock_report has 14. Their times are
    // 50 us, which is before the start, and 100,050 us.
    assert_eq!(rows[1]["time"], 100_050_000);
    let payloads = [&rows[0], &rows[1]].map(|row| row["data"]["payload"].as_str());
    assert_eq!(
        payloads,
        [
            Some("320000000000000000000000"),
            Some("d28601000000000001000000003faabbccdd"),
        ]
    );
    folder
        .run(&["convert", &file, "-o", "out", "--format", "csv"])
        .assert_status(3, &["200 records"]);
    let table = folder.read("out/wrong_record_length_irlock_report_0.csv");
    assert!(table.starts_with("timestamp,signature,pos_x,payload\n"), "{table}");
    assert_eq!(table.lines().count(), 201);
    let to_stdout = ["convert", &file, "-o", "-", "--topic", "irlock_report"];
    let run = folder.run(&[&to_stdout[..], &["--format", "csv"]].concat());
    assert_eq!(run.stdout, table);
    // Other readers rely on the length, so that a new ULog does not have these records.
    for command in [&["repair"][..], &["filter", "--start", "1"]] {
        let args = [command, &[&file, "-o", "new.ulg", "--force"]].concat();
        folder.run(&args).assert_status(3, &["irlock_report"]);
        let check = folder.run(&["cat", "new.ulg", "--topic", "irlock_report"]);
        assert_eq!((check.status, check.stdout.as_str()), (0, ""));
    }
}
