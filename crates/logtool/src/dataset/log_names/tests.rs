use std::{collections::BTreeSet, path::PathBuf};

use super::*;

fn log(source: &str) -> InputLog {
    let path = PathBuf::from(source);
    let source = source.to_owned();
    let named_path = source.clone();
    InputLog { path, named_path, source, bytes: 1, modified_ns: None }
}

fn names(sources: &[&str], known: &[(&str, &str)]) -> Vec<String> {
    let logs: Vec<InputLog> = sources.iter().map(|source| log(source)).collect();
    let known =
        known.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
    assign(&logs, &known.collect(), &|_, _, owner| owner.starts_with("/moved"))
}

#[test]
fn assign_adds_the_folder_to_names_of_several_logs() {
    assert_eq!(names(&["/a/x.ulg", "/a/y.bag"], &[]), ["x", "y"]);
    assert_eq!(names(&["/a/x.ulg", "/b/X.bag.gz"], &[]), ["a_x", "b_X"]);
    let three = names(&["/1/a/x.ulg", "/2/a/x.ulg", "/3/b/x.ulg"], &[]);
    assert_eq!(three[2], "b_x");
    assert!(
        three[0] != three[1] && three[..2].iter().all(|name| name.starts_with("x-"))
    );
    assert_eq!(names(&["/a/my log=7 %.ulg"], &[]), ["my_log_7__"]);
}

#[test]
fn assign_reserves_known_names_for_their_logs() {
    assert_eq!(names(&["/a/x.ulg"], &[("x", "/moved/x.ulg")]), ["x"]);
    assert_eq!(names(&["/a/x.ulg"], &[("x", "/gone/x.ulg")]), ["a_x"]);
    assert_eq!(names(&["/a/x.ulg", "/b/x.ulg"], &[("x", "/b/x.ulg")]), ["a_x", "x"]);
    let moved = [("x", "/moved/x.ulg")];
    assert_eq!(names(&["/a/x.ulg", "/b/x.ulg"], &moved), ["x", "b_x"]);
    let missing = [("x", "/gone/x.ulg"), ("A_X", "/gone/a/x.ulg")];
    assert!(names(&["/a/x.ulg"], &missing)[0].starts_with("x-"));
}

#[test]
fn assign_avoids_names_that_are_the_first_choice_of_another_log() {
    let names = names(&["/a/b_x.ulg", "/b/x.ulg", "/c/x.ulg"], &[]);
    let unique: BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), 3, "{names:?}");
}

#[test]
fn assign_uses_the_names_of_links_and_shortens_long_names() {
    let link =
        InputLog { named_path: "/a/flight_7.ulg".to_owned(), ..log("/annex/SHA256-x") };
    assert_eq!(assign(&[link], &BTreeMap::new(), &|_, _, _| false), ["flight_7"]);
    let long = "y".repeat(140);
    let similar = [format!("/1/{long}/{long}.ulg"), format!("/2/{long}/{long}.ulg")];
    let names = names(&similar.each_ref().map(|path| &**path), &[]);
    assert!(names[0] != names[1] && names.iter().all(|name| name.len() < 200));
}
