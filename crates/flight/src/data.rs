//! The columns of a log that the analyses read.

use std::collections::BTreeMap;

use crate::spectrogram::Spectrogram;

/// The columns of one instance of a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name of the topic.
    pub topic: String,
    /// The instance of the topic; 0 is the first.
    pub instance: u32,
    /// The times in nanoseconds on the clock of the log, in the order of the file.
    pub times: Vec<i64>,
    columns: Vec<(String, Vec<f32>)>,
}

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
    /// The dropouts of the logger.
    pub dropouts: Vec<Dropout>,
    /// The number of hard fault dumps in the log.
    pub hard_faults: u64,
    /// The spectrograms of signals with high rates. They are built while the signals are read, so
    /// that the signals need not be in `series`: the [acceleration](crate::ACCELERATION), and the
    /// FIFO samples of `sensor_gyro_fifo` and `sensor_accel_fifo`.
    pub streamed_spectrograms: Vec<Spectrogram>,
}

impl Series {
    /// Creates a series without columns, with one row for each of `times`.
    pub fn new(topic: impl Into<String>, instance: u32, times: Vec<i64>) -> Self {
        Self { topic: topic.into(), instance, times, columns: Vec::new() }
    }

    /// Adds the column `name`. Excess values are ignored, and missing values are NaN.
    pub fn add_column(&mut self, name: impl Into<String>, mut values: Vec<f32>) {
        values.resize(self.times.len(), f32::NAN);
        self.columns.push((name.into(), values));
    }

    /// Returns the values of the column `name`, one for each row; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&[f32]> {
        let column = self.columns.iter().find(|(column_name, _)| column_name == name);
        column.map(|(_, values)| values.as_slice())
    }

    /// Returns the value of the column `name` in `row`, if it is not NaN.
    pub(crate) fn value(&self, name: &str, row: usize) -> Option<f64> {
        let value = *self.column(name)?.get(row)?;
        (!value.is_nan()).then_some(f64::from(value))
    }

    /// Returns the first existing column of those called `names`.
    pub(crate) fn first_column(&self, names: &[&str]) -> Option<&[f32]> {
        names.iter().find_map(|name| self.column(name))
    }

    /// Returns the full name of a field of this series: `topic.field` for the first instance, and
    /// `topic.instance.field` for the others.
    pub(crate) fn label(&self, field: &str) -> String {
        let Self { topic, instance, .. } = self;
        if *instance == 0 {
            format!("{topic}.{field}")
        } else {
            format!("{topic}.{instance}.{field}")
        }
    }

    /// Returns the median time between two rows in nanoseconds.
    pub(crate) fn median_interval(&self) -> Option<i64> {
        median_interval(&self.times)
    }
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

    /// Returns the value of the parameter `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.get(name).copied()
    }
}

/// Returns the median of the positive differences between successive `times`.
pub(crate) fn median_interval(times: &[i64]) -> Option<i64> {
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut intervals: Vec<i64> = pairs
        .map(|(a, b)| b.saturating_sub(*a))
        .filter(|interval| *interval > 0)
        .collect();
    if intervals.is_empty() {
        return None;
    }
    let middle = intervals.len() / 2;
    let (_, median, _) = intervals.select_nth_unstable(middle);
    Some(*median)
}

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
