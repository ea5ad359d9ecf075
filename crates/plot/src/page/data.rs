//! Plots as JSON for the script of the page.

use std::fmt::Write as _;

use crate::{
    chart::{Chart, Line, TimeAxis},
    palette::{self, Rgb},
};

/// Returns the first panel of `chart` with this `title`.
pub(super) fn plot(title: &str, chart: &Chart) -> String {
    let lines = chart.panels.first().map_or(&[][..], |panel| &panel.lines);
    let unit = chart.panels.first().map_or("", |panel| &panel.unit);
    let limits = chart.panels.first().and_then(|panel| panel.limits);
    let limits =
        limits.map_or_else(|| "null".to_owned(), |(l, h)| format!("[{l},{h}]"));
    let (start, end) = chart.span();
    let mut out = format!(
        "{{\"title\":{},\"unit\":{},\"limits\":{limits},\"time\":{},\"day\":{},\
         \"range\":[{},{}],\"lines\":[",
        text(title),
        text(unit),
        text(&chart.time.name),
        chart.time.day.map_or_else(|| "null".to_owned(), |day| day.to_string()),
        seconds(start),
        seconds(end),
    );
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_line(&mut out, line, palette::line(index), &chart.time, end);
    }
    out.push_str("],\"bands\":[");
    for (index, band) in chart.bands.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let (start, end) =
            (chart.time.seconds(band.start), chart.time.seconds(band.end));
        let (name, color) = (text(&band.name), color(band.color));
        let _ =
            write!(out, "{comma}[{},{},{color},{name}]", seconds(start), seconds(end));
    }
    out.push_str("]}");
    out
}

/// Writes a line. A held value continues until `end`.
fn write_line(out: &mut String, line: &Line, rgb: Rgb, time: &TimeAxis, end: f64) {
    let (mut x, mut y) = (String::new(), String::new());
    let mut last = None;
    for run in &line.signal.runs {
        if let (Some(last), Some((first, _))) = (last, run.first()) {
            // A null in the middle of the gap.
            let middle = (time.seconds(last) + time.seconds(*first)) / 2.0;
            let _ = write!(x, "{},", seconds(middle));
            y.push_str("null,");
        }
        for (nanos, value) in run {
            let _ = write!(x, "{},", seconds(time.seconds(*nanos)));
            let _ = write!(y, "{},", number(*value));
            last = Some(*nanos);
        }
    }
    let held = line.signal.runs.last().and_then(|run| run.last());
    if let Some((_, value)) =
        held.filter(|(nanos, _)| line.is_held && time.seconds(*nanos) < end)
    {
        let _ = write!(x, "{}", seconds(end));
        let _ = write!(y, "{}", number(*value));
    }
    let [x, y] = [x, y].map(|list| list.trim_end_matches(',').to_owned());
    let (name, color, held) = (text(&line.name), color(rgb), line.is_held);
    let _ = write!(
        out,
        "{{\"name\":{name},\"color\":{color},\"held\":{held},\"x\":[{x}],\"y\":[{y}]}}"
    );
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn color([red, green, blue]: Rgb) -> String {
    format!("\"{red},{green},{blue}\"")
}

/// Formats seconds with a resolution of a tenth of a millisecond.
fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Rounds to seven digits, the precision of a float32.
fn number(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
