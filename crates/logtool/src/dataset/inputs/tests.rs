use std::path::Path;

use super::*;

/// The header of the ULog specification ("Header Section"): the magic, the version, a time.
const ULOG: &[u8] = b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0";

fn file(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Returns the names of the logs that `inputs` name in `dir`, the number of other files, and
/// the number of inputs that failed.
fn search_result(dir: &Path, inputs: &[&str]) -> (Vec<String>, u64, usize) {
    let paths: Vec<PathBuf> = inputs.iter().map(|name| dir.join(name)).collect();
    let inputs = find(&paths, &dir.join("dataset"), &Session::new()).unwrap();
    let canonical = fs::canonicalize(dir).unwrap();
    let name = |log: &InputLog| {
        let name = Path::new(&log.source).strip_prefix(&canonical).unwrap();
        name.to_str().unwrap().replace('\\', "/")
    };
    (inputs.logs.iter().map(name).collect(), inputs.other_files, inputs.failed.len())
}

#[test]
fn find_recognizes_logs_in_folders_by_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "a/one.ulg", ULOG);
    file(dir.path(), "a/b/two", ULOG);
    file(dir.path(), "a/b/three.gz", &gzip(ULOG));
    file(dir.path(), "a/notes.txt", b"no log");
    file(dir.path(), "a/.hidden/four.ulg", ULOG);
    file(dir.path(), "a/broken.bag", b"");
    file(dir.path(), "dataset/five.ulg", ULOG);
    let logs =
        ["a/b/three.gz", "a/b/two", "a/broken.bag", "a/one.ulg"].map(str::to_owned);
    assert_eq!(search_result(dir.path(), &["a"]), (logs.to_vec(), 1, 0));
    assert_eq!(search_result(dir.path(), &["", "a/one.ulg"]), (logs.to_vec(), 1, 0));
}

#[test]
fn find_expands_patterns_and_lists() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "a/1.ulg", ULOG);
    file(dir.path(), "a/2.ulg", ULOG);
    let text = file(dir.path(), "b/x.txt", b"no log");
    let all_logs = vec!["a/1.ulg".to_owned(), "a/2.ulg".to_owned()];
    assert_eq!(search_result(dir.path(), &["**/*.ulg"]), (all_logs.clone(), 0, 0));
    assert_eq!(search_result(dir.path(), &["*/*.ulg", "a"]), (all_logs.clone(), 0, 0));
    assert_eq!(
        search_result(dir.path(), &["*.ulg"]),
        (vec![], 0, 1),
        "a star does not match a slash"
    );
    let one = dir.path().join("a/1.ulg").display().to_string();
    let two = dir.path().join("a/2.ulg").display().to_string();
    for end in ["\n", "\r\n", "\0"] {
        let list = file(dir.path(), "list", format!("{one}{end}{two}{end}").as_bytes());
        let input = PathBuf::from(format!("@{}", list.display()));
        let inputs =
            find(&[input], dir.path().join("x").as_path(), &Session::new()).unwrap();
        assert_eq!(inputs.logs.len(), 2, "{end:?}");
    }
    // A named file that is not a log is reported when it is opened.
    let inputs =
        find(&[text, dir.path().join("gone")], Path::new("x"), &Session::new())
            .unwrap();
    assert_eq!((inputs.logs.len(), inputs.failed.len()), (1, 1));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed =
        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn patterns_have_the_syntax_of_shells() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "g/run/a.ulg", ULOG);
    file(dir.path(), "g/b.ulg", ULOG);
    let (one, all) = (vec!["g/run/a.ulg".to_owned()], 0);
    for pattern in ["g//*/*.ulg", "g/./*/*.ulg", "g/*/", "g/r?n/[a-b].ulg"] {
        assert_eq!(
            search_result(dir.path(), &[pattern]),
            (one.clone(), all, 0),
            "{pattern}"
        );
    }
    assert_eq!(search_result(dir.path(), &["g/*"]).0.len(), 2);
    assert_eq!(search_result(dir.path(), &["none/*.ulg"]), (vec![], 0, 1));
}

#[test]
fn find_reports_unreadable_paths() {
    let dir = tempfile::tempdir().unwrap();
    let mut deep = PathBuf::from("deep");
    deep.extend(std::iter::repeat_n("d", 300));
    file(dir.path(), deep.join("x.ulg").to_str().unwrap(), ULOG);
    assert_eq!(search_result(dir.path(), &["deep"]), (vec![], 0, 1));
    #[cfg(unix)]
    {
        file(dir.path(), "b/x.ulg", ULOG);
        std::os::unix::fs::symlink("/nowhere/y.ulg", dir.path().join("b/y")).unwrap();
        let logs = vec!["b/x.ulg".to_owned()];
        assert_eq!(search_result(dir.path(), &["b"]), (logs.clone(), 0, 1));
        assert_eq!(
            search_result(dir.path(), &["b/*.ulg"]),
            (logs, 0, 0),
            "the pattern does not match it"
        );
        assert_eq!(search_result(dir.path(), &["b/*"]).2, 1);
    }
}

#[test]
fn find_skips_datasets_in_folders_unless_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "a/x.ulg", ULOG);
    file(dir.path(), "a/set/x.mcap", b"\x89MCAP0\r\n");
    file(dir.path(), "a/set/_logtool/journal.jsonl", b"");
    assert_eq!(search_result(dir.path(), &["a"]).0, ["a/x.ulg"]);
    let inputs =
        find(&[dir.path().join("a")], Path::new("x"), &Session::new()).unwrap();
    assert_eq!(inputs.datasets, [dir.path().join("a/set")]);
    assert_eq!(search_result(dir.path(), &["a", "a/set"]).0.len(), 2);
}
