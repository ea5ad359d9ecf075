//! Captures in rare containers and compressions, and messages of ROS with packets.

use crate::{program::Folder, samples::sample};

/// Returns the number of data packets and the time of the first and the last one, in nanoseconds.
fn packets(file: &str) -> (usize, i64, i64) {
    let folder = Folder::new();
    let args = ["convert", file, "-t", "velodyne_packets", "-o", "packets.csv"];
    let run = folder.run(&args);
    assert_eq!(run.status, 0, "{run:?}");
    let csv = folder.read("packets.csv");
    let time = |line: &str| line.split(',').next().unwrap().parse::<i64>().unwrap();
    let times: Vec<i64> = csv.lines().skip(1).map(time).collect();
    (times.len(), times[0], *times.last().unwrap())
}

#[test]
fn nanoseconds_under_the_magic_of_microseconds_are_read() {
    let Some(file) = sample("cases/velodyne/us_magic_ns_fraction.pcap") else { return };
    // As in the frames: 1,700,000,000 s, and the fractions as nanoseconds.
    let (count, first, last) = packets(&file);
    assert_eq!(count, 24);
    let start = 1_700_000_000_000_000_000;
    assert!((start + 100_000_000..start + 102_000_000).contains(&first), "{first}");
    assert!((start + 130_000_000..start + 132_000_000).contains(&last), "{last}");
    let info = Folder::new().run(&["info", &file]);
    assert!(info.stdout.contains("they are read as nanoseconds"), "{info:?}");
}

#[test]
fn modified_pcap_is_read_in_big_endian() {
    let Some(file) = sample("cases/velodyne/p_kuznetzov_be.pcap.gz") else { return };
    assert_eq!(packets(&file).0, 24);
}

#[test]
fn capture_in_bzip2_is_read() {
    let Some(file) = sample("cases/velodyne/z.pcap.bz2") else { return };
    assert_eq!(packets(&file).0, 24);
}

#[test]
fn snoop_capture_is_named_with_the_way_to_read_it() {
    let Some(file) = sample("cases/velodyne/t_F_snoop.cap") else { return };
    let info = Folder::new().run(&["info", &file]);
    assert_eq!(info.status, 1, "{info:?}");
    let hint = "it looks like a snoop capture: `editcap -F pcapng` makes it readable";
    assert!(info.stderr.contains(hint), "{info:?}");
}

/// The head turns evenly, so that the azimuth of a point determines its time.
#[test]
fn lost_packet_next_to_a_blanked_sector_does_not_shift_times() {
    let name = "cases/velodyne/hdl32e_fov45_315_one_packet_lost.pcap";
    let Some(file) = sample(name) else { return };
    let folder = Folder::new();
    let info = folder.run(&["info", &file]);
    assert!(info.stdout.contains("field of view 45 to 315 deg"), "{info:?}");
    let run = folder.run(&["convert", &file, "-t", "points", "-o", "points.csv"]);
    assert_eq!(run.status, 0, "{run:?}");
    let csv = folder.read("points.csv");
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name| names.iter().position(|other| *other == name).unwrap();
    let (time, azimuth) = (column("time"), column("azimuth"));
    const ROTATION_NANOS: f64 = 1e8;
    let delays: Vec<f64> = lines
        .map(|line| {
            let values: Vec<&str> = line.split(',').collect();
            let nanos = values[time].parse::<i64>().unwrap() % 100_000_000;
            let turned = values[azimuth].parse::<f64>().unwrap() / 360.0;
            (nanos as f64 - turned * ROTATION_NANOS).rem_euclid(ROTATION_NANOS)
        })
        .collect();
    assert!(delays.len() > 500, "{}", delays.len());
    for delay in &delays {
        let difference = (delay - delays[0]).abs();
        let difference = difference.min(ROTATION_NANOS - difference);
        assert!(difference < 1e6, "{difference} ns");
    }
}

#[test]
fn messages_with_packets_are_recognized_by_their_fields() {
    let Some(file) = sample("cases/rosbag/apollo_scan_unified.bag") else { return };
    let folder = Folder::new();
    let run = folder.run(&["convert", &file, "-t", "*points*", "-o", "points.csv"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(folder.read("points.csv").lines().count(), 1 + 9_216);
    let run = folder.run(&["convert", &file, "-o", "packets.pcap"]);
    assert_eq!(run.status, 0, "{run:?}");
    let copy = folder.path().join("packets.pcap");
    assert_eq!(packets(copy.to_str().unwrap()).0, 24);
    let run = folder.run(&["convert", &file, "-o", "copy.mcap", "--ros2"]);
    assert_eq!(run.status, 0, "{run:?}");
    let run = folder.run(&["convert", "copy.mcap", "-t", "*points*", "-o", "copy.csv"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(folder.read("copy.csv").lines().count(), 1 + 9_216);
}
