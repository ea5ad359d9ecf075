//! Simulations of controllers.

use std::collections::VecDeque;

use crate::functions::{
    Function, Group, Kernel, Kind, Output, Parameter, Table, UnitRule,
    filters::Butterworth, nanos, optional, parameter,
};

/// The maximum number of steps of a simulation.
const MAX_STEPS: i128 = 1 << 24;
/// The maximum number of steps by which a thrust is delayed.
const MAX_DELAY: f64 = 1e6;

/// The states that a simulation returns. Their units depend on the setpoint, which may be an
/// angle or a length.
const STATES: Output = Output::Components(&[
    ("position", UnitRule::Same),
    ("rate", UnitRule::Derivative),
    ("acceleration", UnitRule::Unknown),
    ("control", UnitRule::Unknown),
]);

const fn simulation(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    source: &'static str,
    kernel: fn(&Table<'_>) -> Result<Vec<Vec<f64>>, String>,
) -> Function {
    Function {
        name,
        group: Group::Models,
        parameters,
        summary,
        source,
        is_variadic: false,
        output: STATES,
        kernel: Kernel::Table(kernel),
    }
}

pub(super) const POSITION_PID: Function = simulation(
    "position_pid",
    &[
        parameter("setpoint", Kind::Scalar),
        optional("p", 0.1),
        optional("i", 0.05),
        optional("d", 0.1),
        optional("limit", 0.2),
        optional("thrust_gain", 40.0),
        optional("thrust_time", 0.03),
        optional("drag", 0.0),
        optional("anti_windup_rate", 1.0),
        optional("step", 0.004),
    ],
    "position, rate, acceleration and control of a simulated vehicle that follows `setpoint` \
     with a PID controller. Each `step` dt: f += (1 - exp(-dt / `thrust_time`)) · (control - f), \
     acceleration = `thrust_gain` · f - `drag` · rate; then the control is u + integral, with \
     u = `p` · e + `d` · e', where e is the error of the position and e' the error of the rate, \
     and integral += `i` · \
     u / `p` · dt · exp(-(s² + rate²) / 2 / `anti_windup_rate`²), where s is the rate of the \
     setpoint; both are limited",
    "after FlightPlot's PosPIDControlSimulator",
    position_pid,
);

pub(super) const POSITION_RATE_PID: Function = simulation(
    "position_rate_pid",
    &[
        parameter("setpoint", Kind::Scalar),
        optional("p", 5.0),
        optional("d", 0.0),
        optional("limit", 0.0),
        optional("rate_p", 0.1),
        optional("rate_i", 0.0),
        optional("rate_d", 0.0),
        optional("rate_limit", 0.0),
        optional("thrust_gain", 200.0),
        optional("thrust_time", 0.03),
        optional("thrust_delay", 0.05),
        optional("drag", 0.0),
        optional("rate_cutoff", 0.0),
        optional("step", 0.004),
    ],
    "like position_pid, but with two controllers: one for the position, whose output `p` · e - \
     `d` · rate is the setpoint of the second one, which controls the rate. The thrust is \
     delayed by `thrust_delay`, acceleration = `thrust_gain` · f - `drag` · |rate| · rate, and \
     the measured rate passes low_pass2 with the `rate_cutoff`. A limit or cutoff of 0 has no \
     effect",
    "after FlightPlot's PosRatePIDControlSimulator",
    position_rate_pid,
);

/// A simulated vehicle along one axis.
#[derive(Clone, Copy, Default)]
struct Vehicle {
    position: f64,
    rate: f64,
    acceleration: f64,
    /// The thrust, which follows the control.
    force: f64,
    control: f64,
}

impl Vehicle {
    /// Moves the thrust towards the control, as a first-order lag with the time constant `constant`
    /// in seconds.
    fn follow_control(&mut self, constant: f64, dt: f64) {
        let share = if constant > 0.0 { -(-dt / constant).exp_m1() } else { 1.0 };
        self.force += share * (self.control - self.force);
    }

    fn accelerate(&mut self, acceleration: f64, dt: f64) {
        self.acceleration = acceleration;
        self.rate += acceleration * dt;
        self.position += self.rate * dt;
    }
}

/// Simulates a vehicle that follows the first column of `table`, its setpoint. `advance` is called
/// for each time step with the vehicle, the setpoint and the rate of the setpoint. Returns the
/// states of [`STATES`] at each time.
fn simulate(
    table: &Table<'_>,
    step: f64,
    mut advance: impl FnMut(&mut Vehicle, f64, f64),
) -> Result<Vec<Vec<f64>>, String> {
    let step_nanos = nanos(step);
    if step_nanos < 1 {
        return Err("`step` must be positive".to_owned());
    }
    let mut outputs: [Vec<f64>; 4] = Default::default();
    let mut vehicle = Vehicle::default();
    let [first, last] = [table.times.first(), table.times.last()]
        .map(|time| i128::from(time.copied().unwrap_or_default()));
    if (last - first) / i128::from(step_nanos) > MAX_STEPS {
        return Err(format!("the simulation would take over {MAX_STEPS} steps"));
    }
    let mut simulated_time = first;
    let (mut setpoint, mut setpoint_rate) = (f64::NAN, 0.0);
    let mut last_setpoint: Option<(i128, f64)> = None;
    for (row, time) in table.times.iter().enumerate() {
        let time = i128::from(*time);
        while setpoint.is_finite() && simulated_time + i128::from(step_nanos) < time {
            simulated_time += i128::from(step_nanos);
            advance(&mut vehicle, setpoint, setpoint_rate);
        }
        let new_setpoint = table.value(0, row);
        if new_setpoint.is_finite() {
            if setpoint.is_nan() {
                simulated_time = time;
            }
            setpoint_rate = match last_setpoint {
                Some((last_time, last_value)) if time > last_time => {
                    (new_setpoint - last_value) / ((time - last_time) as f64 / 1e9)
                }
                _ => 0.0,
            };
            (setpoint, last_setpoint) = (new_setpoint, Some((time, new_setpoint)));
        }
        let state =
            [vehicle.position, vehicle.rate, vehicle.acceleration, vehicle.control];
        outputs.iter_mut().zip(state).for_each(|(output, value)| output.push(value));
    }
    Ok(outputs.into())
}

/// Limits the absolute value of `value`; a limit of 0 has no effect.
fn limit_magnitude(value: f64, limit: f64) -> f64 {
    if limit == 0.0 { value } else { value.max(-limit.abs()).min(limit.abs()) }
}

fn position_pid(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let [p, i, d, limit, gain, thrust_time, drag, anti_windup_rate, dt] =
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|index| table.number(index));
    let mut integral = 0.0;
    simulate(table, dt, |vehicle, setpoint, setpoint_rate| {
        vehicle.follow_control(thrust_time, dt);
        vehicle.accelerate(gain * vehicle.force - drag * vehicle.rate, dt);
        let (position_error, rate_error) =
            (setpoint - vehicle.position, setpoint_rate - vehicle.rate);
        let output = p * position_error + d * rate_error;
        let squares = setpoint_rate * setpoint_rate + vehicle.rate * vehicle.rate;
        let weight = if anti_windup_rate == 0.0 {
            1.0
        } else {
            (-squares / 2.0 / (anti_windup_rate * anti_windup_rate)).exp()
        };
        let growth = if p == 0.0 { position_error } else { output / p };
        integral = limit_magnitude(integral + i * growth * dt * weight, limit);
        vehicle.control = limit_magnitude(output + integral, limit);
    })
}

fn position_rate_pid(table: &Table<'_>) -> Result<Vec<Vec<f64>>, String> {
    let [p, d, limit, rate_p, rate_i, rate_d, rate_limit] =
        [0, 1, 2, 3, 4, 5, 6].map(|index| table.number(index));
    let [gain, thrust_time, thrust_delay, drag, rate_cutoff, dt] =
        [7, 8, 9, 10, 11, 12].map(|index| table.number(index));
    let delay = (thrust_delay / dt).round();
    if !(0.0..=MAX_DELAY).contains(&delay) {
        return Err("`thrust_delay` must be from 0 to a million steps".to_owned());
    }
    if rate_cutoff * dt >= 0.5 {
        return Err("`rate_cutoff` must be below half the rate of the steps".to_owned());
    }
    let mut filter = (rate_cutoff > 0.0).then(|| Butterworth::new(rate_cutoff * dt));
    let mut delayed: VecDeque<f64> = std::iter::repeat_n(0.0, delay as usize).collect();
    let (mut integral, mut last_rate) = (0.0, 0.0);
    simulate(table, dt, |vehicle, setpoint, _| {
        vehicle.follow_control(thrust_time, dt);
        delayed.push_back(vehicle.force);
        let force = delayed.pop_front().unwrap_or_default();
        let drag = drag * vehicle.rate.abs() * vehicle.rate;
        vehicle.accelerate(gain * force - drag, dt);
        let rate = match &mut filter {
            Some(filter) => filter.apply(vehicle.rate),
            None => vehicle.rate,
        };
        let rate_setpoint =
            limit_magnitude(p * (setpoint - vehicle.position) - d * rate, limit);
        let (error, growth) = (rate_setpoint - rate, -(rate - last_rate) / dt);
        last_rate = rate;
        integral = limit_magnitude(integral + rate_i * error * dt, rate_limit);
        vehicle.control =
            limit_magnitude(rate_p * error + rate_d * growth + integral, rate_limit);
    })
}
