//! How far the magnetic field follows the thrust.

use serde::Serialize;

use crate::data::{FlightData, Series};

/// The fewest samples from which a correlation is computed.
const LEAST_SAMPLES: usize = 50;

/// How far the strength of the magnetic field follows the thrust. Flight Review's guide asks
/// for none: currents of the motors disturb the compass.
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

/// The topics with the magnetic field. The second one has it in releases before 1.8.
const FIELD_TOPICS: [&str; 2] = ["vehicle_magnetometer", "sensor_combined"];

/// Returns the strength of the magnetic field at each time, if it is logged.
pub(crate) fn field_strength(data: &FlightData) -> Option<(&Series, Vec<f64>)> {
    let has_field = |series: &&Series| series.column("magnetometer_ga[0]").is_some();
    let mut topics = FIELD_TOPICS.iter().filter_map(|name| data.first(name));
    let series = topics.find(has_field)?;
    let of = |axis: usize| series.column(&format!("magnetometer_ga[{axis}]"));
    let (x, y, z) = (of(0)?, of(1)?, of(2)?);
    let strength = x
        .iter()
        .zip(y)
        .zip(z)
        .map(|((x, y), z)| f64::from(*x).hypot(f64::from(*y)).hypot(f64::from(*z)));
    Some((series, strength.collect()))
}

/// Returns the times and the thrust, from 0 to 1, where it is known. New logs have its vector, old ones the fourth
/// control of the first group.
fn thrust(data: &FlightData) -> Option<Vec<(i64, f64)>> {
    if let Some(series) = data.first("vehicle_thrust_setpoint") {
        let of = |axis: usize| series.column(&format!("xyz[{axis}]"));
        let (x, y, z) = (of(0)?, of(1)?, of(2)?);
        let norm =
            x.iter().zip(y).zip(z).map(|((x, y), z)| {
                f64::from(*x).hypot(f64::from(*y)).hypot(f64::from(*z))
            });
        return Some(finite(series, norm));
    }
    let series = data.first("actuator_controls_0")?;
    let thrust = series.column("control[3]")?;
    Some(finite(series, thrust.iter().copied().map(f64::from)))
}

/// Returns the times and the values that are finite.
fn finite(series: &Series, values: impl Iterator<Item = f64>) -> Vec<(i64, f64)> {
    let all = series.times.iter().copied().zip(values);
    all.filter(|(_, value)| value.is_finite()).collect()
}

/// Correlates the magnetic field with the thrust, which is interpolated linearly at its times.
/// `None` if the log does not have both, or one does not change.
pub fn thrust_and_field(data: &FlightData) -> Option<Correlation> {
    let (field, strength) = field_strength(data)?;
    let known = sorted(thrust(data)?);
    let (first, last) = (known.first()?.0, known.last()?.0);
    let pairs: Vec<(f64, f64)> = field
        .times
        .iter()
        .zip(strength)
        .filter(|(time, field)| (first..=last).contains(*time) && field.is_finite())
        .filter_map(|(time, field)| Some((interpolate(&known, *time)?, field)))
        .collect();
    if pairs.len() < LEAST_SAMPLES {
        return None;
    }
    let count = pairs.len() as f64;
    let mean_thrust = pairs.iter().map(|(thrust, _)| thrust).sum::<f64>() / count;
    let mean_field_ga = pairs.iter().map(|(_, field)| field).sum::<f64>() / count;
    let (mut both, mut of_thrust, mut of_field) = (0.0, 0.0, 0.0);
    for (thrust, field) in &pairs {
        let (thrust, field) = (thrust - mean_thrust, field - mean_field_ga);
        both += thrust * field;
        of_thrust += thrust * thrust;
        of_field += field * field;
    }
    if of_thrust <= 0.0 || of_field <= 0.0 {
        return None;
    }
    let mut thrusts: Vec<f64> = pairs.iter().map(|(thrust, _)| *thrust).collect();
    thrusts.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let place = share * (thrusts.len() - 1) as f64;
        thrusts.get(place.round() as usize).copied().unwrap_or_default()
    };
    Some(Correlation {
        coefficient: both / (of_thrust * of_field).sqrt(),
        slope_ga: both / of_thrust,
        thrust_range: quantile(0.95) - quantile(0.05),
        mean_field_ga,
        samples: pairs.len(),
    })
}

/// Sorts samples by time. Most logs already are.
pub(crate) fn sorted(mut samples: Vec<(i64, f64)>) -> Vec<(i64, f64)> {
    if !samples.is_sorted_by_key(|(time, _)| *time) {
        samples.sort_by_key(|(time, _)| *time);
    }
    samples
}

/// Returns the value at `time` on the line between its neighbours in `samples`, which are sorted.
pub(crate) fn interpolate(samples: &[(i64, f64)], time: i64) -> Option<f64> {
    let after = samples.partition_point(|(own, _)| *own < time);
    let (end, to) = *samples.get(after).or_else(|| samples.last())?;
    if end <= time {
        return Some(to);
    }
    let Some((start, from)) = after.checked_sub(1).and_then(|at| samples.get(at))
    else {
        return Some(to);
    };
    let span = end.saturating_sub(*start) as f64;
    let share = time.saturating_sub(*start) as f64 / span;
    Some(from + (to - from) * share)
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
        let found = thrust_and_field(&data).unwrap();
        assert!((found.coefficient - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.slope_ga - 0.5).abs() < 1e-6, "{found:?}");
        assert!((found.field_change_ga() - 0.45).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn interpolation_is_linear_and_holds_the_ends() {
        let samples = [(0, 1.0), (10, 3.0)];
        let at = |time| interpolate(&samples, time);
        assert_eq!((at(-5), at(5), at(20)), (Some(1.0), Some(2.0), Some(3.0)));
        assert_eq!(interpolate(&[], 0), None);
    }
}
