//! Logs of lidars: their description, and the senders of their packets.

use std::fs;

use crate::{
    program::Folder,
    samples::{sample, testdata},
};

#[test]
fn info_describes_the_layout_and_the_lidar_of_a_vel_log() {
    // MANIFEST.tsv: size field = 21 + data, 0xFFFFFFFF, a packet for each message.
    let Some(log) = sample("velodyne/sample_real_s1_size21.vel") else { return };
    let info = Folder::new().run(&["info", &log]).assert_success().stdout;
    for words in [
        "the size of a message includes 21 bytes of header",
        "verified, 1 entry",
        "at the mark 0xffffffff",
        "points: HDL-64E S1, strongest return, 306 packets",
        "\n              because three upper blocks for each lower one",
        "(messages of gps",
    ] {
        assert!(info.contains(words), "no {words:?} in {info}");
    }
}

#[test]
fn info_describes_the_senders_and_the_clock_of_a_capture() {
    // MANIFEST.tsv: 293 data and 57 position packets, with GPS.
    let Some(log) = sample("velodyne/vlp16_mrpt_gps_sample.pcap") else { return };
    let info = Folder::new().run(&["info", &log]).assert_success().stdout;
    for words in
        ["container   pcap", "VLP-16, strongest return, 293 packets from ", "locked"]
    {
        assert!(info.contains(words), "no {words:?} in {info}");
    }
}

#[test]
fn calibration_of_another_lidar_is_rejected_by_info_and_convert() {
    let Some(other) = sample("velodyne/calib_vlp16_nebula.yaml") else { return };
    let (folder, car) = (Folder::new(), testdata("car.vel"));
    for args in [&["info"][..], &["convert", "-o", "points", "--topic", "points"]] {
        let args = [args, &["--calibration", &other, &car]].concat();
        folder
            .run(&args)
            .assert_status(1, &["the calibration has 16 lasers", "the lidar has 64"]);
    }
}

#[test]
fn contradicting_clocks_are_noted_and_can_be_chosen() {
    // GPS reports 13:11:07 when the time in the packets is one second before the full hour.
    let Some(log) = sample("velodyne/sample_sim_s2.vel") else { return };
    let folder = Folder::new();
    for (clock, hint) in
        [("log", "can have those of the lidar"), ("lidar", "can have those of the log")]
    {
        let args = [
            "cat",
            &log,
            "-t",
            "points",
            "-n",
            "1",
            "--clock",
            "utc",
            "--lidar-clock",
            clock,
        ];
        folder.run(&args).assert_status(0, &["668.", hint]);
    }
}

#[test]
fn check_finds_lost_packets_and_contradicting_models() {
    let folder = Folder::new();
    if let Some(capture) = sample("velodyne/sim_hdl64e_s2.pcap") {
        let sound = folder.run(&["check", &capture]).assert_success().stdout;
        assert!(!sound.contains("lidar.packets.lost"), "{sound}");
        // A header of 24 bytes, then frames of 16 + 42 + 1206, a packet every 288 us.
        let mut bytes = fs::read(capture).unwrap();
        bytes.drain(24 + 100 * 1_264..24 + 104 * 1_264);
        folder.write("lost.pcap", &bytes);
        let stdout = folder.run(&["check", "lost.pcap"]).assert_success().stdout;
        let text = "about 4 packets are missing, in 1 gap of up to 0.001440 s";
        assert!(stdout.contains("lidar.packets.lost"), "{stdout}");
        assert!(stdout.contains(text), "{stdout}");
        // Half a second of a calibration that takes 1.2 s.
        bytes.truncate(24 + 1_700 * 1_264);
        folder.write("short.pcap", &bytes);
        let stdout = folder.run(&["check", "short.pcap"]).assert_success().stdout;
        assert!(stdout.contains("lidar.calibration.incomplete"), "{stdout}");
        let origin = "are those of another lidar (built in, HDL-64E";
        assert!(stdout.contains(origin), "{stdout}");
    }
    // MANIFEST.tsv: early firmware that reports the identity of an HDL-32E.
    if let Some(capture) = sample("velodyne/vlp16_veloview_test-90deg-1-50-frames.pcap")
    {
        let stdout = folder.run(&["check", &capture]).assert_success().stdout;
        assert!(stdout.contains("lidar.model.conflict"), "{stdout}");
    }
    // A bag of the packets of an HDL-64E S1, which does not send its calibration.
    if let Some(bag) = sample("velodyne/hdl64e_s1_atwall.bag") {
        let stdout = folder.run(&["check", &bag]).assert_success().stdout;
        assert!(stdout.contains("lidar.calibration.other"), "{stdout}");
    }
}

/// Returns the frames of `capture` with another address. After the file header of 24 bytes,
/// each frame has a header of 16 bytes, then Ethernet, then IPv4 with the address of the sender
/// from byte 12 on.
fn from_another(capture: &[u8]) -> Vec<u8> {
    let (mut frames, mut at) = (Vec::new(), 24);
    while let Some(frame) = capture.get(at..at + 16) {
        let end =
            at + 16 + u32::from_le_bytes(frame[8..12].try_into().unwrap()) as usize;
        let mut frame = capture[at..end].to_vec();
        if frame[16 + 12..16 + 14] == [8, 0] {
            frame[16 + 14 + 15] ^= 1;
            frames.extend(frame);
        }
        at = end;
    }
    frames
}

#[test]
fn lidars_are_selected_by_instance() {
    let folder = Folder::new();
    let puck = fs::read(testdata("puck.pcap")).unwrap();
    folder.write("two.pcap", &[&puck[..], &from_another(&puck)].concat());
    let all = ["convert", "two.pcap", "-o", "x.vel", "-t", "velodyne_packets"];
    folder.run(&all).assert_status(1, &["velodyne_packets.0, velodyne_packets.1"]);
    for (number, out) in [("0", "0.vel"), ("1", "1.vel")] {
        let topic = format!("velodyne_packets.{number}");
        folder
            .run(&["convert", "-q", "two.pcap", "-o", out, "-t", &topic])
            .assert_success();
        let (points, out) = (format!("points.{number}"), format!("{number}.yaml"));
        let calibration = ["calibration", "-q", "two.pcap", "-o", &out, "-t", &points];
        folder.run(&calibration).assert_success();
        let topics = ["convert", "two.pcap", "-q", "-t", &points, "--format", "pcd"];
        let args = [&topics[..], &["-o", number, "--calibration", &out]].concat();
        folder.run(&args).assert_success();
        assert_eq!(folder.list(number).len(), 1);
    }
    let args_of_both =
        ["convert", "two.pcap", "-o", "both", "-t", "points", "--format", "pcd"];
    let args = [&args_of_both[..], &["--calibration", "0.yaml"]].concat();
    folder
        .run(&args)
        .assert_status(0, &["is used for 2 lidars; points.0 is the topic of one"]);
}

#[test]
fn calibration_of_one_of_several_lidars_is_rejected_with_its_topic() {
    let (folder, puck) = (Folder::new(), testdata("puck.pcap"));
    folder
        .run(&["convert", &testdata("car.vel"), "-q", "-o", "car.pcap"])
        .assert_status(0, &[]);
    let car = fs::read(folder.path().join("car.pcap")).unwrap();
    folder.write("next.pcap", &[&car[..24], &from_another(&car)].concat());
    folder
        .run(&["merge", &puck, "next.pcap", "-q", "-o", "both.pcap"])
        .assert_status(0, &[]);
    folder.run(&["calibration", &puck, "-q", "-o", "puck.yaml"]).assert_success();
    let options = ["--calibration", "puck.yaml"];
    for args in [
        &["convert", "both.pcap", "-o", "x", "--format", "pcd"][..],
        &["convert", "both.pcap", "-o", "x.bag"],
        &["cat", "both.pcap", "-t", "points"],
    ] {
        let expected = [
            "points.0: ",
            "the calibration has 16 lasers",
            "--topic points.1 selects that one",
        ];
        folder.run(&[args, &options].concat()).assert_status(1, &expected);
    }
    let one = ["convert", "both.pcap", "-o", "x", "--format", "pcd", "-t", "points.1"];
    folder.run(&[&one[..], &options].concat()).assert_status(0, &[]);
}

#[test]
fn part_too_short_for_the_transmitted_calibration_is_reported() {
    // The transmission of a calibration takes 4160 packets of 288 us: 1.2 s.
    let Some(log) = sample("velodyne/sample_sim_s2.vel") else { return };
    let folder = Folder::new();
    let lost = "too short for the calibration that the lidar sends";
    for (command, out) in [("convert", "x.pcap"), ("filter", "x.vel")] {
        let run = |to: &str| {
            let args =
                [command, &log, "-f", "-o", out, "--start", "boot:1.5", "--end", to];
            folder.run(&args).assert_status(0, &[])
        };
        assert!(run("boot:2.0").stderr.contains(lost), "{command}");
    }
    let all = folder.run(&["convert", &log, "-o", "all.pcap"]).assert_status(0, &[]);
    assert!(!all.stderr.contains(lost));
}

#[test]
fn calibration_in_windows_encodings_is_read_and_a_decimal_comma_is_an_error() {
    let (folder, puck) = (Folder::new(), testdata("puck.pcap"));
    folder.run(&["calibration", "-q", &puck, "-o", "plain.xml"]).assert_success();
    let plain = folder.read("plain.xml");
    let marked = [&[0xef, 0xbb, 0xbf], plain.as_bytes()].concat();
    let words = std::iter::once(0xfeff).chain(plain.encode_utf16());
    let words: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    folder
        .run(&["calibration", "-q", "plain.xml", "-o", "plain.yaml"])
        .assert_success();
    let same = |text: String| text.split_once('\n').unwrap().1.to_owned();
    for (name, bytes) in [("marked", marked), ("words", words)] {
        let (xml, yaml) = (format!("{name}.xml"), format!("{name}.yaml"));
        folder.write(&xml, &bytes);
        folder.run(&["calibration", "-q", &xml, "-o", &yaml]).assert_success();
        assert_eq!(same(folder.read(&yaml)), same(folder.read("plain.yaml")));
    }
    let comma = plain.replacen("<vertCorrection_>-15<", "<vertCorrection_>-15,0<", 1);
    assert_ne!(comma, plain);
    folder.write("comma.xml", comma.as_bytes());
    let convert = ["convert", &puck, "--format", "csv", "-o", "x", "--calibration"];
    for args in [&["calibration", "-o", "c.yaml"][..], &convert] {
        let expected = "laser 0: `vertCorrection_` in line";
        folder
            .run(&[args, &["comma.xml"]].concat())
            .assert_status(1, &[expected, "\"-15,0\""]);
    }
}

#[test]
fn stale_scan_files_are_reported() {
    let (folder, car) = (Folder::new(), testdata("car.vel"));
    let convert = ["convert", &car, "-o", "s", "--format", "pcd"];
    folder.run(&convert).assert_status(0, &[]);
    let first = folder.list("s/points");
    let second_run = folder.run(&[&convert[..], &["-f", "--cut", "180"]].concat());
    let all = folder.list("s/points");
    let listed = folder.read("s/points/index.csv");
    let left =
        all.iter().filter(|file| file.ends_with("pcd") && !listed.contains(*file));
    let left = left.count();
    assert!(left > 0 && all.len() > first.len());
    second_run
        .assert_status(0, &[&format!("{left} files of an earlier run still there")]);
}

#[test]
fn calibration_of_one_of_several_lidars_is_used_for_that_lidar() {
    let names = [
        "vlp16_mrpt_gps_sample.pcap",
        "hdl32e_rustlidarutils_example.pcap",
        "calib_vlp16_nebula.yaml",
    ];
    let [Some(puck), Some(hdl), Some(calibration)] =
        names.map(|name| sample(&format!("velodyne/{name}")))
    else {
        return;
    };
    let folder = Folder::new();
    folder.run(&["merge", &puck, &hdl, "-q", "-o", "two.pcap"]).assert_status(0, &[]);
    let run =
        |args: &[&str]| folder.run(&[args, &["--calibration", &calibration]].concat());
    run(&["report", "two.pcap", "-q", "-o", "two.html"]).assert_status(0, &[]);
    let page = folder.read("two.html");
    let mismatch = "points: not shown: the calibration has 16 lasers";
    assert!(page.contains(mismatch) && page.contains("points.1: 10."));
    // The first is the HDL-32E.
    run(&["plot", "two.pcap", "points.1.x", "-o", "x.svg"])
        .assert_status(0, &["1 line of"]);
    let first = run(&["plot", "two.pcap", "points.0.x", "-o", "y.svg"]);
    first.assert_status(1, &["the lidar has 32"]);
    // A calibration that suits none of them is rejected.
    run(&["report", &hdl, "-o", "one.html"]).assert_status(1, &["the lidar has 32"]);
}
