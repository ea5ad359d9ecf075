//! Vectors and rotations.

use crate::functions::{
    Function, Group, Kernel, Kind, Output, Parameter, UnitRule, parameter,
};

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    output: Output,
    kernel: fn(&[f64], &mut [f64]),
) -> Function {
    Function {
        name,
        group: Group::Vectors,
        parameters,
        summary,
        source: "",
        is_variadic: false,
        output,
        kernel: Kernel::Row(kernel),
    }
}

const Q: &[Parameter] = &[parameter("q", Kind::Quaternion)];
const TWO_VECTORS: &[Parameter] =
    &[parameter("a", Kind::Vector3), parameter("b", Kind::Vector3)];
const EULER: &str = "PX4's matrix::Euler";

/// The rule for the components of a rotated vector: the vector is the second argument.
const ROTATED: Output = Output::Components(&[
    ("x", UnitRule::CommonRest),
    ("y", UnitRule::CommonRest),
    ("z", UnitRule::CommonRest),
]);

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        is_variadic: true,
        ..function(
            "vector",
            &[parameter("x", Kind::Scalar), parameter("y", Kind::Scalar)],
            "a vector of two or more components",
            Output::Arguments,
            |inputs, outputs| {
                for (output, input) in outputs.iter_mut().zip(inputs) {
                    *output = *input;
                }
            },
        )
    },
    function(
        "norm",
        &[parameter("v", Kind::Vector)],
        "the length of `v`: the square root of the sum of the squares",
        Output::Components(&[("", UnitRule::Same)]),
        |v, norm| write_outputs(norm, [v.iter().map(|x| x * x).sum::<f64>().sqrt()]),
    ),
    function(
        "dot",
        TWO_VECTORS,
        "the scalar product of two vectors of three elements",
        Output::Components(&[("", UnitRule::Product)]),
        |inputs, product| {
            let [ax, ay, az, bx, by, bz] = inputs else { return };
            write_outputs(product, [ax * bx + ay * by + az * bz]);
        },
    ),
    function(
        "cross",
        TWO_VECTORS,
        "the vector product of two vectors of three elements",
        Output::Components(&[
            ("x", UnitRule::Product),
            ("y", UnitRule::Product),
            ("z", UnitRule::Product),
        ]),
        |inputs, product| {
            let [ax, ay, az, bx, by, bz] = inputs else { return };
            write_outputs(
                product,
                [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx],
            );
        },
    ),
    Function {
        source: EULER,
        ..function(
            "roll",
            Q,
            "the rotation about x: atan2(2 (wx + yz), 1 - 2 (x² + y²))",
            ANGLE,
            |q, angle| write_outputs(angle, [euler(q)[0]]),
        )
    },
    Function {
        source: EULER,
        ..function(
            "pitch",
            Q,
            "the rotation about y: asin(2 (wy - zx))",
            ANGLE,
            |q, angle| write_outputs(angle, [euler(q)[1]]),
        )
    },
    Function {
        source: EULER,
        ..function(
            "yaw",
            Q,
            "the rotation about z: atan2(2 (wz + xy), 1 - 2 (y² + z²))",
            ANGLE,
            |q, angle| write_outputs(angle, [euler(q)[2]]),
        )
    },
    Function {
        source: EULER,
        ..function(
            "euler",
            Q,
            "`roll`, `pitch` and `yaw`, in the order z, y, x of rotations",
            Output::Components(&[
                ("roll", UnitRule::Known("rad")),
                ("pitch", UnitRule::Known("rad")),
                ("yaw", UnitRule::Known("rad")),
            ]),
            |q, angles| write_outputs(angles, euler(q)),
        )
    },
    function(
        "tilt",
        Q,
        "the angle between the z axes: acos(1 - 2 (x² + y²))",
        ANGLE,
        |q, angle| {
            let [_, x, y, _] = normalized(q);
            write_outputs(
                angle,
                [(1.0 - 2.0 * (x * x + y * y)).clamp(-1.0, 1.0).acos()],
            );
        },
    ),
    function(
        "quaternion",
        &[
            parameter("roll", Kind::Scalar),
            parameter("pitch", Kind::Scalar),
            parameter("yaw", Kind::Scalar),
        ],
        "the quaternion of three angles in radians, with w, x, y and z",
        Output::Components(&[
            ("w", UnitRule::Known("")),
            ("x", UnitRule::Known("")),
            ("y", UnitRule::Known("")),
            ("z", UnitRule::Known("")),
        ]),
        |angles, q| {
            let [roll, pitch, yaw] = angles else { return };
            let ((sr, cr), (sp, cp), (sy, cy)) = (
                (roll / 2.0).sin_cos(),
                (pitch / 2.0).sin_cos(),
                (yaw / 2.0).sin_cos(),
            );
            write_outputs(
                q,
                [
                    cr * cp * cy + sr * sp * sy,
                    sr * cp * cy - cr * sp * sy,
                    cr * sp * cy + sr * cp * sy,
                    cr * cp * sy - sr * sp * cy,
                ],
            );
        },
    ),
    Function {
        source: "FlightPlot's NEDFromBodyProjection",
        ..function(
            "rotate",
            &[parameter("q", Kind::Quaternion), parameter("v", Kind::Vector3)],
            "`v` rotated by `q`: from the body frame to the world frame, NED in PX4",
            ROTATED,
            |inputs, rotated| {
                let [w, x, y, z, v @ ..] = inputs else { return };
                write_outputs(rotated, rotate(&[*w, *x, *y, *z], v));
            },
        )
    },
    function(
        "rotate_back",
        &[parameter("q", Kind::Quaternion), parameter("v", Kind::Vector3)],
        "`v` rotated by the inverse of `q`: from the world frame to the body frame",
        ROTATED,
        |inputs, rotated| {
            let [w, x, y, z, v @ ..] = inputs else { return };
            write_outputs(rotated, rotate(&[*w, -x, -y, -z], v));
        },
    ),
];

const ANGLE: Output = Output::Components(&[("", UnitRule::Known("rad"))]);

fn write_outputs<const N: usize>(outputs: &mut [f64], values: [f64; N]) {
    for (output, value) in outputs.iter_mut().zip(values) {
        *output = value;
    }
}

/// Returns a quaternion of length 1 with w, x, y and z; NaN if `q` has no length.
pub(super) fn normalized(q: &[f64]) -> [f64; 4] {
    let norm = q.iter().map(|part| part * part).sum::<f64>().sqrt();
    match q {
        [w, x, y, z] if norm > 0.0 => [w / norm, x / norm, y / norm, z / norm],
        _ => [f64::NAN; 4],
    }
}

fn euler(q: &[f64]) -> [f64; 3] {
    let [w, x, y, z] = normalized(q);
    [
        (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)),
        (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin(),
        (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z)),
    ]
}

/// Rotates the vector `v` by the quaternion `q`.
pub(super) fn rotate(q: &[f64], v: &[f64]) -> [f64; 3] {
    let ([w, x, y, z], [vx, vy, vz]) = (normalized(q), v) else { return [f64::NAN; 3] };
    [
        (1.0 - 2.0 * (y * y + z * z)) * vx
            + 2.0 * (x * y - w * z) * vy
            + 2.0 * (x * z + w * y) * vz,
        2.0 * (x * y + w * z) * vx
            + (1.0 - 2.0 * (x * x + z * z)) * vy
            + 2.0 * (y * z - w * x) * vz,
        2.0 * (x * z - w * y) * vx
            + 2.0 * (y * z + w * x) * vy
            + (1.0 - 2.0 * (x * x + y * y)) * vz,
    ]
}
