use std::io::{Seek as _, SeekFrom};

use super::*;

fn file_names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_get_their_names_together_at_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("b", b"2").unwrap();
    let mut a = outputs.create("a").unwrap();
    a.write_all(b"1").unwrap();
    assert!(file_names(dir.path()).iter().all(|name| name.starts_with(".logtool-")));
    a.finish().unwrap();
    let paths = outputs.commit().unwrap();
    assert_eq!(paths, [dir.path().join("a"), dir.path().join("b")]);
    assert_eq!(file_names(dir.path()), ["a", "b"]);
    assert_eq!(fs::read(&paths[0]).unwrap(), b"1");
}

#[test]
fn without_commit_no_file_and_no_directory_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("x/y"), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    drop(outputs.create("b").unwrap());
    let temporary_names = file_names(&dir.path().join("x"));
    assert!(
        temporary_names.len() == 1 && temporary_names[0].ends_with(".part"),
        "{temporary_names:?}"
    );
    drop(outputs);
    assert_eq!(file_names(dir.path()), [""; 0]);
}

#[test]
fn existing_directory_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("x")).unwrap();
    let outputs = Outputs::new(dir.path().join("x/y"), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    drop(outputs);
    assert_eq!(file_names(dir.path()), ["x"]);
}

#[test]
fn unfinished_file_prevents_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    let b = outputs.create("b").unwrap();
    assert!(outputs.commit().is_err());
    drop(b);
    assert!(outputs.commit().is_err());
    drop(outputs);
    assert_eq!(file_names(dir.path()), [""; 0]);
}

#[test]
fn existing_file_is_reported_when_its_output_is_created() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), b"old").unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let error = outputs.create("a").unwrap_err();
    let destination = dir.path().join("a");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(error.message(), format!("{} exists already", destination.display()));
    assert_eq!(fs::read(destination).unwrap(), b"old");
}

#[test]
fn file_created_by_others_before_the_commit_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    outputs.write("b", b"2").unwrap();
    fs::write(dir.path().join("b"), b"other").unwrap();
    assert!(outputs.commit().is_err());
    drop(outputs);
    assert_eq!(file_names(dir.path()), ["b"]);
    assert_eq!(fs::read(dir.path().join("b")).unwrap(), b"other");
}

#[cfg(unix)]
#[test]
fn error_names_the_output_and_no_temporary_file() {
    use std::{error::Error as _, os::unix::fs::PermissionsExt as _};
    let dir = tempfile::tempdir().unwrap();
    let locked = dir.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    // The administrator may write there, but no user may create files in /proc.
    let is_locked = File::create(locked.join("x")).is_err();
    let locked = if is_locked { locked } else { PathBuf::from("/proc") };
    for outputs in [
        Outputs::new(&locked, ExistingFiles::Refuse),
        Outputs::new(locked.join("new"), ExistingFiles::Refuse),
        Outputs::for_file(locked.join("a.csv"), ExistingFiles::Refuse),
    ] {
        let error = outputs.create("a.csv").unwrap_err();
        let path = error.message().strip_prefix("cannot create ").unwrap();
        assert!(Path::new(path).starts_with(&locked), "{path}");
        let text = format!("{error} {}", error.source().unwrap());
        assert!(!text.contains(".part"), "{text}");
    }
}

#[test]
fn files_are_replaced_on_request_but_directories_never() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), b"old").unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Replace);
    outputs.write("a", b"new").unwrap();
    assert!(outputs.create("d").unwrap_err().to_string().contains("is a folder"));
    outputs.commit().unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn links_to_files_are_replaced_but_sockets_and_links_to_devices_are_not() {
    use std::os::unix::{fs::FileTypeExt as _, fs::symlink, net::UnixListener};
    let dir = tempfile::tempdir().unwrap();
    let path_of = |name: &str| dir.path().join(name);
    let _socket = UnixListener::bind(path_of("socket")).unwrap();
    symlink("/dev/null", path_of("device")).unwrap();
    fs::write(path_of("target"), b"old").unwrap();
    symlink(path_of("target"), path_of("link")).unwrap();
    for existing in [ExistingFiles::Refuse, ExistingFiles::Replace] {
        let outputs = Outputs::new(dir.path(), existing);
        for name in ["socket", "device"] {
            let error = outputs.create(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            let message = error.message();
            let reason = format!("{name} is a device, a pipe or a socket");
            assert!(message.contains(&reason), "{message}");
        }
    }
    let outputs = Outputs::new(dir.path(), ExistingFiles::Replace);
    outputs.write("late", b"new").unwrap();
    let _late = UnixListener::bind(path_of("late")).unwrap();
    assert!(outputs.commit().is_err());
    for name in ["socket", "late"] {
        assert!(fs::symlink_metadata(path_of(name)).unwrap().file_type().is_socket());
    }
    let outputs = Outputs::new(dir.path(), ExistingFiles::Replace);
    outputs.write("link", b"new").unwrap();
    outputs.commit().unwrap();
    assert_eq!(fs::read(path_of("link")).unwrap(), b"new");
    assert_eq!(fs::read(path_of("target")).unwrap(), b"old");
    assert!(fs::symlink_metadata(path_of("link")).unwrap().is_file());
}

#[test]
fn each_name_can_be_used_once() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    assert!(outputs.create("a").is_err());
}

#[test]
fn more_files_than_may_be_open_are_complete() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let name = |index: usize| format!("{index:04}");
    let limit = outputs.max_open_files;
    let staged_files =
        (0..2 * limit).map(|index| outputs.create(&name(index)).unwrap());
    let mut staged_files: Vec<StagedFile> = staged_files.collect();
    assert!(
        outputs.open_files.load(Ordering::Relaxed) <= limit,
        "also before anything is written"
    );
    for bytes in [b"ab", b"cd"] {
        staged_files.iter_mut().for_each(|file| file.write_all(bytes).unwrap());
        assert!(outputs.open_files.load(Ordering::Relaxed) <= limit);
    }
    staged_files.into_iter().for_each(|file| file.finish().unwrap());
    for path in outputs.commit().unwrap() {
        assert_eq!(fs::read(path).unwrap(), b"abcd");
    }
}

#[cfg(unix)]
#[test]
fn files_have_the_default_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    fs::write(dir.path().join("usual"), b"").unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("ours", b"").unwrap();
    outputs.commit().unwrap();
    assert_eq!(mode(dir.path().join("ours")), mode(dir.path().join("usual")));
}

#[test]
fn abandoned_outputs_are_removed_finished_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("a/b"), ExistingFiles::Refuse);
    outputs.write("done", b"1").unwrap();
    let mut unfinished = outputs.create("begun").unwrap();
    unfinished.write_all(b"2").unwrap();
    drop(outputs.abandon());
    assert_eq!(file_names(dir.path()), [""; 0]);
}

#[test]
fn written_bytes_can_be_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let mut file = outputs.create("a").unwrap();
    file.write_all(b"0123456789").unwrap();
    file.close().unwrap(); // as if too many files were open
    file.seek(SeekFrom::Start(2)).unwrap();
    file.write_all(b"xy").unwrap();
    file.close().unwrap();
    file.write_all(b"z").unwrap();
    file.finish().unwrap();
    outputs.commit().unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"01xyz56789");
}

#[test]
fn new_directory_appears_complete() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("new/tables");
    let outputs = Outputs::new(&target, ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    outputs.write("camera/b", b"2").unwrap();
    assert!(!target.exists());
    let paths = outputs.commit().unwrap();
    assert_eq!(paths, [target.join("a"), target.join("camera/b")]);
    drop(outputs);
    assert_eq!(file_names(&dir.path().join("new")), ["tables"]);
    assert_eq!(file_names(&target), ["a", "camera"]);
    assert_eq!(fs::read(target.join("camera/b")).unwrap(), b"2");
}

#[test]
fn directory_created_by_others_before_the_commit_keeps_its_contents() {
    for (existing, is_refused) in
        [(ExistingFiles::Refuse, true), (ExistingFiles::Replace, false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("tables");
        let outputs = Outputs::new(&target, existing);
        outputs.write("a", b"new").unwrap();
        outputs.write("b", b"new").unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a"), b"old").unwrap();
        fs::write(target.join("other"), b"old").unwrap();
        assert_eq!(outputs.commit().is_err(), is_refused);
        drop(outputs);
        assert_eq!(file_names(dir.path()), ["tables"]);
        let expected: &[&str] =
            if is_refused { &["a", "other"] } else { &["a", "b", "other"] };
        assert_eq!(file_names(&target), expected);
    }
}

#[test]
fn last_file_is_named_after_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write_last("a.json", b"{}").unwrap();
    outputs.write("b", b"1").unwrap();
    fs::create_dir(dir.path().join("b")).unwrap(); // so that it cannot be renamed
    assert!(outputs.commit().is_err());
    assert!(!dir.path().join("a.json").exists());
}

#[test]
fn single_file_has_its_own_name() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::for_file(dir.path().join("x.csv"), ExistingFiles::Refuse);
    outputs.write("imu.csv", b"1").unwrap();
    assert!(outputs.create("gps.csv").is_err());
    assert_eq!(outputs.commit().unwrap(), [dir.path().join("x.csv")]);
    assert_eq!(file_names(dir.path()), ["x.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_supported() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(std::ffi::OsStr::from_bytes(b"a\xff.csv"));
    let outputs = Outputs::for_synced_file(&path, ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    outputs.commit().unwrap();
    assert_eq!(fs::read(path).unwrap(), b"1");
}

#[cfg(unix)]
#[test]
fn replacing_file_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o600, 0o640, 0o755] {
        let path = dir.path().join("a");
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let outputs = Outputs::new(dir.path(), ExistingFiles::Replace);
        outputs.write("a", b"new").unwrap();
        outputs.commit().unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, mode);
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn leftovers_of_killed_runs_are_removed_and_files_of_running_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (_file, own_file) = temporary::create_file_in(dir.path()).unwrap();
    let name = own_file.file_name().unwrap().to_str().unwrap().to_owned();
    let machine = name.split('-').nth(1).unwrap();
    let temporary_path = |process: u32, machine: &str| {
        dir.path().join(format!(".logtool-{machine}-{process}-abc.part"))
    };
    // No process has the number 2^30: the limit of the kernel is 2^22.
    let ended = temporary_path(1 << 30, machine);
    let ended_dir =
        dir.path().join(format!(".logtool-{machine}-{}-d.part", (1 << 30) + 1));
    let running = temporary_path(std::os::unix::process::parent_id(), machine);
    let other_machine = temporary_path(1 << 30, "00000001");
    let old_other_machine = temporary_path(1 << 29, "00000001");
    let unrelated = dir.path().join("data.part");
    for path in [&ended, &running, &other_machine, &old_other_machine, &unrelated] {
        fs::write(path, b"x").unwrap();
    }
    fs::create_dir(&ended_dir).unwrap();
    fs::write(ended_dir.join("a.csv"), b"x").unwrap();
    let two_days =
        std::time::SystemTime::now() - std::time::Duration::from_secs(172_800);
    File::options()
        .write(true)
        .open(&old_other_machine)
        .unwrap()
        .set_modified(two_days)
        .unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    outputs.write("a", b"1").unwrap();
    assert!(!ended.exists() && !ended_dir.exists() && !old_other_machine.exists());
    assert!(
        own_file.exists()
            && running.exists()
            && other_machine.exists()
            && unrelated.exists()
    );
}
