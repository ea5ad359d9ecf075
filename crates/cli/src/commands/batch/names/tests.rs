use std::path::PathBuf;

use super::*;

fn log(source: &str) -> Found {
    let path = PathBuf::from(source);
    Found { path, source: source.to_owned(), bytes: 1, modified: None }
}

fn named(sources: &[&str], known: &[(&str, &str)]) -> Vec<String> {
    let logs: Vec<Found> = sources.iter().map(|source| log(source)).collect();
    let known = known.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned()));
    names(&logs, &known.collect(), &|source| Path::new(source).exists())
}

#[test]
fn logs_are_called_as_their_files_and_those_of_one_name_also_as_their_folders() {
    assert_eq!(named(&["/a/x.ulg", "/a/y.bag"], &[]), ["x", "y"]);
    assert_eq!(named(&["/a/x.ulg", "/b/X.bag.gz"], &[]), ["a_x", "b_X"]);
    let three = named(&["/1/a/x.ulg", "/2/a/x.ulg", "/3/b/x.ulg"], &[]);
    assert_eq!(three[2], "b_x");
    assert!(
        three[0] != three[1] && three[..2].iter().all(|name| name.starts_with("x-"))
    );
    assert_eq!(named(&["/a/my log=7 %.ulg"], &[]), ["my_log_7__"]);
}

#[test]
fn a_name_stays_and_that_of_a_file_that_is_gone_is_free() {
    let here = tempfile::NamedTempFile::new().unwrap();
    let here = here.path().to_str().unwrap();
    assert_eq!(named(&["/a/x.ulg"], &[("x", "/gone/x.ulg")]), ["x"]);
    assert_eq!(named(&["/a/x.ulg"], &[("x", here)]), ["a_x"]);
    assert_eq!(named(&["/a/x.ulg", "/b/x.ulg"], &[("x", "/b/x.ulg")]), ["a_x", "x"]);
    // Another log is not given what one has by itself.
    assert_eq!(named(&["/a/b_x.ulg", "/b/x.ulg", "/c/x.ulg"], &[])[1..].len(), 2);
    let names = named(&["/a/b_x.ulg", "/b/x.ulg", "/c/x.ulg"], &[]);
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), 3, "{names:?}");
}
