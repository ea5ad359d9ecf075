//! The data of a log that the analyses read.

use std::collections::BTreeMap;

use crate::{
    rotation::RotationMaxima, sampling::SamplingRegularity, series::Series,
    spectrogram::Spectrogram,
};

/// The field of `vehicle_imu_status` with the vibration.
pub(crate) const VIBRATION: &str = "accel_vibration_metric";

/// A period in which the logger lost data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The time of the last record before the dropout, in nanoseconds on the clock of the log.
    pub time: i64,
    /// The duration in seconds.
    pub seconds: f64,
}

/// The columns, parameters and dropouts of a log that the analyses read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FlightData {
    /// The first and the last time of the log, in nanoseconds on its clock.
    pub time: (i64, i64),
    /// The collected topics.
    pub series: Vec<Series>,
    /// The last value of each parameter.
    pub parameters: BTreeMap<String, f64>,
    /// The name of each flight mode, by its value of `vehicle_status.nav_state`.
    pub mode_names: BTreeMap<u8, String>,
    /// The names of the values of states, by `message.field`, e.g. `sensor_gps.jamming_state`.
    pub value_names: BTreeMap<String, BTreeMap<i64, String>>,
    /// The names of the bits of fields, by `message.field`, e.g. `esc_report.failures`. Those of
    /// [`FILTER_FAULTS`](crate::FILTER_FAULTS) are among
    /// [`filter_fault_flags`](crate::filter_fault_flags).
    pub bit_names: BTreeMap<String, BTreeMap<u32, String>>,
    /// Whether `vehicle_imu_status.accel_vibration_metric` is a velocity, as in PX4 before 1.13.
    pub vibration_is_velocity: bool,
    /// The dropouts of the logger.
    pub dropouts: Vec<Dropout>,
    /// The number of hard fault dumps in the log.
    pub hard_faults: u64,
    /// The spectrograms of signals with high rates. They are built while the signals are read, so
    /// that the signals need not be in `series`: the [acceleration](crate::ACCELERATION), and the
    /// FIFO samples of `sensor_gyro_fifo` and `sensor_accel_fifo`.
    pub streamed_spectrograms: Vec<Spectrogram>,
    /// The rotation of the vehicle in the topics of [`ROTATION_SOURCES`](crate::ROTATION_SOURCES),
    /// which need not be in `series`.
    pub rotation: Vec<RotationMaxima>,
    /// The sampling regularity of topics that are not in `series`, in alphabetical order.
    pub streamed_sampling: Vec<SamplingRegularity>,
}

impl FlightData {
    /// Creates the data of a log without topics, from its first and its last time in nanoseconds.
    pub fn new(time: (i64, i64)) -> Self {
        Self { time, ..Self::default() }
    }

    /// Adds topics.
    #[must_use]
    pub fn with_series(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }

    /// Adds parameters.
    #[must_use]
    pub fn with_parameters(
        mut self,
        parameters: impl IntoIterator<Item = (String, f64)>,
    ) -> Self {
        self.parameters.extend(parameters);
        self
    }

    /// Returns the first instance of `topic`.
    pub(crate) fn first_instance(&self, topic: &str) -> Option<&Series> {
        self.instances(topic).min_by_key(|series| series.instance)
    }

    /// Returns all instances of `topic`.
    pub(crate) fn instances<'s>(
        &'s self,
        topic: &str,
    ) -> impl Iterator<Item = &'s Series> {
        let has_topic = |series: &&Series| series.topic == *topic;
        self.series.iter().filter(has_topic).collect::<Vec<_>>().into_iter()
    }

    /// Returns the name of a value of the field with this [label](Series::label), if it is a state.
    pub(crate) fn value_name(&self, label: &str, value: f64) -> Option<String> {
        let (topic, field) = label.rsplit_once('.')?;
        let message = topic.split('.').next().unwrap_or(topic);
        let names = self.value_names.get(&format!("{message}.{field}"))?;
        names.get(&(value as i64)).filter(|_| value.fract() == 0.0).cloned()
    }

    /// Returns the names of the bits that are set in `flags`, the value of the field `name`, e.g. "motor
    /// stuck". A bit without a name has its number. `prefix` is left out of the names.
    pub(crate) fn bits(&self, name: &str, prefix: &str, flags: u32) -> Vec<String> {
        let names = self.bit_names.get(name);
        let name = |bit: u32| match names.and_then(|names| names.get(&bit)) {
            Some(name) => {
                let short = name.strip_prefix(prefix).unwrap_or(name);
                short.to_lowercase().replace('_', " ")
            }
            None => format!("bit {bit}"),
        };
        (0..u32::BITS).filter(|bit| (flags >> bit) & 1 == 1).map(name).collect()
    }

    /// Returns the vibration of the accelerometer of `imu` in m/s², one value for each row, or
    /// `None` if the log has it as a velocity.
    pub(crate) fn vibration<'s>(&self, imu: &'s Series) -> Option<&'s [f32]> {
        imu.column(VIBRATION).filter(|_| !self.vibration_is_velocity)
    }

    /// Returns the value of the parameter `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.get(name).copied()
    }
}
