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
