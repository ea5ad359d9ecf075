//! Pipes, sockets, devices and links in the place of outputs, and of inputs beside the log. Nothing
//! waits for them. `record_vehicle` has the tests of recordings.

use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt as _, symlink},
        net::UnixListener,
    },
    path::Path,
    process::Command,
};

use crate::{
    program::{Folder, Run},
    samples::testdata,
};

/// Runs the program, which is killed with status 124 if it waits.
fn run(folder: &Folder, args: &[&str]) -> Run {
    let mut command = Command::new("timeout");
    command.args(["30", env!("CARGO_BIN_EXE_logtool")]).args(args);
    let output = command.current_dir(folder.path()).output().unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn make_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A folder with inputs: a photo, splits, and links to the logs of `testdata`.
fn folder() -> Folder {
    let folder = Folder::new();
    for log in ["rover.bag", "quad_flight.ulg", "puck.pcap"] {
        symlink(testdata(log), folder.path().join(log)).unwrap();
    }
    let splits = run(&folder, &["plan", "rover.bag", "--topic", "/gps/fix", "--json"]);
    let first = splits.stdout.lines().next().unwrap();
    folder.write("splits.jsonl", first.as_bytes());
    folder
}

/// Commands with an output, whose name is the last argument.
const OUTPUTS: [&str; 19] = [
    "convert rover.bag -o out/new.mcap",
    "convert quad_flight.ulg -t vehicle_attitude -o out/attitude.csv",
    "convert quad_flight.ulg -t vehicle_attitude -o out/attitude.parquet",
    "convert quad_flight.ulg -t vehicle_attitude -o out/attitude.jsonl",
    "convert quad_flight.ulg -o out/track.kml",
    "convert quad_flight.ulg -t vehicle_attitude -o out/arrays.npz",
    "convert puck.pcap -o out/points.las",
    "convert puck.pcap -o out/points.vel",
    "filter rover.bag -o out/new.bag",
    "filter quad_flight.ulg -o out/new.ulg",
    "merge rover.bag rover.bag -o out/new.bag",
    "repair rover.bag -o out/new.bag",
    "plot quad_flight.ulg battery_status.voltage_v -o out/plot.svg",
    "report quad_flight.ulg -o out/report.html",
    "replay-log quad_flight.ulg -o out/replay.ulg",
    "calibration puck.pcap -o out/db.xml",
    "read --split splits.jsonl -o out/rows.arrow",
    "index rover.bag -o out/catalog.parquet",
    "index rover.bag -o out/catalog.jsonl",
];

#[test]
fn special_files_are_not_replaced_by_outputs() {
    let folder = folder();
    for line in OUTPUTS {
        let mut args: Vec<&str> = line.split(' ').collect();
        let out = *args.last().unwrap();
        let path = folder.path().join(out);
        args.push("--force");
        make_pipe(&path);
        let run_in = || run(&folder, &args);
        let assert_refused = |run: Run| {
            assert_eq!(run.status, 1, "{line}: {run:?}");
            assert!(run.stderr.contains(out), "{line}: {run:?}");
        };
        assert_refused(run_in());
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo(), "{line}");
        let link = folder.path().join("out/pipe");
        fs::rename(&path, &link).unwrap();
        symlink("pipe", &path).unwrap();
        assert_refused(run_in());
        fs::remove_file(&path).unwrap();
        let socket = UnixListener::bind(&path).unwrap();
        assert_refused(run_in());
        drop(socket);
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn links_are_replaced_by_outputs_and_not_followed() {
    let folder = folder();
    for line in OUTPUTS {
        let mut args: Vec<&str> = line.split(' ').collect();
        let out = *args.last().unwrap();
        args.push("--force");
        let path = folder.path().join(out);
        let target = folder.write("out/target.txt", b"text");
        symlink("chain", &path).unwrap();
        symlink("target.txt", folder.path().join("out/chain")).unwrap();
        let run_in = || {
            let run = run(&folder, &args);
            assert_eq!(run.status, 0, "{line}: {run:?}");
            assert!(path.symlink_metadata().unwrap().is_file(), "{line}");
        };
        run_in();
        assert_eq!(fs::read(target).unwrap(), b"text", "{line}");
        fs::remove_file(&path).unwrap();
        symlink("missing", &path).unwrap();
        run_in();
        assert!(!folder.path().join("out/missing").exists(), "{line}");
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn special_files_beside_the_log_are_not_waited_for() {
    let folder = folder();
    make_pipe(&folder.path().join("pipe"));
    make_pipe(&folder.path().join("photos/pipe.jpg"));
    make_pipe(&folder.path().join("msg/pipe.msg"));
    make_pipe(&folder.path().join("logs/pipe.ulg"));
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    symlink("/dev/zero", folder.path().join("device")).unwrap();
    fs::copy(testdata("encrypted/pasta.ulgc"), folder.path().join("pasta.ulgc"))
        .unwrap();
    make_pipe(&folder.path().join("pasta.ulgk"));
    let key = testdata("encrypted/private_key.pem");
    let fixed = [
        "geotag photos -o tagged --log quad_flight.ulg".to_owned(),
        "geotag photos/pipe.jpg -o tagged --log quad_flight.ulg".to_owned(),
        "convert quad_flight.ulg -o tables --msg-dir msg".to_owned(),
        format!("info pasta.ulgc --key-file {key}"),
        "batch pipe -o dataset".to_owned(),
        "index socket -o new.jsonl".to_owned(),
        "index logs -o new.jsonl".to_owned(),
        "info logs".to_owned(),
        "check logs".to_owned(),
    ];
    let named = ["pipe", "socket", "device"].into_iter().flat_map(|name| {
        [
            format!("convert puck.pcap -o points.las --calibration {name}"),
            format!("info quad_flight.ulg --key-file {name}"),
            format!("merge rover.bag rover.bag -o both.bag --align {name}"),
            format!("read --split {name} -o rows.arrow"),
            format!("batch @{name} -o dataset"),
            format!("geotag {name} -o tagged --log quad_flight.ulg"),
        ]
    });
    for line in named.chain(fixed) {
        let args: Vec<&str> = line.split(' ').collect();
        let run = run(&folder, &args);
        assert!([1, 3].contains(&run.status), "{line}: {run:?}");
        let kinds = ["it is a pipe", "it is a socket", "it is a device"];
        assert!(kinds.iter().any(|kind| run.stderr.contains(kind)), "{line}: {run:?}");
    }
}

#[test]
fn input_that_is_open_already_may_be_a_pipe() {
    let folder = folder();
    let split = fs::read(folder.path().join("splits.jsonl")).unwrap();
    for name in ["-", "/dev/stdin", "/dev/fd/0"] {
        let args = ["read", "--split", name, "-o", "rows.jsonl", "--force"];
        folder.run_with(&args, &split).assert_status(0, &[]);
        assert!(!folder.read("rows.jsonl").is_empty());
    }
    let key = fs::read(testdata("encrypted/private_key.pem")).unwrap();
    let log = testdata("encrypted/pasta.ulge");
    let args = ["info", &log, "--key-file", "/dev/stdin"];
    folder.run_with(&args, &key).assert_status(0, &[]);
}

#[test]
fn files_of_a_dataset_are_not_links() {
    let folder = folder();
    let args = ["batch", "rover.bag", "-o", "dataset", "-q"];
    run(&folder, &args).assert_status(0, &[]);
    let state = folder.path().join("dataset/_logtool");
    for name in ["journal.jsonl", "lock"] {
        let (path, target) = (state.join(name), folder.path().join("target.txt"));
        fs::rename(&path, &target).unwrap();
        let text = fs::read(&target).unwrap();
        symlink(&target, &path).unwrap();
        run(&folder, &args).assert_status(1, &["it is a link, and not a regular file"]);
        assert_eq!(fs::read(&target).unwrap(), text);
        fs::remove_file(&path).unwrap();
        make_pipe(&path);
        run(&folder, &args).assert_status(1, &["it is a pipe, and not a regular file"]);
        fs::remove_file(&path).unwrap();
        fs::rename(&target, &path).unwrap();
    }
    run(&folder, &args).assert_status(0, &[]);
}
