//! `logtool messages`.

use serde_json::json;

use crate::{bytes, program::Folder};

#[test]
fn messages_are_lines_that_people_can_read() {
    let folder = Folder::with(&bytes::log());
    let run = folder.run(&["messages", "flight.ulg"]).succeeded();
    let text =
        "[00:00:01.100] INFO   ready, \"set\"\n[00:00:02.100] WARN   low battery\n";
    assert_eq!(run.stdout, text);
    let run = folder.run(&["messages", "flight.ulg", "--level", "warning"]).succeeded();
    assert_eq!(run.stdout, "[00:00:02.100] WARN   low battery\n");
}

#[test]
fn messages_are_json_for_programs() {
    let folder = Folder::with(&bytes::log());
    let run = folder.run(&["messages", "flight.ulg", "--json"]).succeeded();
    let lines = run.json_lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["time"], json!(2.1));
    assert_eq!(lines[1]["level"], "warning");
    assert_eq!(lines[1]["message"], "low battery");
}
