//! The correlation of the magnetic field with the thrust.

use serde::Serialize;

use crate::data::FlightData;
use crate::series::Series;

/// The minimum number of samples of a correlation.
const MIN_SAMPLES: usize = 50;

/// The correlation of the strength of the magnetic field with the thrust. The two should not be
/// correlated: a correlation means that the motor currents disturb the compass (PX4 user guide, "Log
/// Analysis using Flight Review").
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Correlation {
    /// Pearson's coefficient, from -1 to 1.
    pub coefficient: f64,
    /// The change of the field per unit of thrust, in gauss.
    pub slope_ga: f64,
    /// The range of the thrust, from its 5th to its 95th percentile.
    pub thrust_range: f64,
    /// The mean strength of the field in gauss.
    pub mean_field_ga: f64,
    /// The number of samples.
    pub samples: usize,
}

impl Correlation {
    /// Returns the change of the field over the range of the thrust, in gauss.
    pub fn field_change_ga(&self) -> f64 {
        (self.slope_ga * self.thrust_range).abs()
    }
}

/// The topics with the magnetic field. PX4 before 1.8 logs it in the second one.
const FIELD_TOPICS: [&str; 2] = ["vehicle_magnetometer", "sensor_combined"];

/// Returns the series of the magnetic field, and its strength in gauss for each row. `None` if the
/// field is not logged.
pub(crate) fn field_strength(data: &FlightData) -> Option<(&Series, Vec<f64>)> {
    let has_field = |series: &&Series| series.column("magnetometer_ga[0]").is_some();
    let mut topics = FIELD_TOPICS.iter().filter_map(|name| data.first_instance(name));
    let series = topics.find(has_field)?;
    let column = |axis: usize| series.column(&format!("magnetometer_ga[{axis}]"));
    let (x, y, z) = (column(0)?, column(1)?, column(2)?);
    let strength = x
        .iter()
        .zip(y)
        .zip(z)
        .map(|((x, y), z)| f64::from(*x).hypot(f64::from(*y)).hypot(f64::from(*z)));
    Some((series, strength.collect()))
}

/// Returns the thrust, from 0 to 1, with its times in nanoseconds, where it is finite. New logs have
/// the thrust vector. Old logs have the thrust as the fourth control of the first actuator group.
fn thrust(data: &FlightData) -> Option<Vec<(i64, f64)>> {
    if let Some(series) = data.first_instance("vehicle_thrust_setpoint") {
        let column = |axis: usize| series.column(&format!("xyz[{axis}]"));
        let (x, y, z) = (column(0)?, column(1)?, column(2)?);
        let norm =
            x.iter().zip(y).zip(z).map(|((x, y), z)| {
                f64::from(*x).hypot(f64::from(*y)).hypot(f64::from(*z))
            });
        return Some(finite_samples(series, norm));
    }
    let series = data.first_instance("actuator_controls_0")?;
    let thrust = series.column("control[3]")?;
    Some(finite_samples(series, thrust.iter().copied().map(f64::from)))
}

/// Returns the finite ones of `values`, with the times of their rows.
pub(crate) fn finite_samples(
    series: &Series,
    values: impl Iterator<Item = f64>,
) -> Vec<(i64, f64)> {
    let samples = series.times.iter().copied().zip(values);
    samples.filter(|(_, value)| value.is_finite()).collect()
}

/// Correlates the magnetic field with the thrust. The thrust is interpolated linearly at the times
/// of the field. Returns `None` if one of both is missing or constant, or if there are fewer than
/// 50 samples.
pub fn correlate_thrust_and_field(data: &FlightData) -> Option<Correlation> {
    let (field, strength) = field_strength(data)?;
    let thrust_samples = sorted(thrust(data)?);
    let (first, last) = (thrust_samples.first()?.0, thrust_samples.last()?.0);
    let samples: Vec<(f64, f64)> = field
        .times
        .iter()
        .zip(strength)
        .filter(|(time, field)| (first..=last).contains(*time) && field.is_finite())
        .filter_map(|(time, field)| Some((interpolate(&thrust_samples, *time)?, field)))
        .collect();
    if samples.len() < MIN_SAMPLES {
        return None;
    }
    let count = samples.len() as f64;
    let mean_thrust = samples.iter().map(|(thrust, _)| thrust).sum::<f64>() / count;
    let mean_field_ga = samples.iter().map(|(_, field)| field).sum::<f64>() / count;
    let (mut covariance, mut thrust_variance, mut field_variance) = (0.0, 0.0, 0.0);
    for (thrust, field) in &samples {
        let (thrust, field) = (thrust - mean_thrust, field - mean_field_ga);
        covariance += thrust * field;
        thrust_variance += thrust * thrust;
        field_variance += field * field;
    }
    if thrust_variance <= 0.0 || field_variance <= 0.0 {
        return None;
    }
    let mut thrusts: Vec<f64> = samples.iter().map(|(thrust, _)| *thrust).collect();
    thrusts.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let index = share * (thrusts.len() - 1) as f64;
        thrusts.get(index.round() as usize).copied().unwrap_or_default()
    };
    Some(Correlation {
        coefficient: covariance / (thrust_variance * field_variance).sqrt(),
        slope_ga: covariance / thrust_variance,
        thrust_range: quantile(0.95) - quantile(0.05),
        mean_field_ga,
        samples: samples.len(),
    })
}

/// Sorts samples by time. The samples of most logs are sorted already.
pub(crate) fn sorted(mut samples: Vec<(i64, f64)>) -> Vec<(i64, f64)> {
    if !samples.is_sorted_by_key(|(time, _)| *time) {
        samples.sort_by_key(|(time, _)| *time);
    }
    samples
}

/// Interpolates linearly between the samples before and after `time`. `samples` are sorted by time.
/// Before the first and after the last sample, the value is that of the nearest sample. Returns
/// `None` without samples.
pub(crate) fn interpolate(samples: &[(i64, f64)], time: i64) -> Option<f64> {
    let next = samples.partition_point(|(sample_time, _)| *sample_time < time);
    let (end, end_value) = *samples.get(next).or_else(|| samples.last())?;
    if end <= time {
        return Some(end_value);
    }
    let previous = next.checked_sub(1).and_then(|index| samples.get(index));
    let Some((start, start_value)) = previous else { return Some(end_value) };
    let interval = end.saturating_sub(*start) as f64;
    let fraction = time.saturating_sub(*start) as f64 / interval;
    Some(start_value + (end_value - start_value) * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_that_follows_the_thrust_is_correlated() {
        let times: Vec<i64> = (0..100).map(|n| n * 10_000_000).collect();
        let mut thrust = Series::new("vehicle_thrust_setpoint", 0, times.clone());
        let ramp: Vec<f32> = (0..100).map(|n| n as f32 / 100.0).collect();
        thrust.add_column("xyz[0]", vec![0.0; 100]);
        thrust.add_column("xyz[1]", vec![0.0; 100]);
        thrust.add_column("xyz[2]", ramp.iter().map(|t| -t).collect());
        let mut field = Series::new("vehicle_magnetometer", 0, times);
        field.add_column(
            "magnetometer_ga[0]",
            ramp.iter().map(|t| 0.4 + 0.5 * t).collect(),
        );
        field.add_column("magnetometer_ga[1]", vec![0.0; 100]);
        field.add_column("magnetometer_ga[2]", vec![0.0; 100]);
        let data = FlightData::new((0, 1_000_000_000)).with_series([thrust, field]);
        let correlation = correlate_thrust_and_field(&data).unwrap();
        assert!((correlation.coefficient - 1.0).abs() < 1e-6, "{correlation:?}");
        assert!((correlation.slope_ga - 0.5).abs() < 1e-6, "{correlation:?}");
        assert!((correlation.field_change_ga() - 0.45).abs() < 0.01, "{correlation:?}");
    }

    #[test]
    fn interpolation_is_linear_and_holds_the_ends() {
        let samples = [(0, 1.0), (10, 3.0)];
        let value = |time| interpolate(&samples, time);
        assert_eq!((value(-5), value(5), value(20)), (Some(1.0), Some(2.0), Some(3.0)));
        assert_eq!(interpolate(&[], 0), None);
    }
}
