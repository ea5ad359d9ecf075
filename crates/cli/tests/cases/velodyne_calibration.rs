//! Calibration files that list a laser twice or contradict the packets.

use crate::{
    program::{Folder, Run},
    samples::sample,
};

/// The points of a sample with a calibration file, as CSV.
fn convert(capture: &str, calibration: &str) -> Option<Run> {
    let (capture, calibration) = sample(capture).zip(sample(calibration))?;
    let folder = Folder::new();
    let args = ["convert", &capture, "-t", "points", "-o", "points.csv"];
    Some(folder.run(&[&args[..], &["--calibration", &calibration]].concat()))
}

const VLP16: &str = "velodyne/vlp16_rustlidarutils_example_old.pcap";
const VLP32C: &str = "cases/velodyne/real_vlp32c_fov290_70_scans.pcap";
const VLS128: &str = "cases/velodyne/vls128_12packets.pcap";

#[test]
fn laser_listed_twice_in_a_real_file_is_reported() {
    let file = "velodyne/calib_vls128_lidarview.xml";
    let Some(run) = convert(VLS128, file) else { return };
    let expected = "laser 68 is listed more than once: the last entry is used";
    assert!(run.stderr.contains(expected), "{run:?}");
}

#[test]
fn last_of_two_entries_of_a_laser_is_used() {
    let Some(capture) = sample(VLP16) else { return };
    let folder = Folder::new();
    let laser = |id: u32, up: &str| {
        format!("- {{laser_id: {id}, rot_correction: 0.0, vert_correction: {up}}}\n")
    };
    let up = [-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15];
    let degrees = |up: i32| f64::from(up).to_radians().to_string();
    let right: String = (0..).zip(up).map(|(id, up)| laser(id, &degrees(up))).collect();
    let points = |name: &str, lasers: &str| {
        let text = format!("lasers:\n{lasers}num_lasers: 16\n");
        folder.write(name, text.as_bytes());
        let out = format!("{name}.csv");
        let run = folder.run(&[
            "convert",
            &capture,
            "-t",
            "points",
            "-o",
            &out,
            "--calibration",
            name,
        ]);
        assert_eq!(run.status, 0, "{run:?}");
        (run, folder.read(&out))
    };
    let (run, once) = points("once.yaml", &right);
    assert!(!run.stderr.contains("listed"), "{run:?}");
    let first_is_wrong = laser(3, "0.5") + &right;
    let (run, twice) = points("twice.yaml", &first_is_wrong);
    assert!(run.stderr.contains("laser 3 is listed more than once"), "{run:?}");
    assert_eq!(once, twice);
    let two_are_wrong = laser(3, "0.5") + &laser(4, "0.5") + &right;
    let (run, twice) = points("two.yaml", &two_are_wrong);
    assert!(run.stderr.contains("lasers 3-4 are listed more than once"), "{run:?}");
    assert_eq!(once, twice);
}

#[test]
fn calibration_with_a_wrong_number_of_lasers_is_rejected() {
    for (capture, calibration, expected) in [
        (VLP16, "cases/velodyne/ros_VLS128.yaml", "has 128 lasers"),
        (VLS128, "velodyne/calib_vlp16_nebula.yaml", "has 16 lasers"),
        (VLP16, "velodyne/calib_hdl64e_S3735.xml", "has 64 lasers"),
        ("velodyne/hdl64e_atwallshort.pcap", "velodyne/calib_vlp16_nebula.yaml", "16"),
    ] {
        let Some(run) = convert(capture, calibration) else { return };
        assert_eq!(run.status, 1, "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
}

#[test]
fn calibration_with_the_angles_of_another_model_is_rejected() {
    for (capture, calibration, model) in [
        (VLP32C, "velodyne/calib_hdl32e_veloview_HDL-32.xml", "HDL-32E"),
        (VLP16, "velodyne/calib_vlp16hires_lidarview.xml", "VLP-16 Hi-Res"),
        (
            "velodyne/hdl32e_rustlidarutils_example.pcap",
            "velodyne/calib_vlp32c_nebula.yaml",
            "VLP-32C",
        ),
    ] {
        let Some(run) = convert(capture, calibration) else { return };
        assert_eq!(run.status, 1, "{run:?}");
        let expected = format!("the angles of a {model}");
        assert!(run.stderr.contains(&expected), "{run:?}");
    }
}

#[test]
fn distance_resolution_of_another_model_is_replaced() {
    let Some(path) = sample("velodyne/calib_vlp32c_lidarview.xml") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let capture = sample(VLP32C).unwrap();
    let folder = Folder::new();
    for (centimetres, meters) in [("0.2", "0.002"), ("0.5", "0.005"), ("4", "0.04")] {
        let step = format!("<distLSB_>{centimetres}</distLSB_>");
        let text = text.replace("<distLSB_>0.4</distLSB_>", &step);
        folder.write("step.xml", text.as_bytes());
        let args = ["convert", &capture, "-t", "points", "-o", "points.csv", "--force"];
        let run = folder.run(&[&args[..], &["--calibration", "step.xml"]].concat());
        assert_eq!(run.status, 0, "{run:?}");
        let expected = format!(
            "declares a distance resolution of {meters} m; that of a VLP-32C is 0.004 m"
        );
        assert!(run.stderr.contains(&expected), "{run:?}");
    }
}
