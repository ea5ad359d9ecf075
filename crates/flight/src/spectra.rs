//! Spectra of the controls and of the motion of a vehicle.

mod fft;
mod filters;

use serde::Serialize;

use crate::{
    data::FlightData,
    series::Series,
    spectrogram::{Spectrogram, SpectrogramBuilder},
};

pub use self::filters::{FilterMark, FilterMarks};

/// The minimum sampling rate of signals with a spectrum or a spectrogram: slower signals do not
/// show vibrations. Flight Review requires 100 Hz, but logs of the default logging profile of PX4
/// are slower.
pub const MIN_SPECTRUM_RATE_HZ: f64 = 40.0;

/// The lowest frequency of the mean amplitude that describes the noise (Flight Review,
/// `DataPlotFFT`).
const NOISE_FROM_HZ: f64 = 40.0;

/// The maximum number of frequencies of a line.
const MAX_BINS: usize = 2048;

/// A signal with a spectrum: its title, its topic, and the names of its axes with their fields.
type SpectrumSource = (&'static str, &'static str, [(&'static str, &'static str); 3]);
const XYZ: [(&str, &str); 3] =
    [("roll", "xyz[0]"), ("pitch", "xyz[1]"), ("yaw", "xyz[2]")];
const SOURCES: [SpectrumSource; 4] = [
    ("actuator controls", "vehicle_torque_setpoint", XYZ),
    (
        "actuator controls",
        "actuator_controls_0",
        [("roll", "control[0]"), ("pitch", "control[1]"), ("yaw", "control[2]")],
    ),
    ("angular velocity", "vehicle_angular_velocity", XYZ),
    ("angular acceleration", "vehicle_angular_acceleration", XYZ),
];

/// A signal that has a spectrogram and no spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpectrogramSource {
    /// The measured quantity.
    pub title: &'static str,
    /// The topic. Its first instance is used.
    pub topic: &'static str,
    /// The fields of the three axes.
    pub fields: [&'static str; 3],
}

/// The acceleration, whose spectrogram shows the vibrations of the frame. Flight Review does not
/// draw its spectrum.
pub const ACCELERATION: SpectrogramSource = SpectrogramSource {
    title: "acceleration",
    topic: "sensor_combined",
    fields: ["accelerometer_m_s2[0]", "accelerometer_m_s2[1]", "accelerometer_m_s2[2]"],
};

/// The amplitudes of the fields of a topic by frequency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spectrum {
    /// The measured quantity, e.g. "angular velocity".
    pub title: String,
    /// The topic.
    pub topic: String,
    /// The sampling rate in Hz: the inverse of the mean interval between samples, without gaps.
    pub sample_rate_hz: f64,
    /// The number of samples.
    pub samples: usize,
    /// The difference between neighbouring frequencies; the first is zero.
    pub frequency_step_hz: f64,
    /// One line for each field.
    pub lines: Vec<SpectrumLine>,
}

/// The amplitudes of one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpectrumLine {
    /// The name, e.g. "roll".
    pub name: String,
    /// The amplitude at each frequency, in the unit of the field. If the transform has more
    /// frequencies than the spectrum, each amplitude is the highest of its neighbours.
    pub amplitudes: Vec<f32>,
    /// The mean amplitude above 40 Hz, if there are such frequencies.
    pub mean_above_40_hz: Option<f64>,
}

/// Returns the spectra of a flight.
pub(crate) fn flight_spectra(data: &FlightData) -> Vec<Spectrum> {
    let mut spectra: Vec<Spectrum> = Vec::new();
    for (title, topic, fields) in SOURCES {
        if spectra.iter().any(|spectrum| spectrum.title == title) {
            continue;
        }
        let Some(series) = data.first_instance(topic) else { continue };
        let columns: Vec<(&str, &[f32])> = fields
            .into_iter()
            .filter_map(|(name, field)| Some((name, series.column(field)?)))
            .collect();
        spectra.extend(spectrum_of(title, series, &columns));
    }
    spectra
}

/// Computes the spectrum of columns of a series, given as names and values. The amplitudes are `2 /
/// N` times the absolute values of the Fourier transform of all samples at their times, without a window
/// function. For even times, these are the amplitudes of Flight Review's `DataPlotFFT`. Series of more
/// than 2^19 samples are divided into blocks, whose amplitudes are averaged. A missing value is replaced
/// by the value before it.
/// Returns `None` if the sampling rate is below [`MIN_SPECTRUM_RATE_HZ`].
pub fn spectrum_of(
    title: &str,
    series: &Series,
    columns: &[(&str, &[f32])],
) -> Option<Spectrum> {
    let rate = 1.0 / series.mean_interval_s()?;
    let samples = series.times.len();
    if rate < MIN_SPECTRUM_RATE_HZ || columns.is_empty() {
        return None;
    }
    let mut frequency_step_hz = 0.0;
    let lines = columns.iter().map(|(name, values)| {
        let (block, amplitudes) = fft::amplitudes(&series.times, values, rate);
        let bin_step_hz = rate / block.max(1) as f64;
        let noise = amplitudes
            .iter()
            .enumerate()
            .filter(|(bin, _)| *bin as f64 * bin_step_hz >= NOISE_FROM_HZ);
        let (sum, count) =
            noise.fold((0.0, 0_u64), |(sum, count), (_, a)| (sum + a, count + 1));
        let group = amplitudes.len().div_ceil(MAX_BINS).max(1);
        frequency_step_hz = bin_step_hz * group as f64;
        let highest = |bins: &[f64]| bins.iter().copied().fold(0.0, f64::max) as f32;
        SpectrumLine {
            name: (*name).to_owned(),
            amplitudes: amplitudes.chunks(group).map(highest).collect(),
            mean_above_40_hz: (count > 0).then(|| sum / count as f64),
        }
    });
    let lines: Vec<SpectrumLine> = lines.collect();
    Some(Spectrum {
        title: title.to_owned(),
        topic: series.topic.clone(),
        sample_rate_hz: rate,
        samples,
        frequency_step_hz,
        lines,
    })
}

/// Returns the spectrogram of three fields of a topic. `None` if the sampling rate is below
/// [`MIN_SPECTRUM_RATE_HZ`], or if there are fewer than [`WINDOW_LENGTH`](crate::WINDOW_LENGTH)
/// samples.
pub(crate) fn spectrogram_of(
    title: &str,
    series: &Series,
    fields: [&str; 3],
) -> Option<Spectrogram> {
    let rate = 1.0 / series.mean_interval_s()?;
    if rate < MIN_SPECTRUM_RATE_HZ {
        return None;
    }
    let [x, y, z] = fields.map(|field| series.column(field));
    let mut builder = SpectrogramBuilder::new();
    for (((time, x), y), z) in series.times.iter().zip(x?).zip(y?).zip(z?) {
        builder.add(*time, [*x, *y, *z]);
    }
    builder.finish(title, &series.topic, rate)
}

/// Returns the spectrograms of a flight.
pub(crate) fn flight_spectrograms(data: &FlightData) -> Vec<Spectrogram> {
    let mut spectrograms: Vec<Spectrogram> = Vec::new();
    for (title, topic, fields) in SOURCES {
        if spectrograms.iter().any(|spectrogram| spectrogram.title == title) {
            continue;
        }
        let Some(series) = data.first_instance(topic) else { continue };
        spectrograms.extend(spectrogram_of(
            title,
            series,
            fields.map(|(_, field)| field),
        ));
    }
    let SpectrogramSource { title, topic, fields } = ACCELERATION;
    let acceleration = data.first_instance(topic);
    spectrograms
        .extend(acceleration.and_then(|series| spectrogram_of(title, series, fields)));
    spectrograms.extend(data.streamed_spectrograms.iter().cloned());
    spectrograms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 samples at 250 Hz: an amplitude of 3 at 50 Hz, in noise.
    fn sine() -> Series {
        let times = (0..1000).map(|n| n * 4_000_000).collect();
        let mut series = Series::new("vehicle_angular_velocity", 0, times);
        let mut state = 1_u32;
        let values = (0..1000).map(|n| {
            // The linear congruential generator of Numerical Recipes.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            let angle = std::f32::consts::TAU * 50.0 * n as f32 / 250.0;
            3.0 * angle.sin() + 0.2 * noise
        });
        series.add_column("xyz[0]", values.collect());
        series.add_column("xyz[1]", vec![1.0; 1000]);
        series.add_column("xyz[2]", vec![0.0; 1000]);
        series
    }

    #[test]
    fn sine_in_noise_has_its_amplitude_at_its_frequency() {
        let series = sine();
        let columns = [
            ("roll", series.column("xyz[0]").unwrap()),
            ("pitch", series.column("xyz[1]").unwrap()),
        ];
        let spectrum = spectrum_of("angular velocity", &series, &columns).unwrap();
        assert_eq!(
            (spectrum.sample_rate_hz, spectrum.frequency_step_hz),
            (250.0, 0.25)
        );
        let roll = &spectrum.lines[0].amplitudes;
        let highest =
            (0..roll.len()).max_by(|a, b| roll[*a].total_cmp(&roll[*b])).unwrap();
        assert_eq!(highest, 200);
        assert!((roll[200] - 3.0).abs() < 0.02, "{}", roll[200]);
        // A constant has twice its value at zero, by the formula of Flight Review.
        assert_eq!(spectrum.lines[1].amplitudes[0], 2.0);
        assert!(spectrum.lines[1].mean_above_40_hz.unwrap() < 1e-9);
    }

    #[test]
    fn acceleration_has_a_spectrogram_and_no_spectrum() {
        let times = (0..512).map(|n| n * 4_000_000).collect();
        let mut series = Series::new("sensor_combined", 0, times);
        for axis in 0..3 {
            let name = format!("accelerometer_m_s2[{axis}]");
            series.add_column(name, (0..512).map(|n| (n % 5) as f32).collect());
        }
        let data = FlightData::new((0, 0)).with_series([series]);
        let found = flight_spectrograms(&data);
        assert_eq!((found.len(), found[0].title.as_str()), (1, "acceleration"));
        // A period of 5 samples at 250 Hz is 50 Hz, in steps of 250 / 256 Hz.
        let column = &found[0].density[0];
        let highest =
            (0..column.len()).max_by(|a, b| column[*a].total_cmp(&column[*b]));
        assert_eq!(highest, Some(51));
        assert!(flight_spectra(&data).is_empty());
    }

    #[test]
    fn slow_signals_have_no_spectrum() {
        let times = (0..100).map(|n| n * 100_000_000).collect();
        let series = Series::new("t", 0, times);
        assert_eq!(spectrum_of("t", &series, &[("x", &[0.0; 100])]), None);
    }

    #[test]
    fn spectrogram_shows_the_sine_in_each_column() {
        let data = FlightData::new((0, 0)).with_series([sine()]);
        let found = flight_spectrograms(&data);
        let spectrogram = &found[0];
        // 1 + (1000 - 256) / 128 windows.
        assert_eq!((spectrogram.times_ns.len(), spectrogram.density.len()), (6, 6));
        assert_eq!(spectrogram.times_ns[0], 128 * 4_000_000);
        for column in &spectrogram.density {
            let highest =
                (0..column.len()).max_by(|a, b| column[*a].total_cmp(&column[*b]));
            // 50 Hz in steps of 250 / 256 Hz.
            assert_eq!(highest, Some(51));
            // The power of a sine is half of the square of its amplitude.
            let power: f64 = column.iter().map(|d| f64::from(*d) * 250.0 / 256.0).sum();
            assert!((power - 4.5).abs() < 0.1, "{power}");
        }
    }
}
