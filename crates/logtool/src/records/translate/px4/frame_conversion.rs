//! Converts between the frames of PX4 and those of ROS.
//!
//! | | PX4 | ROS (REP 103) |
//! |---|---|---|
//! | body | x forward, y right, z down | x forward, y left, z up |
//! | world | x north, y east, z down | x east, y north, z up |
//! | world, its heading unknown | x forward, y right, z down | x forward, y left, z up |
//!
//! A quaternion rotates from the body to the world, in both. So the quaternion of ROS is the
//! product of the rotation for vectors of the world (half a turn about x + y), the quaternion
//! of PX4, and the rotation for vectors of the body (half a turn about x). (PX4's guide,
//! "Reference Frames and ROS"; MAVROS does the same in `frame_tf`.)

use std::f64::consts::FRAC_1_SQRT_2;

/// A vector.
pub(in crate::records::translate) type Vector = [f64; 3];

/// A quaternion of PX4: w, x, y, z.
pub(in crate::records::translate) type Quaternion = [f64; 4];

/// The axes of the world frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::records::translate) enum World {
    /// North, east, down.
    Ned,
    /// Forward, right, down, relative to the initial heading.
    Frd,
}

impl World {
    /// Converts a vector in this world frame to ROS.
    pub(in crate::records::translate) fn vector(self, vector: Vector) -> Vector {
        let [x, y, z] = vector;
        match self {
            Self::Ned => [y, x, -z],
            Self::Frd => body(vector),
        }
    }

    /// Converts variances along the axes of this world frame to ROS.
    pub(in crate::records::translate) fn variances(self, variances: Vector) -> Vector {
        self.vector(variances).map(f64::abs)
    }

    /// Converts an attitude in this world frame to ROS: x, y, z, w.
    pub(in crate::records::translate) fn attitude(
        self,
        quaternion: Quaternion,
    ) -> [f64; 4] {
        let [w, x, y, z] = quaternion;
        match self {
            Self::Ned => {
                [x + y, x - y, w - z, w + z].map(|component| component * FRAC_1_SQRT_2)
            }
            Self::Frd => [x, -y, -z, w],
        }
    }
}

/// Returns the quaternion of length 1 with the direction of `vector`, which must not be 0.
pub(in crate::records::translate) fn normalized(quaternion: Quaternion) -> Quaternion {
    let length = quaternion.iter().map(|part| part * part).sum::<f64>().sqrt();
    quaternion.map(|part| part / length)
}

/// Converts a vector in the body frame to ROS.
pub(in crate::records::translate) fn body(vector: Vector) -> Vector {
    let [x, y, z] = vector;
    [x, -y, -z]
}

/// Rotates a vector from the world frame to the body frame, both of PX4; `attitude` is the
/// attitude of the body.
pub(in crate::records::translate) fn into_body(
    vector: Vector,
    attitude: Quaternion,
) -> Vector {
    let [w, x, y, z] = attitude;
    let [a, b, c] = vector;
    // The rows are the columns of the matrix for the opposite direction.
    [
        (1.0 - 2.0 * (y * y + z * z)) * a
            + 2.0 * (x * y + w * z) * b
            + 2.0 * (x * z - w * y) * c,
        2.0 * (x * y - w * z) * a
            + (1.0 - 2.0 * (x * x + z * z)) * b
            + 2.0 * (y * z + w * x) * c,
        2.0 * (x * z + w * y) * a
            + 2.0 * (y * z - w * x) * b
            + (1.0 - 2.0 * (x * x + y * y)) * c,
    ]
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    use super::*;

    fn near<const N: usize>(one: [f64; N], other: [f64; N]) {
        let is_near = one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(is_near, "{one:?} is not {other:?}");
    }

    /// Returns a rotation about z, which is down, by `angle`.
    fn heading(angle: f64) -> Quaternion {
        [(angle / 2.0).cos(), 0.0, 0.0, (angle / 2.0).sin()]
    }

    #[test]
    fn north_is_y_and_east_is_x_in_ros() {
        let (sin, cos) = FRAC_PI_4.sin_cos();
        near(World::Ned.attitude(heading(0.0)), [0.0, 0.0, sin, cos]);
        near(World::Ned.attitude(heading(FRAC_PI_2)), [0.0, 0.0, 0.0, 1.0]);
        near(World::Frd.attitude(heading(0.0)), [0.0, 0.0, 0.0, 1.0]);
        near(World::Frd.attitude(heading(FRAC_PI_2)), [0.0, 0.0, -sin, cos]);
    }

    #[test]
    fn nose_up_is_nose_up_in_both_frames() {
        // About y, which is right, by a quarter turn: up.
        let (sin, cos) = FRAC_PI_4.sin_cos();
        let [x, y, z, w] = World::Frd.attitude([cos, 0.0, sin, 0.0]);
        // In ROS y is left, so nose up is a rotation about y in the other direction.
        near([x, y, z, w], [0.0, -sin, 0.0, cos]);
    }

    /// A vector of the body that is rotated to the world by PX4's attitude and then converted
    /// to ROS is equal to the converted vector rotated by ROS's attitude.
    #[test]
    fn rotating_and_converting_commute() {
        let q: Quaternion = [0.5, -0.1, 0.7, 0.5];
        let len = q.iter().map(|part| part * part).sum::<f64>().sqrt();
        let q = q.map(|part| part / len);
        for world in [World::Ned, World::Frd] {
            let [x, y, z, w] = world.attitude(q);
            for vector in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -0.2, 0.9]] {
                let back = [q[0], -q[1], -q[2], -q[3]];
                let px4 = world.vector(into_body(vector, back));
                let ros = into_body(body(vector), [w, -x, -y, -z]);
                near(px4, ros);
            }
        }
    }

    #[test]
    fn velocity_east_with_heading_east_is_forward() {
        near(into_body([0.0, 3.0, 0.0], heading(FRAC_PI_2)), [3.0, 0.0, 0.0]);
        near(body([3.0, 1.0, -2.0]), [3.0, -1.0, 2.0]);
        near(World::Ned.vector([1.0, 2.0, -3.0]), [2.0, 1.0, 3.0]);
    }
}
