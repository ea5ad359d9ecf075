use super::*;

fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn nothing_has_its_name_before_all_are_committed() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    outputs.write("b", b"2").unwrap();
    let mut a = outputs.create("a").unwrap();
    a.write_all(b"1").unwrap();
    assert!(files(dir.path()).iter().all(|name| name.starts_with(".logtool-")));
    a.finish().unwrap();
    let placed = outputs.commit().unwrap();
    assert_eq!(placed, [dir.path().join("a"), dir.path().join("b")]);
    assert_eq!(files(dir.path()), ["a", "b"]);
    assert_eq!(fs::read(&placed[0]).unwrap(), b"1");
}

#[test]
fn without_a_commit_there_is_neither_file_nor_directory() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("x/y"), Existing::Refuse);
    outputs.write("a", b"1").unwrap();
    drop(outputs.create("b").unwrap());
    assert_eq!(files(&dir.path().join("x/y")).len(), 1);
    drop(outputs);
    assert_eq!(files(dir.path()), [""; 0]);
}

#[test]
fn a_directory_that_was_there_stays() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("x")).unwrap();
    let outputs = Outputs::new(dir.path().join("x/y"), Existing::Refuse);
    outputs.write("a", b"1").unwrap();
    drop(outputs);
    assert_eq!(files(dir.path()), ["x"]);
}

#[test]
fn an_unfinished_file_holds_all_of_them_back() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    outputs.write("a", b"1").unwrap();
    let b = outputs.create("b").unwrap();
    assert!(outputs.commit().is_err());
    drop(b);
    assert!(outputs.commit().is_err());
    drop(outputs);
    assert_eq!(files(dir.path()), [""; 0]);
}

#[test]
fn a_file_that_is_there_is_named_when_its_table_begins() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), b"old").unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    let error = outputs.create("a").unwrap_err().to_string();
    let place = dir.path().join("a");
    assert!(error.contains(&format!("{} exists already", place.display())), "{error}");
    assert!(error.contains("--force"), "{error}");
    assert_eq!(fs::read(place).unwrap(), b"old");
}

#[test]
fn a_file_that_came_meanwhile_is_not_replaced_and_none_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    outputs.write("a", b"1").unwrap();
    outputs.write("b", b"2").unwrap();
    fs::write(dir.path().join("b"), b"other").unwrap();
    assert!(outputs.commit().is_err());
    drop(outputs);
    assert_eq!(files(dir.path()), ["b"]);
    assert_eq!(fs::read(dir.path().join("b")).unwrap(), b"other");
}

#[test]
fn what_may_be_replaced_is_replaced_but_no_directory_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), b"old").unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Replace);
    outputs.write("a", b"new").unwrap();
    assert!(outputs.create("d").unwrap_err().to_string().contains("is a directory"));
    outputs.commit().unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced_and_a_link_is() {
    use std::os::unix::{fs::FileTypeExt as _, fs::symlink, net::UnixListener};
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let _socket = UnixListener::bind(at("socket")).unwrap();
    symlink("/dev/null", at("link")).unwrap();
    for existing in [Existing::Refuse, Existing::Replace] {
        let outputs = Outputs::new(dir.path(), existing);
        let error = outputs.create("socket").unwrap_err().to_string();
        assert!(error.contains("socket is a device, a pipe or a socket"), "{error}");
        assert!(!error.contains("--force"), "{error}");
    }
    let outputs = Outputs::new(dir.path(), Existing::Replace);
    outputs.write("late", b"new").unwrap();
    let _late = UnixListener::bind(at("late")).unwrap();
    assert!(outputs.commit().is_err());
    for name in ["socket", "late"] {
        assert!(fs::symlink_metadata(at(name)).unwrap().file_type().is_socket());
    }
    let outputs = Outputs::new(dir.path(), Existing::Replace);
    outputs.write("link", b"new").unwrap();
    outputs.commit().unwrap();
    assert_eq!(fs::read(at("link")).unwrap(), b"new");
    assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
}

#[test]
fn a_name_is_given_once() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    outputs.write("a", b"1").unwrap();
    assert!(outputs.create("a").is_err());
}

#[test]
fn more_files_than_may_be_open_are_whole_too() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    let name = |i: usize| format!("{i:04}");
    let staged = (0..2 * MAX_OPEN).map(|i| outputs.create(&name(i)).unwrap());
    let mut staged: Vec<Staged> = staged.collect();
    for piece in [b"ab", b"cd"] {
        staged.iter_mut().for_each(|file| file.write_all(piece).unwrap());
        assert!(outputs.open.load(Ordering::Relaxed) <= MAX_OPEN);
    }
    staged.into_iter().for_each(|file| file.finish().unwrap());
    for path in outputs.commit().unwrap() {
        assert_eq!(fs::read(path).unwrap(), b"abcd");
    }
}

#[cfg(unix)]
#[test]
fn files_have_the_rights_that_new_files_get() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let rights = |path| fs::metadata(path).unwrap().permissions().mode();
    fs::write(dir.path().join("usual"), b"").unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    outputs.write("ours", b"").unwrap();
    outputs.commit().unwrap();
    assert_eq!(rights(dir.path().join("ours")), rights(dir.path().join("usual")));
}

#[test]
fn abandoned_outputs_are_gone_whether_they_were_done_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("a/b"), Existing::Refuse);
    outputs.write("done", b"1").unwrap();
    let mut begun = outputs.create("begun").unwrap();
    begun.write_all(b"2").unwrap();
    drop(outputs.abandon());
    assert_eq!(files(dir.path()), [""; 0]);
}

#[test]
fn what_was_written_can_be_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    let mut staged = outputs.create("a").unwrap();
    staged.write_all(b"0123456789").unwrap();
    staged.close(); // as where too many are open
    staged.seek(SeekFrom::Start(2)).unwrap();
    staged.write_all(b"xy").unwrap();
    staged.close();
    staged.write_all(b"z").unwrap();
    staged.finish().unwrap();
    outputs.commit().unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"01xyz56789");
}
