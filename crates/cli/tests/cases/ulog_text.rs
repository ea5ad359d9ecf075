//! Text of a ULog that would act on a terminal.

use crate::{program::Folder, samples::sample};

/// Returns whether a terminal interprets nothing in `text` as a command, except for line ends.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control())
}

#[test]
fn escape_in_param() {
    let Some(log) = sample("cases/ulog/escape_in_param.ulg") else { return };
    let folder = Folder::new();
    // pyulog 1.2 reads the name "A\x1b]0;owned\x07\x1b[3" with the value 1.
    let shown = "A\\u{1b}]0;owned\\u{7}\\u{1b}[3";
    let text = folder.run(&["params", &log, "--format", "text"]).assert_success();
    assert!(is_plain(&text.stdout), "{text:?}");
    assert_eq!(text.stdout.split_whitespace().next(), Some(shown), "{text:?}");
    for args in
        [&["params", &log, "--history", "--format", "text"][..], &["info", &log]]
    {
        let run = folder.run(args);
        assert!(is_plain(&run.stdout) && is_plain(&run.stderr), "{run:?}");
    }
    folder.write("other.ulg", &crate::bytes::definitions());
    let diff = folder.run(&["params", "diff", &log, "other.ulg"]);
    assert_eq!(diff.status, 0, "{diff:?}");
    assert!(is_plain(&diff.stdout) && diff.stdout.contains(shown), "{diff:?}");
}
