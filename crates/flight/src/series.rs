//! The columns of a topic.

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
        median_interval(self.times.iter().copied())
    }
}

/// Returns the median of the positive differences between successive `times`.
pub(crate) fn median_interval(times: impl Iterator<Item = i64> + Clone) -> Option<i64> {
    let pairs = times.clone().zip(times.skip(1));
    let mut intervals: Vec<i64> = pairs
        .map(|(a, b)| b.saturating_sub(a))
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
