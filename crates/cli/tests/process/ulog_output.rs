//! ULogs of the tables of other logs. Values are compared with pyulog in `conformance/`.

use crate::{program::Folder, samples::testdata};

#[test]
fn tables_of_a_bag_become_topics_of_a_ulog() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    folder.run(&["convert", &bag, "-o", "rover.ulg"]).assert_status(
        0,
        &[
            "491 records",
            "left out: /tf transforms: a list of values that are no numbers",
            "left out: /camera/image_raw data: binary data",
            "timestamps count from 2024-06-01T10:00:00.000000Z",
        ],
    );
    let info =
        folder.run(&["info", "--json", "rover.ulg"]).assert_success().json_lines();
    assert_eq!(info[0]["start_utc"], "2024-06-01T10:00:00.002345Z");
    let rows = |log: &str, topic: &str| {
        let run = folder.run(&["cat", log, "--topic", topic, "--clock", "utc"]);
        run.assert_success().json_lines()
    };
    let (old, new) = (rows(&bag, "/imu/data"), rows("rover.ulg", "imu_data"));
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new) {
        let (old, new) = (&old["data"], &new["data"]);
        assert_eq!(old["angular_velocity"]["z"], new["angular_velocity_z"]);
        assert_eq!(old["header"]["frame_id"], new["header_frame_id"]);
        assert_eq!(old["orientation_covariance"], new["orientation_covariance"]);
    }
}

#[test]
fn points_are_written_if_they_are_named_and_ulogs_are_copied() {
    let folder = Folder::new();
    let puck = testdata("puck.pcap");
    let run = folder.run(&["convert", &puck, "-o", "points.ulg", "--topic", "points"]);
    run.assert_status(0, &["14,616 records"]);

    let flight = testdata("quad_flight.ulg");
    folder.run(&["convert", &flight, "-o", "copy.ulg", "-q"]).assert_success();
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    assert_eq!(read(&folder.path().join("copy.ulg")), read(flight.as_ref()));
}

#[test]
fn batch_refuses_ulogs_of_other_logs() {
    let folder = Folder::new();
    let bag = testdata("rover.bag");
    let run = folder.run(&["batch", &bag, "-o", "data", "--format", "ulog"]);
    run.assert_status(1, &["cannot be copied to a ULog", "logtool convert"]);
}
