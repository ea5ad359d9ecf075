use super::*;
use crate::{
    chart::{Band, TimeAxis},
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
        is_held: false,
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
    assert!(svg.contains("&lt;b&gt;&amp;\u{fffd}") && !svg.contains("<b>"));
    assert!(svg.contains("LOITER") && svg.contains("m/s") && svg.contains("time (s)"));
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
    let line = Line { name: "a".into(), signal, is_held: false };
    let panels =
        vec![Panel { unit: String::new(), lines: vec![line], ..Panel::default() }];
    let svg = Chart { panels, size: (900, 500), ..Chart::default() }.svg().unwrap();
    assert_eq!(svg.matches("<circle").count(), 12);
    assert!(!svg.contains("stroke-width=\"24\""));
}

#[test]
fn what_holds_does_so_from_before_and_to_the_end() {
    let mut sampler = Sampler::new(20, 60, 100);
    sampler.begin(20, 1.0);
    sampler.add(50, 0.0);
    let signal = sampler.held_signal();
    assert_eq!(signal.values, 2);
    let line = Line { name: "armed".into(), signal, is_held: true };
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
