//! Plots of spectra, spectrograms and step responses.

use logtool_plot::{Block, Curve, CurveMark, CurvePlot, HeatMap, TableRow, TimeAxis};

use crate::inspect::{
    flight::{
        FilterMark, FilterMarks, SignalAnalysis, Spectrogram, Spectrum, StepResponse,
        text,
    },
    report::plots::PlotContext,
};

/// Slower movements are those of the flight. They have by far the highest amplitudes, and are cut
/// off, so that vibrations can be seen.
const VIBRATION_FROM_HZ: f64 = 5.0;

/// The maximum numbers of values of a curve, and of columns of a heat map, in the page.
const MAX_VALUES: usize = 1024;
const MAX_COLUMNS: usize = 512;

/// Returns the spectra and the spectrograms. The time axis is that of the other plots.
pub(super) fn spectra(
    signals: &SignalAnalysis,
    time: &TimeAxis,
    context: &PlotContext<'_>,
) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for spectrum in &signals.spectra {
        let title = format!("Spectrum of {}", spectrum.title);
        blocks.push(Block::Curves(title, curves(spectrum, &signals.filters)));
    }
    for spectrogram in &signals.spectrograms {
        let title = format!("Spectrogram of {}", spectrogram.title);
        blocks.push(Block::HeatMap(title, heat_map(spectrogram, time, context)));
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::Note(note(signals)));
    }
    blocks
}

fn note(signals: &SignalAnalysis) -> String {
    let mut note = format!(
        "Spectra have the amplitudes of the whole log; higher ones below {VIBRATION_FROM_HZ} Hz are \
         cut off. Spectrograms have the power of three axes, from 60 dB below the highest."
    );
    let filters = signals.filters.low_pass.iter().chain(&signals.filters.notch);
    let filters: Vec<String> = filters
        .map(|mark| {
            format!("{} {} Hz", mark.parameter, text::number(mark.frequency_hz))
        })
        .collect();
    if !filters.is_empty() {
        note += &format!(" Filters: {}.", filters.join(", "));
    }
    note
}

/// Returns the amplitudes by frequency, with marks at the frequencies of the filters.
fn curves(spectrum: &Spectrum, filters: &FilterMarks) -> CurvePlot {
    let longest = spectrum.lines.iter().map(|line| line.amplitudes.len()).max();
    let longest = longest.unwrap_or_default();
    let group = longest.div_ceil(MAX_VALUES).max(1);
    let step = spectrum.frequency_step_hz;
    let amplitudes = |values: &[f32]| -> Vec<f64> {
        // Of several that share a place, the highest is shown.
        let highest = |group: &[f32]| group.iter().copied().fold(0.0, f32::max);
        values.chunks(group).map(|group| f64::from(highest(group))).collect()
    };
    let curves: Vec<Curve> = spectrum
        .lines
        .iter()
        .map(|line| Curve {
            name: line.name.clone(),
            values: amplitudes(&line.amplitudes),
        })
        .collect();
    let step = step * group as f64;
    let fast = curves.iter().flat_map(|curve| curve.values.iter().enumerate());
    let fast = fast.filter(|(bin, _)| *bin as f64 * step >= VIBRATION_FROM_HZ);
    let highest = fast.map(|(_, amplitude)| *amplitude).fold(0.0, f64::max);
    let last = step * longest.div_ceil(group) as f64;
    let is_shown = |mark: &&FilterMark| mark.frequency_hz < last;
    let filter_marks = filters.low_pass.iter().chain(&filters.notch);
    let marks = filter_marks.filter(is_shown).map(|mark| CurveMark {
        name: mark.parameter.to_owned(),
        position: mark.frequency_hz,
    });
    CurvePlot {
        name: "frequency (Hz)".to_owned(),
        first: 0.0,
        step,
        unit: "amplitude".to_owned(),
        limits: (highest > 0.0).then_some((0.0, highest)),
        curves,
        marks: marks.collect(),
    }
}

/// Returns the power by time and frequency. Neighbouring columns are averaged if there are too
/// many.
fn heat_map(
    spectrogram: &Spectrogram,
    time: &TimeAxis,
    context: &PlotContext<'_>,
) -> HeatMap {
    let group = spectrogram.times_ns.len().div_ceil(MAX_COLUMNS).max(1);
    let mean = |columns: &[Vec<f32>]| -> Vec<f32> {
        let mut sum = columns.first().cloned().unwrap_or_default();
        for column in columns.iter().skip(1) {
            sum.iter_mut().zip(column).for_each(|(sum, value)| *sum += value);
        }
        sum.iter_mut().for_each(|sum| *sum /= columns.len() as f32);
        sum
    };
    let middle = |times: &[i64]| times.get(times.len() / 2).copied();
    HeatMap {
        unit: "Hz".to_owned(),
        step: spectrogram.frequency_step_hz,
        times: spectrogram.times_ns.chunks(group).filter_map(middle).collect(),
        columns: spectrogram.density.chunks(group).map(mean).collect(),
        time: time.clone(),
        bands: context.bands.to_vec(),
        marks: context.marks.to_vec(),
    }
}

/// Returns a plot for each controller, and a table with the figures of all responses.
pub(super) fn step_responses(signals: &SignalAnalysis) -> Vec<Block> {
    let responses = &signals.step_responses;
    let mut blocks = Vec::new();
    let mut controllers: Vec<&str> =
        responses.iter().map(|response| response.controller).collect();
    controllers.dedup();
    for controller in controllers {
        let controller_responses =
            responses.iter().filter(|response| response.controller == controller);
        let controller_responses: Vec<&StepResponse> = controller_responses.collect();
        let title = format!("Step response of the {controller} controller");
        blocks.push(Block::Curves(title, response_curves(&controller_responses)));
    }
    if responses.is_empty() {
        return blocks;
    }
    let head = ["response", "delay", "rise", "overshoot", "windows"];
    let rows = responses.iter().map(response_row).collect();
    blocks.push(Block::Table(head.map(str::to_owned).to_vec(), rows));
    blocks
}

fn response_curves(responses: &[&StepResponse]) -> CurvePlot {
    // The sampling rates of the axes are those of one topic.
    let step = responses.first().map_or(0.0, |response| response.time_step_s);
    let curve = |name: String, values: &[f64]| Curve { name, values: values.to_vec() };
    let mut curves = Vec::new();
    for response in responses {
        curves.push(curve(response.axis.to_owned(), &response.response));
        if let Some(high) = &response.response_to_high_input {
            curves.push(curve(format!("{}, high input", response.axis), high));
        }
    }
    CurvePlot {
        name: "time after the step (s)".to_owned(),
        first: 0.0,
        step,
        unit: "response".to_owned(),
        limits: response_limits(&curves),
        curves,
        marks: Vec::new(),
    }
}

/// The range of the responses of controllers that work.
const RESPONSES: (f64, f64) = (-0.5, 2.0);

/// Returns the limits of the value axis, if responses are beyond [`RESPONSES`]: an axis that was
/// hardly excited has a response of noise, beside which the others would be flat.
fn response_limits(curves: &[Curve]) -> Option<(f64, f64)> {
    let values = curves.iter().flat_map(|curve| &curve.values);
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let (least, most) = RESPONSES;
    let is_beyond = low < least || high > most;
    // The range includes 0 and 1, also if all values are on one side.
    is_beyond.then(|| (low.clamp(least, 0.0), high.clamp(1.0, most)))
}

fn response_row(response: &StepResponse) -> TableRow {
    let millis = |seconds: Option<f64>| {
        let known = seconds.map(|seconds| format!("{:.0} ms", seconds * 1e3));
        known.unwrap_or_else(|| "unknown".to_owned())
    };
    let metrics = response.metrics;
    let overshoot = metrics.overshoot_percent.map(|percent| format!("{percent:.0} %"));
    TableRow {
        cells: vec![
            format!("{} {}", response.axis, response.controller),
            millis(metrics.delay_s),
            millis(metrics.rise_s),
            overshoot.unwrap_or_else(|| "unknown".to_owned()),
            response.windows.to_string(),
        ],
        ..TableRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_of_noise_does_not_flatten_the_others() {
        let curve =
            |values: &[f64]| Curve { name: String::new(), values: values.to_vec() };
        let usual = curve(&[0.0, 0.8, 1.2, 1.0]);
        assert_eq!(response_limits(std::slice::from_ref(&usual)), None);
        let noise = curve(&[-7.0, -3.0]);
        assert_eq!(response_limits(&[usual, noise]), Some((-0.5, 1.2)));
        assert_eq!(response_limits(&[curve(&[3.0, 9.0])]), Some((0.0, 2.0)));
    }
}
