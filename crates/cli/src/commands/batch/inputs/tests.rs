use std::path::Path;

use super::*;

/// Of the ULog specification, "Header Section": the magic, the version, a time.
const ULOG: &[u8] = b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0";

fn file(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// The names of the logs that `typed` mean in `dir`, how many files are none, and how
/// many inputs failed.
fn found(dir: &Path, typed: &[&str]) -> (Vec<String>, u64, usize) {
    let typed: Vec<PathBuf> = typed.iter().map(|name| dir.join(name)).collect();
    let inputs = find(&typed, &dir.join("dataset")).unwrap();
    let real = fs::canonicalize(dir).unwrap();
    let name = |log: &Found| {
        let name = Path::new(&log.source).strip_prefix(&real).unwrap();
        name.to_str().unwrap().replace('\\', "/")
    };
    (inputs.logs.iter().map(name).collect(), inputs.others, inputs.failed.len())
}

#[test]
fn folders_give_the_logs_in_them_whatever_these_are_called() {
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
    assert_eq!(found(dir.path(), &["a"]), (logs.to_vec(), 1, 0));
    assert_eq!(found(dir.path(), &["", "a/one.ulg"]), (logs.to_vec(), 1, 0));
}

#[test]
fn patterns_and_lists_name_logs() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "a/1.ulg", ULOG);
    file(dir.path(), "a/2.ulg", ULOG);
    let text = file(dir.path(), "b/x.txt", b"no log");
    let both = vec!["a/1.ulg".to_owned(), "a/2.ulg".to_owned()];
    assert_eq!(found(dir.path(), &["**/*.ulg"]), (both.clone(), 0, 0));
    assert_eq!(found(dir.path(), &["*/*.ulg", "a"]), (both.clone(), 0, 0));
    assert_eq!(found(dir.path(), &["*.ulg"]), (vec![], 0, 1), "a star is no slash");
    let one = dir.path().join("a/1.ulg").display().to_string();
    let two = dir.path().join("a/2.ulg").display().to_string();
    for end in ["\n", "\r\n", "\0"] {
        let list = file(dir.path(), "list", format!("{one}{end}{two}{end}").as_bytes());
        let typed = PathBuf::from(format!("@{}", list.display()));
        let inputs = find(&[typed], dir.path().join("x").as_path()).unwrap();
        assert_eq!(inputs.logs.len(), 2, "{end:?}");
    }
    // What is named is no log, and that is to be told.
    let inputs = find(&[text, dir.path().join("gone")], Path::new("x")).unwrap();
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
fn a_list_has_comments_and_empty_lines_unless_zeros_end_its_names() {
    let of = |text: &'static str| lines(text).collect::<Vec<_>>();
    assert_eq!(of("# all\n\na.bag\r\n  \n #x\n./#y\n"), ["a.bag", " #x", "./#y"]);
    assert_eq!(of("#a\0 \0b\nc\0"), ["#a", " ", "b\nc"]);
}
