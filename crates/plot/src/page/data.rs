//! Plots as JSON for the script of the page.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{
    chart::{Band, Chart, Line, Mark, PanelStyle, TimeAxis},
    curves::CurvePlot,
    escape::{html, shown_json},
    heat_map::HeatMap,
    page::{Block, PlotLink, Section},
    palette::{self, Rgb},
};

/// The steps of the colour map of heat maps.
const COLORS: usize = 10;

/// All plots of a page, in the order of the page.
pub(super) struct PlotData {
    plots: Vec<PlotEntry>,
    /// The bands and the marks, which many plots share.
    backgrounds: Vec<String>,
    /// The titles of the sections.
    sections: Vec<String>,
}

/// A plot.
struct PlotEntry {
    title: String,
    json: String,
    /// The time axis, if the horizontal axis shows time.
    time: Option<TimeAxis>,
}

impl PlotData {
    /// Collects the plots of `sections`.
    pub(super) fn new(sections: &[Section]) -> Self {
        let titles = sections.iter().map(|section| section.title.clone());
        let mut data = Self {
            plots: Vec::new(),
            backgrounds: Vec::new(),
            sections: titles.collect(),
        };
        for section in sections {
            data.add(&section.blocks);
        }
        data
    }

    fn add(&mut self, blocks: &[Block]) {
        for block in blocks {
            let (title, json, time) = match block {
                Block::Plot(title, chart) => {
                    let background = self.background(background(
                        [&chart.bands, &chart.states],
                        &chart.marks,
                        &chart.time,
                    ));
                    (title, plot(title, chart, background), Some(&chart.time))
                }
                Block::HeatMap(title, map) => {
                    let bands = [&map.bands[..], &[]];
                    let background =
                        self.background(background(bands, &map.marks, &map.time));
                    (title, heat_map(title, map, background), Some(&map.time))
                }
                Block::Curves(title, plot) => (title, curves(title, plot), None),
                Block::Details(_, blocks) => {
                    self.add(blocks);
                    continue;
                }
                _ => continue,
            };
            let (title, time) = (title.clone(), time.cloned());
            self.plots.push(PlotEntry { title, json, time });
        }
    }

    /// Returns the index of this background: the bands and the marks as JSON.
    fn background(&mut self, json: String) -> usize {
        let existing =
            self.backgrounds.iter().position(|background| *background == json);
        existing.unwrap_or_else(|| {
            self.backgrounds.push(json);
            self.backgrounds.len() - 1
        })
    }

    /// Returns all plots as a JSON object.
    pub(super) fn json(&self) -> String {
        let plots: Vec<&str> =
            self.plots.iter().map(|plot| plot.json.as_str()).collect();
        format!(
            "{{\"backgrounds\":[{}],\n\"plots\":[{}]}}",
            self.backgrounds.join(",\n"),
            plots.join(",\n")
        )
    }

    /// Returns the HTML of a link, unless the page has no plot or section of its title.
    pub(super) fn link(&self, link: &PlotLink) -> Option<String> {
        let plot =
            self.plots.iter().enumerate().find(|(_, plot)| plot.title == link.title);
        let target = match plot {
            Some((number, _)) => format!("p{number}"),
            None => {
                let section = self
                    .sections
                    .iter()
                    .position(|section_title| *section_title == link.title);
                format!("s{}", section?)
            }
        };
        let axis = plot.and_then(|(_, plot)| plot.time.as_ref());
        let range = axis.zip(link.time).map(|(axis, (start, end))| {
            let (start, end) = (axis.seconds(start), axis.seconds(end));
            format!(" data-start=\"{}\" data-end=\"{}\"", seconds(start), seconds(end))
        });
        let (title, range) = (html(&link.title), range.unwrap_or_default());
        Some(format!("<a href=\"#{target}\"{range}>{title}</a> "))
    }
}

/// Returns the first panel of `chart` with this `title`.
fn plot(title: &str, chart: &Chart, background: usize) -> String {
    let panel = chart.panels.first();
    let lines = panel.map_or(&[][..], |panel| &panel.lines);
    let kind = match panel.map(|panel| panel.style) {
        Some(PanelStyle::Flags) => "flags",
        _ => "lines",
    };
    let (start, end) = chart.span();
    let mut json = plot_start(
        kind,
        title,
        panel.map_or("", |panel| &panel.unit),
        panel.and_then(|panel| panel.limits),
    );
    write_time(&mut json, &chart.time, (start, end), background);
    if let Some(right) = panel.and_then(|panel| panel.right.as_ref()) {
        let (unit, limits) = (shown_json(&right.unit), json_limits(right.limits));
        let first = lines.len();
        let _ = write!(
            json,
            ",\"right\":{{\"unit\":{unit},\"limits\":{limits},\"first\":{first}}}"
        );
    }
    json.push_str(",\"levels\":[");
    for (index, level) in panel.iter().flat_map(|panel| &panel.levels).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let end = |value: f64| {
            if value.is_finite() { value.to_string() } else { "null".to_owned() }
        };
        let (low, high, name) =
            (end(level.low), end(level.high), shown_json(&level.name));
        let _ = write!(json, "{comma}[{low},{high},{},{name}]", color(level.color));
    }
    json.push_str("],\"lines\":[");
    for (index, line) in panel.iter().flat_map(|panel| panel.all_lines()).enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_line(&mut json, line, palette::line(index), &chart.time, end);
    }
    json.push_str("]}");
    json
}

/// Returns a heat map with this `title`. Its line is the quantity of the strongest value.
fn heat_map(title: &str, map: &HeatMap, background: usize) -> String {
    let times = map.times.iter().map(|nanos| map.time.seconds(*nanos));
    let times: Vec<f64> = times.collect();
    let full_range = (
        times.first().copied().unwrap_or_default(),
        times.last().copied().unwrap_or_default(),
    );
    let range = map.time.range;
    let range = range.map(|(a, b)| (map.time.seconds(a), map.time.seconds(b)));
    let rows = map.columns.first().map_or(0, Vec::len);
    let highest = map.step * rows.saturating_sub(1) as f64;
    let mut json = plot_start("heat", title, &map.unit, Some((0.0, highest)));
    write_time(&mut json, &map.time, range.unwrap_or(full_range), background);
    let x: Vec<String> = times.into_iter().map(seconds).collect();
    let y: Vec<String> =
        map.strongest_quantities().into_iter().map(four_digits).collect();
    let _ = write!(
        json,
        ",\"lines\":[{{\"name\":\"strongest\",\"color\":\"0,0,0\",\"held\":false,\
         \"x\":[{}],\"y\":[{}]}}],\"rows\":{rows},\"levels\":\"{}\",\"colors\":[",
        x.join(","),
        y.join(","),
        BASE64_STANDARD.encode(map.levels())
    );
    for step in 0..=COLORS {
        let comma = if step > 0 { "," } else { "" };
        let color = color(palette::viridis(step as f64 / COLORS as f64));
        let _ = write!(json, "{comma}{color}");
    }
    json.push_str("]}");
    json
}

/// Returns curves with this `title`.
fn curves(title: &str, plot: &CurvePlot) -> String {
    let longest = plot.curves.iter().map(|curve| curve.values.len()).max();
    let steps = longest.unwrap_or_default().saturating_sub(1);
    let last = plot.first + plot.step * steps as f64;
    let mut json = plot_start("curves", title, &plot.unit, plot.limits);
    let _ = write!(
        json,
        ",\"time\":{},\"day\":null,\"range\":[{},{}],\"first\":{},\"step\":{},\"curves\":[",
        shown_json(&plot.name),
        number(plot.first),
        number(last),
        number(plot.first),
        all_digits(plot.step),
    );
    for (index, curve) in plot.curves.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let values: Vec<String> =
            curve.values.iter().map(|y| four_digits(*y)).collect();
        let (name, color) = (shown_json(&curve.name), color(palette::line(index)));
        let _ = write!(
            json,
            "{comma}{{\"name\":{name},\"color\":{color},\"y\":[{}]}}",
            values.join(",")
        );
    }
    json.push_str("],\"marks\":[");
    for (index, mark) in plot.marks.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(
            json,
            "{comma}[{},{}]",
            number(mark.position),
            shown_json(&mark.name)
        );
    }
    json.push_str("]}");
    json
}

fn plot_start(
    kind: &str,
    title: &str,
    unit: &str,
    limits: Option<(f64, f64)>,
) -> String {
    format!(
        "{{\"kind\":\"{kind}\",\"title\":{},\"unit\":{},\"limits\":{}",
        shown_json(title),
        shown_json(unit),
        json_limits(limits)
    )
}

/// Returns the limits of an axis; null if they are derived from its values.
fn json_limits(limits: Option<(f64, f64)>) -> String {
    match limits {
        Some((low, high)) if low.is_finite() && high.is_finite() && low < high => {
            format!("[{low},{high}]")
        }
        _ => "null".to_owned(),
    }
}

/// Writes the time axis and the index of the background.
fn write_time(
    json: &mut String,
    time: &TimeAxis,
    (start, end): (f64, f64),
    background: usize,
) {
    let day = time.day.map_or_else(|| "null".to_owned(), |day| day.to_string());
    // A range that is shorter than the resolution of the times would be an axis without length.
    let is_short = seconds(start) == seconds(end);
    let (start, end) = if is_short { (start - 0.5, end + 0.5) } else { (start, end) };
    let (first, last) = (seconds(start), seconds(end));
    let _ = write!(
        json,
        ",\"time\":{},\"day\":{day},\"range\":[{first},{last}],\"background\":{background}",
        shown_json(&time.name),
    );
}

/// Returns the bands, the states and the marks.
fn background(
    [bands, states]: [&[Band]; 2],
    marks: &[Mark],
    time: &TimeAxis,
) -> String {
    let mut json = String::new();
    for (key, bands) in [("{\"bands\":[", bands), ("],\"states\":[", states)] {
        json.push_str(key);
        for (index, band) in bands.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let [start, end] =
                [band.start, band.end].map(|at| seconds(time.seconds(at)));
            let (name, color) = (shown_json(&band.name), color(band.color));
            let _ = write!(json, "{comma}[{start},{end},{color},{name}]");
        }
    }
    json.push_str("],\"marks\":[");
    for (index, mark) in marks.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let (start, end) = (time.seconds(mark.start), time.seconds(mark.end));
        let (kind, name) = (shown_json(&mark.kind), shown_json(&mark.text));
        let _ = write!(
            json,
            "{comma}[{},{},{},{kind},{name}]",
            seconds(start),
            seconds(end),
            color(mark.color)
        );
    }
    json.push_str("]}");
    json
}

/// Writes a line. A held value continues until `end`.
fn write_line(json: &mut String, line: &Line, rgb: Rgb, time: &TimeAxis, end: f64) {
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
    let last_value = line.signal.runs.last().and_then(|run| run.last());
    if let Some((_, value)) =
        last_value.filter(|(nanos, _)| line.is_held && time.seconds(*nanos) < end)
    {
        let _ = write!(x, "{}", seconds(end));
        let _ = write!(y, "{}", number(*value));
    }
    let [x, y] = [x, y].map(|list| list.trim_end_matches(',').to_owned());
    let (name, color, last_value) = (shown_json(&line.name), color(rgb), line.is_held);
    let _ = write!(json, "{{\"name\":{name},\"color\":{color},\"held\":{last_value}");
    if !line.value_names.is_empty() {
        let names = line.value_names.iter();
        let names =
            names.map(|(value, name)| format!("\"{value}\":{}", shown_json(name)));
        let _ = write!(json, ",\"names\":{{{}}}", names.collect::<Vec<_>>().join(","));
    }
    let _ = write!(json, ",\"x\":[{x}],\"y\":[{y}]}}");
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

/// Formats a step with all its digits, because it is multiplied by large indices.
fn all_digits(step: f64) -> String {
    if step.is_finite() { step.to_string() } else { "0".to_owned() }
}

/// Formats a value with four digits; null if it is not finite.
fn four_digits(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    // Small numbers are shorter with an exponent.
    if rounded != 0.0 && rounded.abs() < 1e-3 {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::four_digits;

    #[test]
    fn short_numbers_have_four_digits() {
        let shown = [0.0, 1.0, 0.123_456, 1.234_56e-5, f64::NAN, -2.5].map(four_digits);
        assert_eq!(shown, ["0", "1", "0.1235", "1.235e-5", "null", "-2.5"]);
    }
}
