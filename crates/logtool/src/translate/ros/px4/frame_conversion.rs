//! From the frames of PX4 to those of ROS.
//!
//! | | PX4 | ROS (REP 103) |
//! |---|---|---|
//! | body | x forward, y right, z down | x forward, y left, z up |
//! | world | x north, y east, z down | x east, y north, z up |
//! | world, its heading unknown | x forward, y right, z down | x forward, y left, z up |
//!
//! A quaternion turns from body to world, in either. So that of ROS is that of PX4 between
//! the two turns that there are for vectors: half a turn about x for the body, and about
//! x + y for the world. (PX4's guide, "Reference Frames and ROS"; MAVROS does the same in
//! `frame_tf`.)

use std::f64::consts::FRAC_1_SQRT_2;

/// A vector.
pub(super) type Vector = [f64; 3];

/// A quaternion of PX4: w, x, y, z.
pub(super) type Quaternion = [f64; 4];

/// What the axes of a world are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    /// North, east, down.
    Ned,
    /// Forward, right, down, from wherever it began.
    Frd,
}

impl World {
    /// A vector in this world as ROS has it.
    pub(super) fn vector(self, of: Vector) -> Vector {
        let [x, y, z] = of;
        match self {
            Self::Ned => [y, x, -z],
            Self::Frd => body(of),
        }
    }

    /// Variances along the axes of this world as ROS has them.
    pub(super) fn variances(self, of: Vector) -> Vector {
        self.vector(of).map(f64::abs)
    }

    /// An attitude in this world as ROS has it: x, y, z, w.
    pub(super) fn attitude(self, of: Quaternion) -> [f64; 4] {
        let [w, x, y, z] = of;
        match self {
            Self::Ned => [x + y, x - y, w - z, w + z].map(|of| of * FRAC_1_SQRT_2),
            Self::Frd => [x, -y, -z, w],
        }
    }
}

/// A vector in the body's frame as ROS has it.
pub(super) fn body(of: Vector) -> Vector {
    let [x, y, z] = of;
    [x, -y, -z]
}

/// A vector of the world in the body's frame, both of PX4, where `attitude` is that of the
/// body: turned back.
pub(super) fn into_body(of: Vector, attitude: Quaternion) -> Vector {
    let [w, x, y, z] = attitude;
    let [a, b, c] = of;
    // The rows are the columns of the matrix that turns forth.
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

    /// Turned about z, which is down, by `angle`.
    fn heading(angle: f64) -> Quaternion {
        [(angle / 2.0).cos(), 0.0, 0.0, (angle / 2.0).sin()]
    }

    #[test]
    fn who_faces_north_faces_along_y_and_who_faces_east_along_x() {
        let (sin, cos) = FRAC_PI_4.sin_cos();
        near(World::Ned.attitude(heading(0.0)), [0.0, 0.0, sin, cos]);
        near(World::Ned.attitude(heading(FRAC_PI_2)), [0.0, 0.0, 0.0, 1.0]);
        near(World::Frd.attitude(heading(0.0)), [0.0, 0.0, 0.0, 1.0]);
        near(World::Frd.attitude(heading(FRAC_PI_2)), [0.0, 0.0, -sin, cos]);
    }

    #[test]
    fn a_nose_that_points_up_does_so_in_both() {
        // About y, which is right, by a quarter turn: up.
        let (sin, cos) = FRAC_PI_4.sin_cos();
        let [x, y, z, w] = World::Frd.attitude([cos, 0.0, sin, 0.0]);
        // ROS turns the nose up by turning about y, which is left, the other way.
        near([x, y, z, w], [0.0, -sin, 0.0, cos]);
    }

    /// A vector of the body, turned to the world by PX4's attitude and then into ROS's
    /// world, is where ROS's attitude turns it.
    #[test]
    fn turning_before_and_after_is_the_same() {
        let q: Quaternion = [0.5, -0.1, 0.7, 0.5];
        let len = q.iter().map(|part| part * part).sum::<f64>().sqrt();
        let q = q.map(|part| part / len);
        for world in [World::Ned, World::Frd] {
            let [x, y, z, w] = world.attitude(q);
            for of in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -0.2, 0.9]] {
                let back = [q[0], -q[1], -q[2], -q[3]];
                let px4 = world.vector(into_body(of, back));
                let ros = into_body(body(of), [w, -x, -y, -z]);
                near(px4, ros);
            }
        }
    }

    #[test]
    fn who_flies_east_and_faces_east_flies_forward() {
        near(into_body([0.0, 3.0, 0.0], heading(FRAC_PI_2)), [3.0, 0.0, 0.0]);
        near(body([3.0, 1.0, -2.0]), [3.0, -1.0, 2.0]);
        near(World::Ned.vector([1.0, 2.0, -3.0]), [2.0, 1.0, 3.0]);
    }
}
