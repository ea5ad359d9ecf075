//! The contents of reports. The conformance suite opens them in browsers.

use crate::{program::Folder, samples::testdata};

#[test]
fn report_of_each_format_has_its_sections() {
    let folder = Folder::new();
    for (log, titles) in [
        (
            "quad_flight.ulg",
            &["Summary", "Track", "Plots", "Messages", "Parameters", "Topics"][..],
        ),
        ("rover.bag", &["Summary", "Track", "Scans", "Images", "Plots", "Topics"]),
        ("car.vel", &["Summary", "Scans", "Images", "Plots", "Topics"]),
        ("puck.pcap", &["Summary", "Scans", "Topics"]),
    ] {
        let out = format!("{log}.html");
        folder
            .run(&["report", &testdata(log), "-o", &out])
            .assert_status(0, &["elements"]);
        let page = folder.read(&out);
        for title in titles {
            assert!(page.contains(&format!("<h2>{title}</h2>")), "{log}: {title}");
        }
        // The page loads nothing from other files or servers.
        assert!(page.contains("default-src 'none'"));
        for loads in ["src=\"http", "href=\"http", "@import", "url("] {
            assert!(!page.contains(loads), "{log}: {loads}");
        }
    }
    let page = folder.read("quad_flight.ulg.html");
    assert!(
        page.contains("Low battery level! Return advised") && page.contains("BAT1_")
    );
}

#[test]
fn report_of_a_time_range_has_plots_of_that_range() {
    let (folder, log) = (Folder::new(), testdata("quad_flight.ulg"));
    let part = ["report", &log, "-o", "part.html", "--start", "2", "--end", "4"];
    folder.run(&part).assert_status(0, &["elements"]);
    let page = folder.read("part.html");
    assert!(page.contains("\"range\":[2,4]"));
    assert!(page.contains("only from 00:00:02.000 to 00:00:04.000"));
    assert!(page.contains("<h2>Summary of the whole log</h2>"));
    let late = ["report", &log, "-o", "late.html", "--start", "1h"];
    folder
        .run(&late)
        .assert_status(0, &["no records match the selected topics and time range"]);
    assert_eq!(folder.list("."), ["part.html"]);
}

#[test]
fn report_of_a_time_range_has_its_scans_and_images() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let page = |from: &str, to: &str| {
        let args = ["report", &bag, "-f", "-o", "x.html", "--start", from, "--end", to];
        folder.run(&args).assert_status(0, &["elements"]);
        let page = folder.read("x.html");
        let titles = ["Scans", "Images"].map(|of| format!("<h2>{of}</h2>"));
        let shown = titles.each_ref().map(|title| page.contains(title));
        let image = page.split_once(&titles[1]).map(|(_, rest)| rest.to_owned());
        let image = image.and_then(|rest| {
            Some(
                rest.split_once("data:image/png;base64,")?
                    .1
                    .split_once('"')?
                    .0
                    .to_owned(),
            )
        });
        (shown, image)
    };
    // A cloud every half second, and an image every second from 0.0023 s on.
    let (first, third) = (page("0", "0.9"), page("1.9", "2.9"));
    assert_eq!((first.0, third.0), ([true; 2], [true; 2]));
    assert!(first.1.is_some() && first.1 != third.1, "the same image");
    assert_eq!(page("0.1", "0.4").0, [true, false]);
}

#[test]
fn plots_of_a_bag_have_utc_times_on_request() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let utc = ["report", &bag, "-o", "utc.html", "--clock", "utc"];
    folder.run(&utc).assert_status(0, &["elements"]);
    let page = folder.read("utc.html");
    // Days since 1970: the result of `date -u -d 2024-06-01 +%s`, divided by 86,400 s.
    assert!(
        page.contains("\"time\":\"UTC, 2024-06-01") && page.contains("\"day\":19875")
    );
}

/// Returns the ULog `log` with its last record of `topic` repeated, this number of microseconds
/// after boot.
pub(crate) fn with_stray(log: &[u8], topic: &[u8], micros: u64) -> Vec<u8> {
    let (mut rest, mut id, mut last) = (&log[16..], None, None);
    while rest.len() > 3 {
        let len = 3 + usize::from(u16::from_le_bytes([rest[0], rest[1]]));
        let message = &rest[..len];
        match rest[2] {
            b'A' if &message[6..] == topic => id = Some([message[4], message[5]]),
            b'D' if id == Some([message[3], message[4]]) => last = Some(message),
            _ => {}
        }
        rest = &rest[len..];
    }
    let mut stray = last.unwrap().to_vec();
    stray[5..13].copy_from_slice(&micros.to_le_bytes());
    [log, &stray].concat()
}

#[test]
fn outlying_times_are_counted_and_not_plotted() {
    let folder = Folder::new();
    let log = std::fs::read(testdata("quad_flight.ulg")).unwrap();
    let years = 1_000_000_000_000_000;
    folder.write("stray.ulg", &with_stray(&log, b"vehicle_attitude", years));
    folder
        .run(&["report", "stray.ulg", "-o", "x.html"])
        .assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    // The angles of one record.
    assert!(page.contains("not shown: 3 values at times far from those of the log"));
    assert!(page.contains("\"range\":[0.0202,30.0001]"));
    let args = ["plot", "stray.ulg", "vehicle_attitude.q[0]", "-o", "x.svg"];
    // The outlier is counted once, as a value that is not shown.
    let run = folder.run(&args).assert_status(0, &["not shown: 1 value at times far"]);
    assert!(!run.stderr.contains("left out"), "{run:?}");
    // The outlier is not a gap between two records either.
    folder.write("sound.ulg", &log);
    let frequencies = |log: &str| {
        let info = folder.run(&["info", "--freq", "--json", log]).json_lines();
        let topics = info[0]["topics"].as_array().unwrap().iter();
        topics.map(|topic| topic["frequency"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(frequencies("stray.ulg"), frequencies("sound.ulg"));
}

/// A bag called `name` in `folder`, of ten seconds from 2024-06-01 10:00 on, with one of 251
/// messages of `/imu/data` shifted by this number of seconds.
fn bag_with_stray(folder: &Folder, name: &str, offset: &str) {
    let bag = testdata("rover.bag");
    let one = ["filter", &bag, "-t", "/imu/data", "--end", "0.015", "-o", "one.bag"];
    folder.run(&[&one[..], &["-f"]].concat()).assert_status(0, &["1 record"]);
    let offset = format!("--offset=1={offset}");
    folder.run(&["merge", "one.bag", &bag, &offset, "-o", name]).assert_status(0, &[]);
}

#[test]
fn times_at_1970_or_in_the_future_are_reported_and_not_plotted() {
    let folder = Folder::new();
    for (offset, at, axis) in [
        ("-1717235990", "1970-01-01T00:00:10.00", "2024-06-01T10:00:00.000000Z (s)"),
        ("400000000", "2037-02-03T01:06:40", "the start (s)"),
    ] {
        bag_with_stray(&folder, "stray.bag", offset);
        folder
            .run(&["report", "stray.bag", "-o", "x.html"])
            .assert_status(0, &["elements"]);
        let page = folder.read("x.html");
        // Three axes of angular velocity, and three of acceleration.
        let expected =
            format!("not shown: 6 values at times far from those of the log, as {at}");
        assert!(page.contains(&expected), "{offset}");
        let (_, range) = page.split_once("\"range\":[").unwrap();
        let ends: Vec<f64> =
            range.split([',', ']']).take(2).map(|end| end.parse().unwrap()).collect();
        assert!(ends[0] < 0.1 && (9.0..10.0).contains(&ends[1]), "{offset}: {ends:?}");
        assert!(page.contains(&format!("time since {axis}")), "{offset}");
        // The plot has as many values and columns as without the outlier.
        let picture =
            ["plot", "stray.bag", "/imu/data.angular_velocity.x", "-f", "-o", "x.svg"];
        let expected = ["1 line of 250 values", "1 value at times far", at, "--start"];
        folder.run(&picture).assert_status(0, &expected);
        let options =
            ["--start", "1970-01-01T00:00:00Z", "--end", "2040-01-01T00:00:00Z"];
        let all = folder.run(&[&picture[..], &options].concat());
        all.assert_status(0, &["1 line of 251 values"]);
        std::fs::remove_file(folder.path().join("stray.bag")).unwrap();
        std::fs::remove_file(folder.path().join("x.html")).unwrap();
    }
}

#[test]
fn plots_start_at_their_first_record() {
    let folder = Folder::new();
    let mut log = std::fs::read(testdata("quad_flight.ulg")).unwrap();
    // A topic that is in no plot.
    let (known, unknown) = (b"esc_status", b"odd_status");
    for at in 0..log.len() - known.len() {
        if log[at..].starts_with(known) {
            log[at..at + known.len()].copy_from_slice(unknown);
        }
    }
    // 4 s before all others.
    folder.write("early.ulg", &with_stray(&log, unknown, 1_020_000));
    folder
        .run(&["report", "early.ulg", "-o", "x.html"])
        .assert_status(0, &["elements"]);
    let page = folder.read("x.html");
    // The header has the time 5 s, and the first plotted record has 5.0202 s.
    assert!(page.contains("\"range\":[0.0202,30.0001]"));
    assert!(!page.contains("\"range\":[0,"));
}

#[test]
fn unusable_report_arguments_leave_no_output() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["report", &bag, "-o", "x.pdf"]).assert_status(2, &[".html"]);
    folder
        .run(&["report", "missing.bag", "-o", "x.html"])
        .assert_status(1, &["missing.bag"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}
