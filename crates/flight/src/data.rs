//! The numbers of a log that analyses read.

use std::collections::BTreeMap;

use crate::spectrogram::Spectrogram;

/// The columns of one instance of a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name of the topic.
    pub topic: String,
    /// The instance of the topic.
    pub instance: u32,
    /// The times in nanoseconds on the clock of the log, in the order of the file.
    pub times: Vec<i64>,
    columns: Vec<(String, Vec<f32>)>,
}

/// A period in which the logger lost data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The time of the last record before it, in nanoseconds on the clock of the log.
    pub time: i64,
    /// How long it lasted, in seconds.
    pub seconds: f64,
}

/// The numbers of a log that analyses read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FlightData {
    /// The first and the last time of the log, in nanoseconds on its clock.
    pub time: (i64, i64),
    /// The collected topics.
    pub series: Vec<Series>,
    /// The last values of the parameters.
    pub parameters: BTreeMap<String, f64>,
    /// The names of the values of `vehicle_status.nav_state`.
    pub mode_names: BTreeMap<u8, String>,
    /// The dropouts of the logger.
    pub dropouts: Vec<Dropout>,
    /// The number of hard faults that are described in the log.
    pub hard_faults: u64,
    /// The spectrograms of signals of high rates, which are built while they are read: that of
    /// the [acceleration](crate::ACCELERATION), unless it is in `series`, and those of samples
    /// that arrive in bursts (`sensor_gyro_fifo`, `sensor_accel_fifo`).
    pub streamed_spectrograms: Vec<Spectrogram>,
}

impl Series {
    /// Creates a series without columns, whose rows have these times.
    pub fn new(topic: impl Into<String>, instance: u32, times: Vec<i64>) -> Self {
        Self { topic: topic.into(), instance, times, columns: Vec::new() }
    }

    /// Adds the column `name`. Values beyond the number of rows are ignored, and missing ones
    /// are NaN.
    pub fn add_column(&mut self, name: impl Into<String>, mut values: Vec<f32>) {
        values.resize(self.times.len(), f32::NAN);
        self.columns.push((name.into(), values));
    }

    /// Returns the values of the column `name`, one for each time, if there is one.
    pub fn column(&self, name: &str) -> Option<&[f32]> {
        let column = self.columns.iter().find(|(own, _)| own == name);
        column.map(|(_, values)| values.as_slice())
    }

    /// Returns the value of the column `name` in `row`, if it is a number.
    pub(crate) fn value(&self, name: &str, row: usize) -> Option<f64> {
        let value = *self.column(name)?.get(row)?;
        (!value.is_nan()).then_some(f64::from(value))
    }

    /// Returns the first of the columns called `names` that there is.
    pub(crate) fn first_column(&self, names: &[&str]) -> Option<&[f32]> {
        names.iter().find_map(|name| self.column(name))
    }

    /// Returns the name of a field of this series, as `topic.instance.field`; the first
    /// instance has no number.
    pub(crate) fn label(&self, field: &str) -> String {
        let Self { topic, instance, .. } = self;
        if *instance == 0 {
            format!("{topic}.{field}")
        } else {
            format!("{topic}.{instance}.{field}")
        }
    }

    /// Returns the median time between two rows, in nanoseconds.
    pub(crate) fn median_interval(&self) -> Option<i64> {
        median_interval(&self.times)
    }
}

impl FlightData {
    /// Creates the data of a log that lasts from the first to the second of these times.
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
    pub(crate) fn first(&self, topic: &str) -> Option<&Series> {
        self.all(topic).min_by_key(|series| series.instance)
    }

    /// Returns all instances of `topic`.
    pub(crate) fn all<'s>(&'s self, topic: &str) -> impl Iterator<Item = &'s Series> {
        let of_topic = move |series: &&Series| series.topic == *topic;
        self.series.iter().filter(of_topic).collect::<Vec<_>>().into_iter()
    }

    /// Returns the value of the parameter `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.get(name).copied()
    }
}

/// Returns the median of the differences between `times` that are positive.
pub(crate) fn median_interval(times: &[i64]) -> Option<i64> {
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut steps: Vec<i64> =
        pairs.map(|(a, b)| b.saturating_sub(*a)).filter(|step| *step > 0).collect();
    if steps.is_empty() {
        return None;
    }
    let middle = steps.len() / 2;
    let (_, median, _) = steps.select_nth_unstable(middle);
    Some(*median)
}

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
