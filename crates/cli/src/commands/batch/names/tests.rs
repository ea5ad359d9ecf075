use std::path::PathBuf;

use super::*;

fn log(source: &str) -> Found {
    let path = PathBuf::from(source);
    let source = source.to_owned();
    Found { path, called: source.clone(), source, bytes: 1, modified: None }
}

fn named(sources: &[&str], known: &[(&str, &str)]) -> Vec<String> {
    let logs: Vec<Found> = sources.iter().map(|source| log(source)).collect();
    let known = known.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned()));
    names(&logs, &known.collect(), &|_, _, owner| owner.starts_with("/moved"))
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
fn a_name_stays_and_is_free_only_for_the_log_that_has_it() {
    assert_eq!(named(&["/a/x.ulg"], &[("x", "/moved/x.ulg")]), ["x"]);
    assert_eq!(named(&["/a/x.ulg"], &[("x", "/gone/x.ulg")]), ["a_x"]);
    assert_eq!(named(&["/a/x.ulg", "/b/x.ulg"], &[("x", "/b/x.ulg")]), ["a_x", "x"]);
    let moved = [("x", "/moved/x.ulg")];
    assert_eq!(named(&["/a/x.ulg", "/b/x.ulg"], &moved), ["x", "b_x"]);
    let gone = [("x", "/gone/x.ulg"), ("A_X", "/gone/a/x.ulg")];
    assert!(named(&["/a/x.ulg"], &gone)[0].starts_with("x-"));
    // Another log is not given what one has by itself.
    assert_eq!(named(&["/a/b_x.ulg", "/b/x.ulg", "/c/x.ulg"], &[])[1..].len(), 2);
    let names = named(&["/a/b_x.ulg", "/b/x.ulg", "/c/x.ulg"], &[]);
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), 3, "{names:?}");
}

#[test]
fn a_link_is_called_as_it_is_and_no_name_is_too_long() {
    let link = Found { called: "/a/flight_7.ulg".to_owned(), ..log("/annex/SHA256-x") };
    assert_eq!(names(&[link], &BTreeMap::new(), &|_, _, _| false), ["flight_7"]);
    let long = "y".repeat(140);
    let alike = [format!("/1/{long}/{long}.ulg"), format!("/2/{long}/{long}.ulg")];
    let names = named(&alike.each_ref().map(|path| &**path), &[]);
    assert!(names[0] != names[1] && names.iter().all(|name| name.len() < 200));
}
