//! The logs of `testdata/`. Its README describes their contents.

use std::path::PathBuf;

use serde_json::json;

use crate::program::Folder;

fn testdata(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    root.join(name).into_os_string().into_string().unwrap()
}

#[test]
fn utc_times_are_those_of_the_gps() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    // Boot was at 10:00:00 UTC, and the GPS reports the time 90 to 110 ms late.
    let args =
        ["cat", &flight, "--clock", "utc", "--start", "2024-06-01T10:00:12Z", "-n1"];
    let line = &folder.run(&args).assert_success().json_lines()[0];
    let time = line["timestamp"].as_str().unwrap();
    let soon = "2024-06-01T10:00:12.000000Z".."2024-06-01T10:00:12.020";
    assert!(soon.contains(&time), "{time}");
    let report = folder.run(&["info", "--json", &flight]).assert_success().json_lines();
    let offset = report[0]["clock"]["to_unix"]["offset_ns"].as_i64().unwrap();
    let boot = 1_717_236_000_000_000_000; // date -u -d 2024-06-01T10:00:00Z +%s
    let late = boot - offset;
    assert!((90_000_000..=110_000_000).contains(&late), "{late} ns late");
}

#[test]
fn values_have_labels_from_a_message_folder() {
    let (folder, pasta) = (Folder::new(), testdata("pasta.ulg"));
    let args =
        ["cat", &pasta, "--msg-dir", &testdata("msg"), "--topic", "kitchen_status"];
    let lines = folder.run(&args).assert_success().json_lines();
    let named = |menu: u8| {
        let line =
            lines.iter().find(|line| line["data"]["pasta_menu"] == menu).unwrap();
        line["data"]["pasta_menu_label"].clone()
    };
    assert_eq!(named(1), "PASTA_MENU_CARBONARA");
    assert_eq!(named(7), json!(null), "a value without a label");
    let args = ["convert", &pasta, "-o", "out", "-q", "--msg-dir", &testdata("msg")];
    folder.run(&args).assert_success();
    let csv = folder.read("out/pasta_kitchen_status_0.csv");
    let head = "timestamp,water_temperature,pasta_menu,pasta_menu_label,stove_level,lid_closed";
    assert_eq!(csv.lines().next(), Some(head));
    assert!(csv.contains(",1,PASTA_MENU_CARBONARA,") && csv.contains(",7,,"), "{csv}");
}

#[test]
fn records_around_a_zeroed_sector_are_converted() {
    let folder = Folder::new();
    let args = ["convert", &testdata("damaged/lost_sector.ulg"), "-o", "out"];
    folder
        .run(&args)
        .assert_status(3, &["lost_sector.ulg: damaged:", "no record can be read"]);
    // 512 of 98,073 bytes are zero: about 12 rows at 50 Hz, because records of other topics
    // are between them.
    let rows =
        folder.read("out/lost_sector_vehicle_attitude_0.csv").lines().count() - 1;
    assert!((1_480..1_494).contains(&rows), "{rows}");
}

#[test]
fn commands_have_the_expected_status_on_unusual_logs() {
    let folder = Folder::new();
    for name in [
        "damaged/crashed.ulg",
        "damaged/lost_sector.ulg",
        "hostile_types.ulg",
        "pasta.ulg",
    ] {
        let (log, out) = (testdata(name), format!("{name}.tables/"));
        let expected =
            if matches!(name, "damaged/crashed.ulg" | "damaged/lost_sector.ulg") {
                3
            } else {
                0
            };
        for args in [
            &["info", &log][..],
            &["cat", &log],
            &["cat", &log, "--format", "text"],
            &["messages", &log],
            &["params", &log],
            &["convert", &log, "-o", &out, "--force"],
            &["convert", &log, "-o", &out, "--force", "--format", "jsonl"],
            &["convert", &log, "-o", &out, "--force", "--format", "parquet"],
            &["convert", &log, "-o", &out, "--force", "--format", "arrow"],
            &["convert", &log, "-o", &out, "--force", "--merge", "asof", "--rate", "5"],
        ] {
            let run = folder.run(args);
            assert_eq!(run.status, expected, "{args:?}: {run:?}");
        }
    }
}

#[test]
fn px4_layout_has_the_metadata_of_flight_review() {
    let folder = Folder::new();
    let args = ["--format", "parquet", "--layout", "px4", "-o", "px4", "-q"];
    folder
        .run(&[&["convert", &testdata("quad_flight.ulg")], &args[..]].concat())
        .assert_success();
    let json =
        |name| serde_json::from_str::<serde_json::Value>(&folder.read(name)).unwrap();
    let metadata = json("px4/metadata.json");
    assert_eq!(metadata["ver_sw_release"], 0x010e_04ff);
    assert_eq!(
        (&metadata["dropout_count"], &metadata["dropout_total_ms"]),
        (&json!(1), &json!(120))
    );
    assert_eq!(metadata["logged_messages"].as_array().unwrap().len(), 7);
    assert_eq!(metadata["tagged_logged_messages"].as_array().unwrap().len(), 2);
    let change = json!({"name": "MPC_XY_CRUISE", "value": 7.0, "in_flight": true});
    assert_eq!(metadata["changed_parameters"], json!([change]));
    assert!(metadata["gps_first_fix"]["lat_deg"].as_f64().unwrap() > 1.0, "{metadata}");
    let topics = &json("px4/manifest.json")["topics"];
    assert_eq!(topics["battery_status_1"], "battery_status_1.parquet");
}
