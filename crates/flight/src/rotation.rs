//! How far a vehicle tilted, and how fast it rotated.

/// A topic with the rotation of the vehicle. Its first instance is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RotationSource {
    /// The name of the topic.
    pub topic: &'static str,
    /// The fields `q[1]` and `q[2]` of the quaternion of the attitude, if the topic has them.
    pub quaternion_fields: Option<[&'static str; 2]>,
    /// The fields of the angular rates around the axes x, y and z, in rad/s.
    pub rate_fields: [&'static str; 3],
}

/// The topics with the rotation of the vehicle. The angular rates of the first one are used, if it
/// has them: old logs have the rates in the attitude (Flight Review reads them there).
pub const ROTATION_SOURCES: [RotationSource; 2] = [
    RotationSource {
        topic: "vehicle_attitude",
        quaternion_fields: Some(["q[1]", "q[2]"]),
        rate_fields: ["rollspeed", "pitchspeed", "yawspeed"],
    },
    RotationSource {
        topic: "vehicle_angular_velocity",
        quaternion_fields: None,
        rate_fields: ["xyz[0]", "xyz[1]", "xyz[2]"],
    },
];

/// The largest tilt and the highest angular rate in a topic. Its rows are added one after another,
/// so that topics of high rates need not be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotationMaxima {
    source: RotationSource,
    /// The sine of half of the largest tilt, squared.
    half_tilt_squared: Option<f64>,
    rate_squared: Option<f64>,
}

impl RotationMaxima {
    /// Creates the maxima of a topic before its first row.
    pub fn new(source: RotationSource) -> Self {
        Self { source, half_tilt_squared: None, rate_squared: None }
    }

    /// Adds an attitude: `q[1]` and `q[2]` of its quaternion. Values that are not finite are ignored.
    ///
    /// The tilt is the angle between `[0, 0, 1]` and the same vector rotated by roll and pitch; its
    /// cosine is `cos(roll) * cos(pitch)`, which is `1 - 2 (q1² + q2²)` of the quaternion.
    pub fn add_attitude(&mut self, [q1, q2]: [f64; 2]) {
        raise(&mut self.half_tilt_squared, q1 * q1 + q2 * q2);
    }

    /// Adds angular rates around the axes x, y and z, in rad/s. Values that are not finite are
    /// ignored.
    pub fn add_rates(&mut self, [x, y, z]: [f64; 3]) {
        raise(&mut self.rate_squared, x * x + y * y + z * z);
    }

    /// Returns the topic.
    pub fn source(&self) -> RotationSource {
        self.source
    }

    /// Returns the largest angle between the vertical axis of the vehicle and the vertical, in
    /// radians.
    pub fn tilt(&self) -> Option<f64> {
        self.half_tilt_squared
            .map(|square| (1.0 - 2.0 * square).clamp(-1.0, 1.0).acos())
    }

    /// Returns the highest angular rate in rad/s.
    pub fn rate(&self) -> Option<f64> {
        self.rate_squared.map(f64::sqrt)
    }
}

/// Raises `highest` to `value`, if that is higher and finite.
fn raise(highest: &mut Option<f64>, value: f64) {
    if value.is_finite() {
        *highest = Some(highest.map_or(value, |highest| highest.max(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tilt_is_the_angle_of_the_vertical_axis() {
        let mut maxima = RotationMaxima::new(ROTATION_SOURCES[0]);
        assert_eq!(maxima.tilt(), None);
        let half = (30.0_f64.to_radians() / 2.0).sin();
        for quaternion in [[0.0, 0.0], [half, 0.0], [f64::NAN, 0.0], [0.0, 0.1]] {
            maxima.add_attitude(quaternion);
        }
        let tilt = maxima.tilt().unwrap().to_degrees();
        assert!((tilt - 30.0).abs() < 1e-12, "{tilt}");
    }

    #[test]
    fn rate_is_the_length_of_the_vector() {
        let mut maxima = RotationMaxima::new(ROTATION_SOURCES[1]);
        for rates in [[3.0, -4.0, 12.0], [1.0, 0.0, 0.0], [f64::NAN, 90.0, 0.0]] {
            maxima.add_rates(rates);
        }
        assert_eq!((maxima.rate(), maxima.tilt()), (Some(13.0), None));
    }
}
