//! How a plotted value is computed from the columns of a topic.

/// The computation of a value from the values of columns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transform {
    /// The value itself.
    Same,
    /// Radians in degrees.
    Degrees,
    /// The value with the opposite sign.
    Negative,
    /// The roll angle of the quaternion w, x, y, z in degrees.
    Roll,
    /// The pitch angle of the quaternion w, x, y, z in degrees.
    Pitch,
    /// The yaw angle of the quaternion w, x, y, z in degrees.
    Yaw,
    /// The length of a vector.
    Norm,
    /// The length of a vector that is a share of 1, in percent.
    PercentNorm,
    /// A share of 1 in percent.
    Percent,
    /// A thousandth of the value.
    Thousandth,
    /// The value times a factor.
    Times(f64),
    /// The bit with this index of an integer: 0 or 1.
    Bit(u32),
    /// 1 if the value is this one, otherwise 0.
    Equals(f64),
    /// The time of the row minus the value, which is a time in microseconds, in milliseconds.
    Latency,
    /// The time since the row before in microseconds; the column is not used.
    Interval,
    /// The first value times `factor` if the second is at least `least`, otherwise NaN.
    Where { min: f64, factor: f64 },
}

impl Transform {
    /// Computes the value. It is NaN if there are too few values.
    pub(super) fn apply(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(f64::NAN);
        match (self, values) {
            (Self::Degrees, _) => first.to_degrees(),
            (Self::Negative, _) => -first,
            (Self::Percent, _) => first * 100.0,
            (Self::Thousandth, _) => first / 1000.0,
            (Self::Times(factor), _) => first * factor,
            (Self::Bit(bit), _) if first >= 0.0 => {
                f64::from((first as u64).checked_shr(bit).unwrap_or(0) as u32 & 1)
            }
            (Self::Bit(_), _) => f64::NAN,
            (Self::Equals(value), _) => f64::from(u8::from(first == value)),
            (Self::Latency, [sampled, time, ..]) => (time - sampled) / 1e3,
            (Self::Where { min, factor }, [_, condition, ..]) => {
                if *condition >= min {
                    first * factor
                } else {
                    f64::NAN
                }
            }
            (Self::Norm, _) => norm(values),
            (Self::PercentNorm, _) => norm(values) * 100.0,
            // Tait-Bryan angles in the order z-y'-x''.
            (Self::Roll, [w, x, y, z]) => {
                (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)).to_degrees()
            }
            (Self::Pitch, [w, x, y, z]) => {
                (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin().to_degrees()
            }
            (Self::Yaw, [w, x, y, z]) => {
                (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z)).to_degrees()
            }
            _ => first,
        }
    }
}

/// Returns the length of a vector.
fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::Transform::{
        Bit, Equals, Latency, Norm, PercentNorm, Pitch, Roll, Where, Yaw,
    };

    #[test]
    fn angles_of_quarter_turns_are_90_degrees() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // A quarter turn around each axis.
        assert!(close(Roll.apply(&[half, half, 0.0, 0.0]), 90.0));
        assert!(close(Yaw.apply(&[half, 0.0, 0.0, half]), 90.0));
        assert!(close(
            Pitch.apply(&[0.5_f64.cos(), 0.0, 0.5_f64.sin(), 0.0]),
            1_f64.to_degrees()
        ));
        assert_eq!(Norm.apply(&[3.0, 4.0]), 5.0);
        assert_eq!(PercentNorm.apply(&[0.0, 0.0, -0.5]), 50.0);
    }

    #[test]
    fn bits_and_states_are_flags() {
        assert_eq!((Bit(0).apply(&[5.0]), Bit(1).apply(&[5.0])), (1.0, 0.0));
        assert_eq!((Bit(2).apply(&[5.0]), Bit(64).apply(&[5.0])), (1.0, 0.0));
        assert!(Bit(0).apply(&[f64::NAN]).is_nan());
        assert_eq!((Equals(1.0).apply(&[1.0]), Equals(1.0).apply(&[3.0])), (1.0, 0.0));
        assert_eq!(Latency.apply(&[1_000.0, 3_500.0]), 2.5);
    }

    #[test]
    fn where_gives_nan_unless_its_condition_holds() {
        let height = Where { min: 3.0, factor: 1e-3 };
        assert_eq!(height.apply(&[488_000.0, 3.0]), 488.0);
        assert_eq!(height.apply(&[488_000.0, 6.0]), 488.0);
        assert!(height.apply(&[-17.0, 0.0]).is_nan());
        assert!(height.apply(&[488_000.0, f64::NAN]).is_nan());
    }
}
