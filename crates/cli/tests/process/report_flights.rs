//! Reports of flights of PX4: diagnoses, marks, flags and the texts of the logger.

use crate::{
    bytes::message,
    flight::jammed_flight,
    program::Folder,
    samples::{sample, testdata},
};

/// Returns the report of the log `log`, which is written as `flight.ulg`.
fn page_of(log: &[u8]) -> String {
    let folder = Folder::with_log(log);
    folder
        .run(&["report", "flight.ulg", "-o", "x.html"])
        .assert_status(0, &["elements"]);
    folder.read("x.html")
}

#[test]
fn report_starts_with_diagnoses_that_link_to_their_plots() {
    let page = page_of(&jammed_flight());
    let (_, summary) = page.split_once("<h2>Summary</h2>").unwrap();
    let (summary, _) = summary.split_once("</section>").unwrap();
    for shown in [
        "<tr class=\"warning\"><td>critical</td><td>00:00:40.000 for 40.0 s</td>",
        "<td>GPS interference: GPS reception was bad: reported jamming",
        "vehicle_gps_position.jamming_state 3 (limit 2)",
        "<dt>armed</dt><dd>1 min 50.0 s</dd>",
        "AUTO_MISSION 2 min 0.0 s",
    ] {
        assert!(summary.contains(shown), "{shown}: {summary}");
    }
    // The log has the errors of the receiver, but not its noise.
    let link = "data-start=\"40\" data-end=\"80\">GPS uncertainty</a>";
    assert!(summary.contains(link), "{summary}");
    assert!(!summary.contains("GPS noise and jamming"));
}

#[test]
fn sound_flight_says_that_there_are_no_diagnoses_and_a_bag_nothing() {
    let folder = Folder::new();
    for (log, has_analysis) in [("quad_flight.ulg", true), ("rover.bag", false)] {
        folder
            .run(&["report", &testdata(log), "-f", "-o", "x.html"])
            .assert_status(0, &[]);
        let page = folder.read("x.html");
        assert_eq!(page.contains("No diagnoses."), has_analysis);
        assert_eq!(page.contains("Of 27 kinds of faults: 0 found, "), has_analysis);
        let missing = "not examined without actuator_outputs: motor failure";
        assert_eq!(page.contains(missing), has_analysis);
        assert_eq!(page.contains("<dl class=\"facts\">"), has_analysis, "{log}");
    }
}

#[test]
fn log_that_cannot_be_analysed_is_not_called_sound() {
    let nothing = "the log has no topics of PX4 that are analysed";
    let page = page_of(&crate::bytes::log());
    assert!(page.contains(nothing) && !page.contains("No diagnoses"));
    // A ULog of nothing but its header lasts for no time.
    let page = page_of(b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0");
    assert!(page.contains("<dt>log</dt><dd>0 s</dd>"), "{page}");
    assert!(page.contains(nothing) && !page.contains("No diagnoses"));
}

#[test]
fn sections_are_in_the_order_in_which_they_are_needed() {
    let Some(log) = sample("ulog/pyulog_sample_log_small.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "x.html"]).assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    let titles = page.split("<h2>").skip(1);
    let titles: Vec<&str> =
        titles.map(|rest| rest.split("</h2>").next().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "Summary",
            "Track",
            "Plots",
            "Spectra",
            "Messages",
            "Parameters",
            "Console",
            "Performance counters",
            "Processes",
            "Devices",
            "Topics"
        ]
    );
    // Filters are marked in spectra.
    assert!(page.contains("[40,\"IMU_GYRO_CUTOFF\"]"));
}

#[test]
fn changes_of_parameters_are_marks_in_all_plots_over_time() {
    let folder = Folder::new();
    let log = testdata("quad_flight.ulg");
    folder.run(&["report", &log, "-o", "x.html"]).assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    // The parameter changes 19.000080 s after boot, as `params --history` shows, and 14.0001 s after
    // the start.
    let mark =
        "[14.0001,14.0001,\"138,43,226\",\"parameter change\",\"MPC_XY_CRUISE 7.0\"]";
    assert_eq!(page.matches(mark).count(), 1);
    assert!(page.contains("<td>MPC_XY_CRUISE</td><td>5.0</td><td>7.0</td>"));
}

/// A log of one topic of flags, with dropouts and the texts of the logger.
fn flags() -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    let fields = "failsafe_flags:uint64_t timestamp;bool attitude_invalid;\
                  bool mission_failure;uint8_t battery_warning;";
    log.extend(message(b'F', fields.as_bytes()));
    for (continued, line) in [(0, "PID COMMAND"), (1, "  0 Idle <task>")] {
        let key = format!("char[{}] perf_top_preflight", line.len());
        let keyed = [&[continued, key.len() as u8], key.as_bytes(), line.as_bytes()];
        log.extend(message(b'M', &keyed.concat()));
    }
    log.extend(message(b'A', b"\0\0\0failsafe_flags"));
    for second in 1..=60_u64 {
        let time = (second * 1_000_000).to_le_bytes();
        let is_set = u8::from((20..30).contains(&second));
        log.extend(message(b'D', &[&[0, 0], &time[..], &[0, is_set, 2]].concat()));
        if second == 41 {
            log.extend(message(b'O', &500_u16.to_le_bytes()));
        }
    }
    log
}

#[test]
fn flags_that_were_set_and_dropouts_are_shown() {
    let page = page_of(&flags());
    assert!(page.contains("\"kind\":\"flags\",\"title\":\"Failsafe flags\""));
    assert!(page.contains("\"name\":\"mission_failure\""));
    // Never set, and not a flag.
    assert!(!page.contains("\"name\":\"attitude_invalid\""));
    assert!(!page.contains("\"name\":\"battery_warning\""));
    assert!(page.contains("[40,40.5,\"208,16,16\",\"dropout\",\"\"]"), "{page}");
    let processes = "<pre class=\"columns\">PID COMMAND\n  0 Idle &lt;task&gt;\n</pre>";
    assert!(page.contains(processes));
}

#[test]
fn flags_that_were_never_set_are_counted() {
    let page = page_of(&jammed_flight());
    assert!(!page.contains("Failsafe flags"));
    let log = flags();
    let (mut unset, mut rest) = (log.clone(), 16);
    // The flag is the byte after the time and the first flag of each row.
    while let Some(header) = log.get(rest..rest + 3) {
        let len = usize::from(u16::from_le_bytes([header[0], header[1]]));
        if header[2] == b'D' {
            unset[rest + 3 + 2 + 8 + 1] = 0;
        }
        rest += 3 + len;
    }
    assert!(page_of(&unset).contains("Failsafe flags: none of 2 flags was ever set"));
}

/// A flight of 60 s of a VTOL vehicle, with the thrust, the vibration, and the FIFO of the gyroscope.
fn vtol_flight() -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    let topics = [
        "vehicle_status:uint64_t timestamp;uint8_t vehicle_type;bool is_vtol;\
         bool in_transition_mode;",
        "vehicle_thrust_setpoint:uint64_t timestamp;float[3] xyz;",
        "vehicle_global_position:uint64_t timestamp;float alt;",
        "vehicle_imu_status:uint64_t timestamp;float accel_vibration_metric;",
        "sensor_gyro_fifo:uint64_t timestamp;uint64_t timestamp_sample;float dt;float scale;\
         int16_t[32] x;int16_t[32] y;int16_t[32] z;uint8_t samples;",
    ];
    for (topic, id) in topics.into_iter().zip(0_u8..) {
        log.extend(message(b'F', topic.as_bytes()));
        let name = topic.split(':').next().unwrap();
        log.extend(message(b'A', &[&[0, id, 0], name.as_bytes()].concat()));
    }
    for second in 1..=60_u64 {
        let time = (second * 1_000_000).to_le_bytes();
        let mut data = |id: u8, values: &[u8]| {
            log.extend(message(b'D', &[&[id, 0], &time[..], values].concat()));
        };
        let floats = |values: &[f32]| -> Vec<u8> {
            values.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
        // A multicopter until 20 s, a fixed-wing vehicle from 25 s on.
        let (own, is_changing) = match second {
            1..=20 => (1, 0),
            21..=25 => (1, 1),
            _ => (2, 0),
        };
        data(0, &[own, 1, is_changing]);
        data(1, &floats(&[0.3, 0.0, -0.4]));
        data(2, &floats(&[488.0]));
        data(3, &floats(&[6.0]));
        // Four samples at intervals of 250 ms, the last one at the time of the record: 1, 2, 3 and 4
        // steps of half a radian per second.
        let steps: Vec<u8> = (1..=32_i16).flat_map(i16::to_le_bytes).collect();
        let zeros = [0; 128];
        let fifo = [&time[..], &floats(&[250_000.0, 0.5]), &steps, &zeros, &[4]];
        data(4, &fifo.concat());
    }
    log
}

#[test]
fn states_of_a_vtol_vehicle_are_along_the_lower_edge() {
    let page = page_of(&vtol_flight());
    let states = "\"states\":[[0,20,\"0,114,178\",\"VTOL: multicopter\"],\
                  [20,25,\"213,94,0\",\"VTOL: transition\"],\
                  [25,59,\"0,158,115\",\"VTOL: fixed-wing\"]]";
    assert!(page.contains(states), "{page}");
    let folder = Folder::with_log(&vtol_flight());
    let plot =
        ["plot", "flight.ulg", "vehicle_global_position.alt", "-q", "-o", "x.svg"];
    folder.run(&plot).assert_success();
    assert!(folder.read("x.svg").contains("\nVTOL: transition\n"));
    folder.run(&[&plot[..], &["--no-modes", "-f"]].concat()).assert_success();
    assert!(!folder.read("x.svg").contains("VTOL"));
    // Other vehicles have none.
    assert!(page_of(&jammed_flight()).contains("\"states\":[]"));
}

#[test]
fn altitude_has_the_thrust_on_a_second_axis_and_vibration_has_levels() {
    let page = page_of(&vtol_flight());
    let altitude = plot_of(&page, "Altitude");
    let right = "\"right\":{\"unit\":\"thrust (%)\",\"limits\":[0,100],\"first\":1}";
    assert!(altitude.contains(right), "{altitude}");
    // The length of the vector (0.3, 0, -0.4).
    assert!(altitude.contains("\"name\":\"thrust\"") && altitude.contains(",50,50"));
    let vibration = plot_of(&page, "Vibration");
    // Half and all of the standard gravity, as in Flight Review.
    let levels = "\"levels\":[[null,4.905,\"0,128,0\",\"low\"],\
                  [4.905,9.81,\"255,165,0\",\"high\"],\
                  [9.81,null,\"255,0,0\",\"too high\"]]";
    assert!(vibration.contains(levels), "{vibration}");
}

#[test]
fn samples_of_a_fifo_have_a_plot() {
    let page = page_of(&vtol_flight());
    let plot = plot_of(&page, "Raw angular speed, all samples");
    assert!(plot.contains("\"unit\":\"°/s\""), "{plot}");
    // 0.5, 1, 1.5 and 2 rad/s in degrees. Samples before the start of the log are left out.
    assert!(plot.contains("\"x\":[0,0.25,0.5,0.75,1,1.25"), "{plot}");
    let values = "\"y\":[114.5916,28.64789,57.29578,85.94367,114.5916,28.64789";
    assert!(plot.contains(values), "{plot}");
}

/// Returns the JSON of the plot of this title.
fn plot_of<'p>(page: &'p str, title: &str) -> &'p str {
    let start = page.find(&format!("\"title\":\"{title}\"")).unwrap();
    let plot = &page[start..];
    plot.split("\n{\"kind\"").next().unwrap()
}
