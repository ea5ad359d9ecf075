//! A Kalman filter of positions.

use crate::functions::{
    Function, Group, Kernel, Kind, Table,
    estimators::{Measurement, POSITION_OUTPUTS, follow_measurements},
    optional, parameter,
};

pub(super) const POSITION_KALMAN: Function = Function {
    name: "position_kalman",
    group: Group::Models,
    parameters: &[
        parameter("acceleration", Kind::Vector3),
        parameter("q", Kind::Quaternion),
        parameter("lat", Kind::Degrees),
        parameter("lon", Kind::Degrees),
        parameter("velocity_north", Kind::Scalar),
        parameter("velocity_east", Kind::Scalar),
        optional("position_noise", 1.0),
        optional("velocity_noise", 0.3),
        optional("acceleration_noise", 0.5),
    ],
    summary: "like position_estimate, with a Kalman filter for each direction. Its state is the \
              position and the velocity, and starts at the first GPS values with their noise. The \
              acceleration predicts it: F = [1 dt; 0 1], B = [dt² / 2; dt], Q = B Bᵀ · \
              `acceleration_noise`². Each new GPS value corrects both, with R = \
              diag(`position_noise`², `velocity_noise`²). The noises are standard deviations in \
              m, m/s and m/s²",
    source: "R. E. Kalman 1960; FlightPlot's PositionEstimatorKF estimates the same",
    is_variadic: false,
    output: POSITION_OUTPUTS,
    kernel: Kernel::Table(position_kalman),
};

/// The state of a filter along one axis: the position and the velocity, and their covariance.
#[derive(Clone, Copy)]
struct AxisFilter {
    position: f64,
    velocity: f64,
    /// The variance of the position, the covariance, and the variance of the velocity.
    covariance: [f64; 3],
}

impl AxisFilter {
    /// Starts at the measured position and velocity with these variances.
    fn new(
        measured: Measurement,
        position_variance: f64,
        velocity_variance: f64,
    ) -> Self {
        Self {
            position: measured.position,
            velocity: measured.velocity,
            covariance: [position_variance, 0.0, velocity_variance],
        }
    }

    /// Predicts the state `seconds` later.
    fn predict(&mut self, acceleration: f64, seconds: f64, variance: f64) {
        let half_square = seconds * seconds / 2.0;
        self.position += self.velocity * seconds + acceleration * half_square;
        self.velocity += acceleration * seconds;
        let [position, covariance, velocity] = self.covariance;
        self.covariance = [
            position
                + 2.0 * seconds * covariance
                + seconds * seconds * velocity
                + half_square * half_square * variance,
            covariance + seconds * velocity + half_square * seconds * variance,
            velocity + seconds * seconds * variance,
        ];
    }

    /// Corrects the state by a measured position and velocity with these variances.
    fn correct(
        &mut self,
        measured: Measurement,
        position_variance: f64,
        velocity_variance: f64,
    ) {
        let [position, covariance, velocity] = self.covariance;
        // The innovation covariance S = P + R, a 2 × 2 matrix, and its inverse.
        let (a, c) = (position + position_variance, velocity + velocity_variance);
        let determinant = a * c - covariance * covariance;
        let inverse = [c / determinant, -covariance / determinant, a / determinant];
        // K = P S⁻¹.
        let gain = [
            [
                position * inverse[0] + covariance * inverse[1],
                position * inverse[1] + covariance * inverse[2],
            ],
            [
                covariance * inverse[0] + velocity * inverse[1],
                covariance * inverse[1] + velocity * inverse[2],
            ],
        ];
        let errors =
            [measured.position - self.position, measured.velocity - self.velocity];
        self.position += gain[0][0] * errors[0] + gain[0][1] * errors[1];
        self.velocity += gain[1][0] * errors[0] + gain[1][1] * errors[1];
        // P = (I - K) P, which is symmetric.
        self.covariance = [
            (1.0 - gain[0][0]) * position - gain[0][1] * covariance,
            (1.0 - gain[0][0]) * covariance - gain[0][1] * velocity,
            (1.0 - gain[1][1]) * velocity - gain[1][0] * covariance,
        ];
    }
}

fn position_kalman(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let variances = [0, 1, 2].map(|index| table.number(index).powi(2));
    let [position, velocity, acceleration] = variances;
    if !(position > 0.0 && velocity > 0.0 && acceleration.is_finite()) {
        return Err(
            "the noises of the position and the velocity must be positive".to_owned()
        );
    }
    let mut axes: Option<[AxisFilter; 2]> = None;
    Ok(follow_measurements(table, |measurements, seconds, is_new| {
        let Some(axes) = &mut axes else {
            let filters = measurements
                .map(|measured| AxisFilter::new(measured, position, velocity));
            axes = Some(filters);
            return measurements.map(|measured| (measured.position, measured.velocity));
        };
        for (filter, measured) in axes.iter_mut().zip(measurements) {
            filter.predict(measured.acceleration, seconds, acceleration);
            // A GPS value that has not changed must not count again.
            if is_new {
                filter.correct(measured, position, velocity);
            }
        }
        axes.map(|filter| (filter.position, filter.velocity))
    }))
}
