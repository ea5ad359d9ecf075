//! The commands of the controller to the motors.

use crate::{data::FlightData, needed_topics::MAX_ELEMENTS, series::Series};

/// At most this command is the least output, on a scale from 0 to 1.
const LEAST_COMMAND: f64 = 0.01;

/// The function of an output that drives the first motor (uORB, `ActuatorMotors.msg`).
const FIRST_MOTOR: f64 = 101.0;

/// The commands to the motors, and the motors that an injected failure stops.
pub(super) struct MotorCommands<'d> {
    commands: Option<&'d Series>,
    /// The motors that were ever commanded to turn, and their columns.
    motors: Vec<(usize, &'d [f32])>,
    /// The series with the mask of motors that injected failures stop.
    stops: Vec<&'d Series>,
}

impl<'d> MotorCommands<'d> {
    pub(super) fn new(data: &'d FlightData) -> Self {
        let commands = data.first_instance("actuator_motors");
        let column = |motor: usize| {
            let column = commands?.column(&format!("control[{motor}]"))?;
            let mut values = column.iter().copied().map(f64::from);
            values.any(|value| value > LEAST_COMMAND).then_some((motor, column))
        };
        let motors = (0..MAX_ELEMENTS).filter_map(column).collect();
        let topics = ["control_allocator_status", "failure_detector_status"];
        let stops = topics.iter().filter_map(|topic| data.first_instance(topic));
        let stops = stops.filter(|series| series.column("motor_stop_mask").is_some());
        Self { commands, motors, stops: stops.collect() }
    }

    /// Returns whether a motor was to stand still at about `time`: the controller commanded the least
    /// output, or an injected failure stopped the motor.
    pub(super) fn is_stopped(&self, motor: usize, time: i64) -> bool {
        let is_injected = |series: &&Series| {
            let next = series.times.partition_point(|own| *own <= time);
            let mask = next
                .checked_sub(1)
                .and_then(|row| series.value("motor_stop_mask", row));
            mask.is_some_and(|mask| ((mask as u32) >> motor.min(31)) & 1 == 1)
        };
        if self.stops.iter().any(is_injected) {
            return true;
        }
        let Some(commands) = self.commands else { return false };
        let column = self.motors.iter().find(|(own, _)| *own == motor);
        let Some((_, column)) = column else { return false };
        // The output follows the command that was logged shortly before or after it.
        let next = commands.times.partition_point(|own| *own <= time);
        let near = column.get(next.saturating_sub(2)..(next + 1).min(column.len()));
        let is_least =
            |value: &f32| value.is_nan() || f64::from(*value) <= LEAST_COMMAND;
        near.is_some_and(|near| near.iter().any(is_least))
    }

    /// Returns the number of motors that were to stand still at about `time`.
    pub(super) fn stopped_count(&self, time: i64) -> usize {
        (0..MAX_ELEMENTS).filter(|motor| self.is_stopped(*motor, time)).count()
    }
}

/// Returns the motor that the ESC with the index `esc` drives in `row`.
pub(super) fn motor_of_esc(escs: &Series, esc: usize, row: usize) -> usize {
    let function = escs.value(&format!("esc[{esc}].actuator_function"), row);
    let motor = function.map(|function| function - FIRST_MOTOR);
    let motor = motor.filter(|motor| (0.0..MAX_ELEMENTS as f64).contains(motor));
    motor.map_or(esc, |motor| motor as usize)
}
