//! Reports of flights of PX4: diagnoses, marks, flags and the texts of the logger.

use crate::{
    bytes::message,
    flight::jammed_flight,
    program::Folder,
    samples::{sample, testdata},
};

/// Returns the report of the log `log`, which is written as `flight.ulg`.
fn page_of(log: &[u8]) -> String {
    let folder = Folder::with(log);
    folder.run(&["report", "flight.ulg", "-o", "x.html"]).ended(0, &["elements"]);
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
        folder.run(&["report", &testdata(log), "-f", "-o", "x.html"]).ended(0, &[]);
        let page = folder.read("x.html");
        assert_eq!(page.contains("No diagnoses: none of 23 kinds"), has_analysis);
        assert_eq!(page.contains("<dl class=\"facts\">"), has_analysis, "{log}");
    }
}

#[test]
fn sections_are_in_the_order_in_which_they_are_needed() {
    let Some(log) = sample("ulog/pyulog_sample_log_small.ulg") else { return };
    let folder = Folder::new();
    folder.run(&["report", &log, "-o", "x.html"]).ended(0, &["elements"]);
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
    folder.run(&["report", &log, "-o", "x.html"]).ended(0, &["elements"]);
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
