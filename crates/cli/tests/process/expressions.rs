//! Derived series in plots, tables and printed records. `conformance/series.py` compares their
//! values with those of other programs; the facts here are those of testdata/README.md.

use crate::{program::Folder, samples::testdata};

/// The values of the last column of a CSV file.
fn last_column(csv: &str) -> Vec<f64> {
    let cells = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap());
    cells.map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
}

#[test]
fn expressions_are_lines_with_their_text_and_unit() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    let expressions = [
        "deg(yaw(vehicle_attitude.q))",
        "derivative(vehicle_local_position.vx)",
        "battery_status.1.voltage_v*battery_status.1.current_a",
        "battery_status*.voltage_v",
        "deg(euler(vehicle_attitude.q))",
    ];
    let args = [&["plot", &flight, "-o", "x.svg"][..], &expressions].concat();
    // Three lines, two batteries, and the three angles.
    folder.run(&args).assert_status(0, &["8 lines of"]);
    let svg = folder.read("x.svg");
    for text in [
        "deg(yaw(vehicle_attitude.q))",
        "\n°\n",
        "m/s²",
        "\nW\n",
        "\nbattery_status.voltage_v\n",
        "deg(euler(vehicle_attitude.q)).pitch",
    ] {
        assert!(svg.contains(text), "no {text:?}");
    }
    let drive = testdata("rover.bag");
    let norm = "norm(/imu/data.angular_velocity) / 2";
    let png = ["plot", &drive, norm, "-o", "x.png", "--start", "2", "--end", "4"];
    // Two seconds at 25 Hz.
    folder.run(&png).assert_status(0, &["1 line of 50 values"]);
}

#[test]
fn error_points_to_the_character_and_nothing_is_written() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    for (expression, status, carets, hint) in [
        (
            "deg(yaw(vehicle_attitde.q))",
            1,
            "  | deg(yaw(vehicle_attitde.q))\n  |         ^^^^^^^^^^^^^^^^^\n",
            "did you mean `vehicle_attitude`",
        ),
        (
            "deg(yaw(vehicle_attitude.w))",
            1,
            "  |         ^^^^^^^^^^^^^^^^^^\n",
            "vehicle_attitude has no numeric field `w`",
        ),
        ("derivativ(esc_status.x)", 2, "  | ^^^^^^^^^\n", "did you mean `derivative`?"),
        ("deg(yaw(vehicle_attitude.q)", 2, "  |    ^\n", "not closed"),
        (
            "low_pass2(battery_status.1.voltage_v, 1)",
            2,
            "  | ^^^^^^^^^\n",
            "not below half the rate",
        ),
        ("battery_status*.voltage_v + 1", 2, "  |                ^\n", "found `.`"),
    ] {
        let run = folder.run(&["plot", &flight, expression, "-o", "x.svg"]);
        assert!(run.status == status, "{expression}: {run:?}");
        assert!(run.stderr.contains(carets) && run.stderr.contains(hint), "{run:?}");
        let derive = format!("x={expression}");
        for command in [&["convert", &flight, "-o", "x"][..], &["cat", &flight]] {
            let args = [command, &["--derive", &derive]].concat();
            let run = folder.run(&args);
            assert!(run.status == status && run.stderr.contains(carets), "{run:?}");
        }
    }
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn derived_series_are_separate_tables() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    let derive = ["--derive", "armed=vehicle_status.arming_state == 2"];
    let only = ["-t", "armed", "-o", "armed.csv", "-q"];
    folder.run(&[&["convert", &flight][..], &derive, &only].concat()).assert_success();
    let csv = folder.read("armed.csv");
    assert!(csv.starts_with("timestamp,value\n"), "{csv}");
    // Twice per second for 30 s; the vehicle is armed from 2.5 s to 28 s.
    let armed = last_column(&csv);
    assert_eq!(armed.len(), 60);
    let count = armed.iter().filter(|value| **value == 1.0).count();
    assert!((50..=52).contains(&count), "{count}");

    let heights = ["--derive", "height=-vehicle_local_position.z"];
    let tables = ["-t", "vehicle_status", "-o", "all", "--start", "10", "--end", "20"];
    let args = [&["convert", &flight][..], &heights, &tables].concat();
    folder.run(&args).assert_status(0, &["2 tables"]);
    let csv = folder.read("all/quad_flight_height_0.csv");
    // At 5 Hz, on a circle at a height of 10 m; the gap removes at most one row.
    let heights = last_column(&csv);
    assert!((49..=50).contains(&heights.len()), "{}", heights.len());
    assert!(heights.iter().all(|height| (height - 10.0).abs() < 0.5), "{heights:?}");

    let stdout =
        ["convert", &flight, "-o", "-", "--derive", "x=time(battery_status.1.id)"];
    let run = folder.run(&[&stdout[..], &["-t", "x", "--clock", "relative"]].concat());
    // The names of the columns, and 29 rows: the second battery starts 2 s later.
    assert_eq!(run.stdout.lines().count(), 30, "{run:?}");
    assert!(run.stdout.lines().nth(1).unwrap().ends_with(",0.0"), "{run:?}");
    let args = ["convert", &flight, "-o", "y.csv", "--derive", "x=-esc_status.counter"];
    folder.run(&args).assert_status(2, &["tables, and y.csv is one file"]);
}

#[test]
fn printed_series_are_sorted_among_records() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    let series = ["--derive", "v=battery_status.1.voltage_v * 2", "--json"];
    let cat = |more: &[&str]| {
        let run = folder.run(&[&["cat", &flight][..], &series, more].concat());
        assert_eq!(run.status, 0, "{run:?}");
        let lines = run.stdout.lines().map(|line| {
            let start = line.split("\"data\"").next().unwrap();
            (start.to_owned(), start.contains("\"topic\":\"v\""))
        });
        lines.collect::<Vec<(String, bool)>>()
    };
    // 29 records; the series has the same times.
    let lines = cat(&["-t", "battery_status.1"]);
    assert_eq!(lines.len(), 58);
    assert!(lines[..29].iter().all(|(_, is_series)| !is_series));
    let lines = cat(&["-t", "battery_status.1", "--order", "time"]);
    let is_series: Vec<bool> = lines.iter().map(|(_, is_series)| *is_series).collect();
    assert_eq!(is_series, [false, true].repeat(29));
    assert_eq!(cat(&["-t", "v", "-n", "5"]).len(), 5);
    let all = cat(&["--order", "time"]);
    let time = |line: &str| -> u64 {
        line["{\"timestamp\":".len()..].split(',').next().unwrap().parse().unwrap()
    };
    let times: Vec<u64> = all.iter().map(|(line, _)| time(line)).collect();
    assert!(times.is_sorted() && times.len() > 1000);
    assert_eq!(all.iter().filter(|(_, is_series)| *is_series).count(), 29);
}

#[test]
fn unsuitable_names_and_formats_of_series_are_rejected() {
    let (folder, flight) = (Folder::new(), testdata("quad_flight.ulg"));
    let run = |derive: &str, more: &[&str]| {
        folder.run(&[&["convert", &flight, "--derive", derive][..], more].concat())
    };
    run("x", &[]).assert_status(2, &["is not a name and an expression"]);
    run("vehicle_status=time(esc_status.counter)", &[])
        .assert_status(2, &["there is a topic `vehicle_status` already"]);
    let x = "x=time(esc_status.counter)";
    run(x, &["-o", "x.mcap"]).assert_status(2, &["--derive is for tables of topics"]);
    run(x, &["--merge", "asof", "--rate", "5"])
        .assert_status(2, &["--derive is for tables of topics"]);
    run(x, &["-t", "y"]).assert_status(1, &["no topic `y`"]);
    let batch = ["batch", &flight, "-o", "d", "--derive", x];
    folder.run(&batch).assert_status(2, &["no derived tables"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn damaged_log_has_series_of_its_readable_records() {
    let (folder, log) = (Folder::new(), testdata("damaged/lost_sector.ulg"));
    let args = ["convert", &log, "-t", "x", "-o", "x.csv"];
    let args = [&args[..], &["--derive", "x=-vehicle_attitude.q[0]"]].concat();
    let run = folder.run(&args);
    assert_eq!(run.status, 3, "{run:?}");
    // 50 Hz for 30 s, without the records in the gap and in the destroyed sector.
    let rows = folder.read("x.csv").lines().count() - 1;
    assert!((1400..1494).contains(&rows), "{rows}");
}
