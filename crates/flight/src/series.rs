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

    /// Returns the mean time between two rows in seconds, without gaps and times that do not increase.
    pub(crate) fn mean_interval_s(&self) -> Option<f64> {
        let pairs = self.times.iter().zip(self.times.iter().skip(1));
        let intervals = pairs.map(|(a, b)| b.saturating_sub(*a));
        let intervals = intervals.filter_map(|interval| u64::try_from(interval).ok());
        let counts = intervals.filter(|interval| *interval > 0).map(|own| (own, 1));
        mean_interval(counts).map(|nanos| nanos / 1e9)
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

/// An interval that is this many times as long as the mean is a gap.
const GAP: f64 = 10.0;

/// Returns the mean of intervals in nanoseconds without gaps, from the different intervals and the
/// number of times that each occurs. It is the rate of a topic that is logged unevenly, where the median
/// is not.
pub fn mean_interval(counts: impl Iterator<Item = (u64, u64)> + Clone) -> Option<f64> {
    let mean_below = |limit: f64| {
        let counts = counts.clone().filter(|(interval, _)| *interval as f64 <= limit);
        let (sum, number) =
            counts.fold((0.0, 0), |(sum, number), (interval, count)| {
                (sum + interval as f64 * count as f64, number + count)
            });
        (number > 0).then(|| sum / number as f64)
    };
    mean_below(GAP * mean_below(f64::INFINITY)?)
}

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_interval_is_that_of_uneven_records_without_gaps() {
        // 8, 8 and 14 ms: 100 Hz, with a pause of two seconds.
        let intervals = [8, 8, 14].into_iter().cycle().take(300);
        let (mut time, mut times) = (0_i64, vec![0]);
        for (index, interval) in intervals.enumerate() {
            time += (interval + if index == 150 { 2000 } else { 0 }) * 1_000_000;
            times.push(time);
        }
        let mean = Series::new("t", 0, times).mean_interval_s().unwrap();
        assert!((mean - 0.01).abs() < 1e-4, "{mean}");
        assert_eq!(Series::new("t", 0, vec![5]).mean_interval_s(), None);
    }
}
