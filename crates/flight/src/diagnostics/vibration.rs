//! Vibration and clipping of the accelerometers.

use crate::{
    data::{FlightData, VIBRATION},
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::topic_name,
    phases::Phases,
    statistics::Average,
};

/// The limits of `accel_vibration_metric` in m/s²: half and once the standard gravity (Flight
/// Review, plot "Vibration Metrics"; flight-review-rs, `analysis.rs`).
const VIBRATION_M_S2: f64 = 4.905;
const CRITICAL_VIBRATION_M_S2: f64 = 9.81;
/// The limits of its maximum: once and twice the standard gravity (flight-review-rs, pull request 14).
const PEAK_M_S2: f64 = 9.81;
const CRITICAL_PEAK_M_S2: f64 = 19.62;

/// The numbers of clipped samples that are a warning and critical. PX4 warns of more than 1000
/// (`VehicleIMU.cpp`).
const CLIPPED_SAMPLES: f64 = 100.0;
const CRITICAL_CLIPPED_SAMPLES: f64 = 1000.0;

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for imu in data.instances("vehicle_imu_status") {
        let rows = || {
            let times = imu.times.iter().enumerate();
            times.filter(|(_, time)| phases.is_underway(**time))
        };
        let mut period: Option<(i64, i64)> = None;
        for (_, time) in rows() {
            period = Some((period.map_or(*time, |(start, _)| start), *time));
        }
        let Some(period) = period else { continue };

        let vibration = data.vibration(imu).unwrap_or_default();
        let value = |row: usize| vibration.get(row).map(|value| f64::from(*value));
        let mut metric = Average::default();
        for (row, _) in rows() {
            metric.add(value(row).unwrap_or(f64::NAN));
        }
        if let Some((mean, max)) = metric.mean().zip(metric.max)
            && (mean > VIBRATION_M_S2 || max > PEAK_M_S2)
        {
            let is_critical =
                mean > CRITICAL_VIBRATION_M_S2 || max > CRITICAL_PEAK_M_S2;
            // It lasts from the first to the last value above the limit that is exceeded.
            let limit = if mean > VIBRATION_M_S2 { VIBRATION_M_S2 } else { PEAK_M_S2 };
            let is_strong = |row: usize| value(row).is_some_and(|value| value > limit);
            let strong =
                rows().filter(|(row, _)| is_strong(*row)).map(|(_, time)| *time);
            let ends = strong.fold(None, |ends: Option<(i64, i64)>, time| {
                Some((ends.map_or(time, |(first, _)| first), time))
            });
            let period = ends.unwrap_or(period);
            let severity =
                if is_critical { Severity::Critical } else { Severity::Warning };
            let field = imu.label(VIBRATION);
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::Vibration,
                    severity,
                    period,
                    topic_name(imu),
                    format!(
                        "the accelerometer vibrated by {mean:.1} m/s² on average in the air, \
                         at most by {max:.1} m/s²"
                    ),
                )
                .with_evidence(format!("mean of {field}"), mean, "m/s²", Some(VIBRATION_M_S2))
                .with_evidence(format!("maximum of {field}"), max, "m/s²", Some(PEAK_M_S2)),
            );
        }

        let mut clipped = 0.0;
        for axis in 0..3 {
            let field = format!("accel_clipping[{axis}]");
            let mut last_count: Option<f64> = None;
            for (row, _) in rows() {
                let Some(count) = imu.value(&field, row) else { continue };
                // A counter that decreases has been reset.
                let step = count - last_count.replace(count).unwrap_or(count);
                clipped += step.max(0.0);
            }
        }
        if clipped > CLIPPED_SAMPLES {
            let is_critical = clipped > CRITICAL_CLIPPED_SAMPLES;
            let severity =
                if is_critical { Severity::Critical } else { Severity::Warning };
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::Clipping,
                    severity,
                    period,
                    topic_name(imu),
                    format!("the accelerometer reached its limits {clipped:.0} times in the air"),
                )
                .with_evidence(imu.label("accel_clipping"), clipped, "", Some(CLIPPED_SAMPLES)),
            );
        }
    }
    diagnoses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    const SECOND: i64 = 1_000_000_000;

    fn diagnoses(metric: f32, clipped_each_second: f32) -> Vec<Diagnosis> {
        let times: Vec<i64> = (0..20).map(|second| second * SECOND).collect();
        let mut land = Series::new("vehicle_land_detected", 0, vec![0, 5 * SECOND]);
        land.add_column("landed", vec![1.0, 0.0]);
        let mut imu = Series::new("vehicle_imu_status", 2, times);
        // On the ground, the vehicle is carried.
        let metrics = (0..20).map(|row| if row < 5 { 40.0 } else { metric }).collect();
        imu.add_column("accel_vibration_metric", metrics);
        let counts = (0..20).map(|row| clipped_each_second * row as f32).collect();
        imu.add_column("accel_clipping[1]", counts);
        let data = FlightData::new((0, 20 * SECOND)).with_series([land, imu]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    #[test]
    fn mean_vibration_in_the_air_decides() {
        assert_eq!(diagnoses(3.0, 0.0), []);
        let found = diagnoses(6.0, 0.0);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert_eq!((found[0].evidence[0].value, found[0].start_ns), (6.0, 5 * SECOND));
        assert_eq!(diagnoses(11.0, 0.0)[0].severity, Severity::Critical);
    }

    #[test]
    fn short_strong_vibration_is_found_by_its_maximum() {
        let burst = |peak: f32| {
            let times: Vec<i64> = (0..40).map(|second| second * SECOND).collect();
            let mut status = Series::new("vehicle_status", 0, vec![0]);
            status.add_column("arming_state", vec![2.0]);
            let mut imu = Series::new("vehicle_imu_status", 0, times);
            let metric = |row| if (20..22).contains(&row) { peak } else { 1.0 };
            imu.add_column("accel_vibration_metric", (0..40).map(metric).collect());
            let data = FlightData::new((0, 40 * SECOND)).with_series([status, imu]);
            let phases = Phases::new(&data);
            let found = diagnose(&data, &phases);
            let times = |d: &Diagnosis| (d.severity, d.start_ns, d.end_ns);
            found.iter().map(times).collect::<Vec<_>>()
        };
        assert_eq!(burst(9.8), []);
        let times = (20 * SECOND, 21 * SECOND);
        assert_eq!(burst(12.0), [(Severity::Warning, times.0, times.1)]);
        assert_eq!(burst(34.0), [(Severity::Critical, times.0, times.1)]);
    }

    #[test]
    fn velocity_of_old_releases_is_no_acceleration() {
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let mut imu = Series::new("vehicle_imu_status", 0, vec![0, SECOND, 2 * SECOND]);
        imu.add_column(VIBRATION, vec![30.0; 3]);
        let mut data = FlightData::new((0, 3 * SECOND)).with_series([status, imu]);
        assert_eq!(crate::analyze(&data).statistics.max_vibration_m_s2, Some(30.0));
        data.vibration_is_velocity = true;
        let analysis = crate::analyze(&data);
        assert_eq!(
            (analysis.statistics.max_vibration_m_s2, analysis.diagnoses.len()),
            (None, 0)
        );
        assert_eq!(analysis.seconds_of_kind(DiagnosisKind::Vibration), None);
    }

    #[test]
    fn clipped_samples_in_the_air_are_counted() {
        assert_eq!(diagnoses(1.0, 7.0), []);
        let found = diagnoses(1.0, 10.0);
        assert_eq!(
            (found[0].kind, found[0].evidence[0].value),
            (DiagnosisKind::Clipping, 140.0)
        );
        assert_eq!(diagnoses(1.0, 100.0)[0].severity, Severity::Critical);
    }
}
