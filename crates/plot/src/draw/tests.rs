use std::collections::BTreeMap;

use super::*;
use crate::{
    chart::{Band, Mark, RightAxis, TimeAxis, XyAxis, XyLine, XyPanel},
    paint,
    sample::Sampler,
};

fn chart() -> Chart {
    let mut sampler = Sampler::new(0, 10_000_000_000, 800);
    for n in (0..400).chain(600..1000) {
        sampler.add(n * 10_000_000, (n as f64 / 50.0).sin());
    }
    let line = |name: &str| Line {
        name: name.into(),
        signal: sampler.signal(),
        ..Line::default()
    };
    let panels = vec![
        Panel {
            unit: "m/s".into(),
            lines: vec![line("a.x"), line("<b>&\u{1}")],
            ..Panel::default()
        },
        Panel { unit: String::new(), lines: vec![line("c")], ..Panel::default() },
    ];
    let band = Band {
        name: "LOITER".into(),
        start: 0,
        end: 5_000_000_000,
        color: [255, 0, 0],
    };
    let time = TimeAxis { name: "time (s)".into(), ..TimeAxis::default() };
    Chart { panels, bands: vec![band], time, size: (900, 500), ..Chart::default() }
}

#[test]
fn a_gap_is_not_bridged_and_names_are_escaped() {
    let svg = chart().svg().unwrap();
    assert!(
        svg.starts_with(
            "<svg width=\"900\" height=\"500\" viewBox=\"0 0 18000 10000\""
        )
    );
    // Three signals of two runs each.
    let lines = svg.matches("stroke-width=\"24\"").count();
    assert_eq!(lines, 6);
    assert!(svg.contains("&lt;b&gt;&amp;\\u{1}") && !svg.contains("<b>"));
    assert!(svg.contains("LOITER") && svg.contains("m/s") && svg.contains("time (s)"));
}

/// A reader of the plot cannot be deceived by names that are turned around or partly invisible.
#[test]
fn no_text_of_a_plot_is_unprintable() {
    let evil = "a\u{202e}b\u{1b}\u{200b}\u{ffff}";
    let mut chart = chart();
    chart.title = evil.into();
    chart.time.name = evil.into();
    chart.bands[0].name = evil.into();
    chart.marks.push(Mark {
        kind: evil.into(),
        text: evil.into(),
        start: 1_000_000_000,
        end: 1_000_000_000,
        color: [0; 3],
    });
    let line = Line { name: evil.into(), ..chart.panels[0].lines[0].clone() };
    let right = RightAxis { unit: evil.into(), lines: vec![line], limits: None };
    let panel = &mut chart.panels[0];
    (panel.unit, panel.right) = (evil.into(), Some(right));
    panel.lines[0].name = evil.into();
    let svg = chart.svg().unwrap();
    assert!(!svg.contains(|c| c != '\n' && logtool_core::is_unprintable(c)), "{svg}");
    // The text of the mark is shortened.
    let shown = svg.matches("a\\u{202e}b").count();
    // The title, the axis of time, two units, two lines, the band, and the mark with its kind.
    assert_eq!(shown, 9, "{svg}");
}

/// Bursts an hour apart, each of one level and much shorter than a pixel is wide.
#[test]
fn what_is_shorter_than_a_line_is_wide_is_a_dot() {
    let mut sampler = Sampler::new(0, 12 * 3_600_000_000_000, 800);
    for (burst, n) in (0..12).flat_map(|burst| (0..50).map(move |n| (burst, n))) {
        sampler.add(burst * 3_600_000_000_000 + n * 20_000_000, burst as f64);
    }
    let signal = sampler.signal();
    assert_eq!(signal.runs.len(), 12);
    let line = Line { name: "a".into(), signal, ..Line::default() };
    let panels =
        vec![Panel { unit: String::new(), lines: vec![line], ..Panel::default() }];
    let svg = Chart { panels, size: (900, 500), ..Chart::default() }.svg().unwrap();
    assert_eq!(svg.matches("<circle").count(), 12);
    assert!(!svg.contains("stroke-width=\"24\""));
}

#[test]
fn what_holds_does_so_from_before_and_to_the_end() {
    let mut sampler = Sampler::new(20, 60, 100);
    sampler.add_initial(20, 1.0);
    sampler.add(50, 0.0);
    let signal = sampler.held_signal();
    assert_eq!(signal.values, 2);
    let line = Line { name: "armed".into(), signal, is_held: true, ..Line::default() };
    let panels =
        vec![Panel { unit: String::new(), lines: vec![line], ..Panel::default() }];
    let time = TimeAxis { range: Some((20, 60)), ..TimeAxis::default() };
    let svg = Chart { panels, time, size: (900, 300), ..Chart::default() }.svg();
    let svg = svg.unwrap();
    let (_, drawn) = svg.split_once("stroke-width=\"24\" points=\"").unwrap();
    let points = drawn.split_once('"').unwrap().0.split_whitespace();
    let points = points.map(|point| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
    });
    let points: Vec<_> = points.collect();
    let ((start, high), (end, low)) = (points[0], points[points.len() - 1]);
    let middle = start + (end - start) * 0.75;
    let at = |x: f64| points.iter().filter(move |p| (p.0 - x).abs() < 2.0);
    // One until 50, and then nothing, down to the edge of the picture.
    assert!(at(middle).any(|p| p.1 == high) && at(middle).any(|p| p.1 == low));
    assert!(high < low && end > 17_000.0, "{points:?}");
}

#[test]
fn a_picture_has_its_size_in_pixels() {
    let png = paint::png(&chart().svg().unwrap(), 2.0).unwrap().png;
    // The header of a PNG: the width and the height are the bytes from 16 on.
    assert_eq!(&png[16..24], [0, 0, 0x07, 0x08, 0, 0, 0x03, 0xe8]);
    // Twice 96 dots an inch: 7559 a metre.
    let density = b"pHYs\x00\x00\x1d\x87\x00\x00\x1d\x87\x01";
    assert_eq!(&png[37..50], density);
}

#[test]
fn nothing_at_all_and_too_little_room_are_no_panic() {
    let empty = Chart { size: (300, 200), ..Chart::default() };
    assert!(empty.svg().is_ok());
    assert!(Chart { size: (10, 10), ..chart() }.svg().is_err());
    assert!(Chart { size: (100, 100), ..chart() }.svg().is_err());
}

#[test]
fn line_is_cut_where_it_crosses_the_limits() {
    let points = [(0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (3.0, -4.0), (4.0, -4.0)];
    // Up through 1 at 0.5 and 3 at 1.5, and down through 3 at 2.125 and 1 at 2.375.
    let pieces = clip(&points, (1.0, 3.0));
    let first = vec![(0.5, 1.0), (1.0, 2.0), (1.5, 3.0)];
    assert_eq!(pieces, [first, vec![(2.125, 3.0), (2.375, 1.0)]]);
    // Points on the limits are visible.
    assert_eq!(clip(&points[..3], (0.0, 4.0)), [points[..3].to_vec()]);
    assert_eq!(clip(&points[4..], (-9.0, 9.0)), [points[4..].to_vec()]);
    assert!(clip(&points, (5.0, 6.0)).is_empty() && clip(&[], (0.0, 1.0)).is_empty());
}

/// Returns the points of the lines of signals in `svg`, in units of the canvas.
fn lines(svg: &str) -> Vec<Vec<(f64, f64)>> {
    let lines = svg.split("stroke-width=\"24\" points=\"").skip(1);
    let point = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    lines
        .map(|rest| {
            let points = rest.split_once('"').unwrap().0;
            points.split_whitespace().map(point).collect()
        })
        .collect()
}

#[test]
fn second_axis_has_a_scale_of_its_own() {
    let line = |name: &str, factor: f64| {
        let mut sampler = Sampler::new(0, 100, 100);
        (0..100).for_each(|n| sampler.add(n, factor * n as f64));
        Line { name: name.into(), signal: sampler.signal(), ..Line::default() }
    };
    let right = RightAxis {
        unit: "mA".into(),
        limits: Some((0.0, 198_000.0)),
        lines: vec![line("current", 1000.0)],
    };
    let panel = Panel {
        unit: "V".into(),
        limits: Some((0.0, 99.0)),
        lines: vec![line("voltage", 1.0)],
        right: Some(right),
        ..Panel::default()
    };
    let chart = Chart {
        title: "A <title>".into(),
        panels: vec![panel],
        size: (900, 300),
        ..Chart::default()
    };
    let svg = chart.svg().unwrap();
    for text in ["A &lt;title&gt;", "current (right)", ">\nV\n<", ">\nmA\n<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let lines = lines(&svg);
    let height = |line: &[(f64, f64)]| line[0].1 - line[line.len() - 1].1;
    // Both end at 99 of 99 volts and at 99,000 of 198,000 mA.
    let ratio = height(&lines[0]) / height(&lines[1]);
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
    // Rounding may differ by one unit.
    let (left, right) = (lines[0][0], lines[1][0]);
    assert!(left.0 == right.0 && (left.1 - right.1).abs() <= 1.0, "{left:?} {right:?}");
}

#[test]
fn axes_of_the_same_unit_have_the_same_scale() {
    let axis = |name: &str| XyAxis {
        name: name.into(),
        unit: "m".into(),
        ..XyAxis::default()
    };
    let square =
        [(0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (f64::NAN, 1.0), (0.0, 8.0), (0.0, 1.0)];
    let line = XyLine::new("square", square.into_iter());
    assert_eq!((line.values, line.runs.len()), (5, 2));
    let panel = XyPanel { x: axis("east"), y: axis("north"), lines: vec![line] };
    let chart = Chart { xy: vec![panel], size: (900, 400), ..Chart::default() };
    let svg = chart.svg().unwrap();
    assert!(svg.contains("east (m)") && svg.contains("north (m)"));
    let lines = lines(&svg);
    let [first, second] = &*lines else { panic!("{lines:?}") };
    let (width, height) = (first[1].0 - first[0].0, first[1].1 - first[2].1);
    assert!(width > 1000.0 && (width / height - 1.0).abs() < 0.01, "{width} {height}");
    // The gap is not bridged.
    assert_eq!(second[0], (first[0].0, first[2].1));
}

#[test]
fn each_axis_of_states_has_their_names() {
    let line = |name: &str, values: [f64; 3]| {
        let mut sampler = Sampler::new(0, 30, 100);
        (0..).zip(values).for_each(|(at, value)| sampler.add(10 * at, value));
        Line { name: name.into(), signal: sampler.signal(), ..Line::default() }
    };
    let value_names = |first: &str, second: &str| {
        BTreeMap::from([(2, first.to_owned()), (5, second.to_owned())])
    };
    let mode = Line {
        is_held: true,
        value_names: value_names("POSCTL", "LAND"),
        ..line("mode", [2.0, 5.0, 5.0])
    };
    let limited =
        |limits| Panel { limits, lines: vec![mode.clone()], ..Panel::default() };
    let voltage = vec![line("voltage", [15.0, 14.9, 14.8])];
    let right = RightAxis { lines: vec![mode.clone()], ..RightAxis::default() };
    let mixed = Panel {
        unit: "V".into(),
        lines: voltage.clone(),
        right: Some(right),
        ..Panel::default()
    };
    let svg = |panel: Panel| {
        Chart { panels: vec![panel], size: (900, 300), ..Chart::default() }
            .svg()
            .unwrap()
    };
    let count = |svg: &str, text: &str| svg.matches(&format!(">\n{text}\n<")).count();
    // Beside other values, states have no names.
    let numbers =
        Panel { lines: [vec![mode.clone()], voltage].concat(), ..Panel::default() };
    for (svg, expected) in [
        (svg(limited(None)), [1, 1, 0]),
        (svg(limited(Some((0.0, 4.0)))), [1, 0, 0]),
        (svg(mixed), [1, 1, 0]),
        (svg(numbers), [0, 0, 1]),
    ] {
        let counts = ["POSCTL", "LAND", "5"].map(|text| count(&svg, text));
        assert_eq!(counts, expected, "{svg}");
    }

    let points = [(2.0, 15.0), (5.0, 14.9)];
    let xy_line = XyLine::new("voltage", points.into_iter());
    let swapped = XyLine::new("mode", points.into_iter().map(|(x, y)| (y, x)));
    let states =
        XyAxis { value_names: value_names("IDLE", "BUSY"), ..XyAxis::default() };
    for (x, y, line) in [
        (states.clone(), XyAxis::default(), xy_line),
        (XyAxis::default(), states, swapped),
    ] {
        let xy = vec![XyPanel { x, y, lines: vec![line] }];
        let svg = Chart { xy, size: (900, 400), ..Chart::default() }.svg().unwrap();
        assert_eq!(
            [count(&svg, "IDLE"), count(&svg, "BUSY"), count(&svg, "2")],
            [1, 1, 0]
        );
    }
}

#[test]
fn marks_are_lines_and_bars_with_a_legend_entry_for_each_kind() {
    let mark = |kind: &str, start: f64, end: f64| Mark {
        kind: kind.into(),
        text: format!("<{kind}> at {start}"),
        start: (start * 1e9) as i64,
        end: (end * 1e9) as i64,
        color: [0x12, 0x34, 0x56],
    };
    let marks = vec![
        mark("reset", 2.0, 2.0),
        // The text of the second one would overlap that of the first one.
        mark("reset", 2.05, 2.05),
        mark("loss", 4.0, 6.0),
        mark("absent", 60.0, 70.0),
    ];
    let svg = Chart { marks, ..chart() }.svg().unwrap();
    // Two panels: two lines and a bar in each.
    assert_eq!(svg.matches("stroke=\"#123456\"").count(), 4);
    assert_eq!(svg.matches("opacity=\"0.35\" fill=\"#123456\"").count(), 2);
    // The samples in the legend, and the texts of the first panel.
    assert_eq!(svg.matches("opacity=\"1\" fill=\"#123456\"").count(), 2);
    for text in ["\nreset\n", "\nloss\n", "&lt;reset&gt; at 2\n", "&lt;loss&gt; at 4\n"]
    {
        assert_eq!(svg.matches(text).count(), 1, "{text}");
    }
    assert!(!svg.contains("absent") && !svg.contains("2.05"));
}
