//! The motion of the vehicle: it climbs, flies a little more than a circle to the
//! right, and lands.
//!
//! North, east, down; meters, seconds, radians. The nose points along the circle.

use crate::files::portable_math::{sin_cos, step};

const GRAVITY: f64 = 9.806_65;
const RADIUS: f64 = 15.0;
const HEIGHT: f64 = 10.0;
/// In radians per second; one revolution takes 12.6 s.
const TURN: f64 = 0.5;

/// The state of the vehicle at one time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flight {
    /// The time since the start of the log.
    pub(crate) seconds: f64,
    pub(crate) position: [f64; 3],
    pub(crate) velocity: [f64; 3],
    pub(crate) acceleration: [f64; 3],
    /// The heading: the angle from north, clockwise.
    pub(crate) yaw: f64,
    /// The quaternion w, x, y, z from the body frame to the world frame.
    pub(crate) attitude: [f64; 4],
    /// The angular rates in the body frame.
    pub(crate) rates: [f64; 3],
    /// The specific force measured by an accelerometer, in the body frame.
    pub(crate) force: [f64; 3],
    /// The angle along the circle.
    angle: f64,
    turn: f64,
    roll: f64,
    pitch: f64,
}

impl Flight {
    /// Returns the state `dt` later.
    pub(crate) fn state_after(&self, dt: f64) -> Self {
        let seconds = self.seconds + dt;
        let turn = TURN * (step(seconds, 8.0, 10.0) - step(seconds, 19.0, 21.0));
        let angle = self.angle + turn * dt;
        let (sin, cos) = sin_cos(angle);

        let down = -HEIGHT * (step(seconds, 3.0, 8.0) - step(seconds, 22.0, 27.0));
        let position = [RADIUS * (cos - 1.0), RADIUS * sin, down];
        let fall = (down - self.position[2]) / dt;
        let velocity = [-RADIUS * sin * turn, RADIUS * cos * turn, fall];
        let along = RADIUS * (turn - self.turn) / dt;
        let inwards = RADIUS * turn * turn;
        let acceleration = [
            -sin * along - cos * inwards,
            cos * along - sin * inwards,
            (fall - self.velocity[2]) / dt,
        ];

        let (roll, pitch) = (lean(inwards), -lean(along));
        let rates = [(roll - self.roll) / dt, (pitch - self.pitch) / dt, turn];
        let lift = GRAVITY - acceleration[2];
        let force = [0.0, 0.0, -(lift + inwards * roll / 2.0)];
        let yaw = wrap_angle(angle + std::f64::consts::FRAC_PI_2);
        let attitude = quaternion(roll, pitch, yaw);
        Self {
            seconds,
            position,
            velocity,
            acceleration,
            yaw,
            attitude,
            rates,
            force,
            angle,
            turn,
            roll,
            pitch,
        }
    }

    pub(crate) fn is_flying(&self) -> bool {
        self.position[2] < -0.05
    }

    /// Returns the horizontal speed.
    pub(crate) fn ground_speed(&self) -> f64 {
        RADIUS * self.turn
    }
}

/// Returns the tilt for a horizontal acceleration: the arc tangent, as a series.
fn lean(acceleration: f64) -> f64 {
    let x = acceleration / GRAVITY;
    let (mut sum, mut power) = (0.0, x);
    for n in 0..12 {
        sum += power / f64::from(2 * n + 1);
        power *= -x * x;
    }
    sum
}

fn wrap_angle(angle: f64) -> f64 {
    angle - (angle / std::f64::consts::TAU).round() * std::f64::consts::TAU
}

fn quaternion(roll: f64, pitch: f64, yaw: f64) -> [f64; 4] {
    let (sr, cr) = sin_cos(roll / 2.0);
    let (sp, cp) = sin_cos(pitch / 2.0);
    let (sy, cy) = sin_cos(yaw / 2.0);
    [
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    ]
}
