//! The commands of the controller to the motors, and the failures that were injected.

use crate::{data::FlightData, needed_topics::MAX_ELEMENTS, series::Series};

/// At most this command may be the least output, on a scale from 0 to 1: motors do not turn at a few
/// percent of their range.
const LEAST_COMMAND: f64 = 0.05;

/// The functions of outputs that drive motors, and that of the first motor (uORB, `ActuatorMotors.msg`).
const FIRST_MOTOR: f64 = 101.0;
const MOTORS: std::ops::Range<f64> = FIRST_MOTOR..FIRST_MOTOR + MAX_ELEMENTS as f64;

/// The failures of motors that were injected: PX4 stops these motors by intention.
pub(super) struct InjectedFailures<'d> {
    /// The series with the mask of motors.
    masks: Vec<&'d Series>,
}

impl<'d> InjectedFailures<'d> {
    pub(super) fn new(data: &'d FlightData) -> Self {
        let topics = ["control_allocator_status", "failure_detector_status"];
        let masks = topics.iter().filter_map(|topic| data.first_instance(topic));
        let masks = masks.filter(|series| series.column("motor_stop_mask").is_some());
        Self { masks: masks.collect() }
    }

    /// Returns the motors that are stopped at about `time`, a bit each. The masks are logged slowly, so
    /// that a motor may stop before the row that says so.
    pub(super) fn mask(&self, time: i64) -> u32 {
        let near = |series: &&Series| {
            let next = series.times.partition_point(|own| *own <= time);
            let rows = next.saturating_sub(1)..=next;
            let masks = rows.filter_map(|row| series.value("motor_stop_mask", row));
            masks.fold(0, |all, mask| all | mask as u32)
        };
        self.masks.iter().map(near).fold(0, |all, mask| all | mask)
    }

    /// Returns whether a motor is stopped at about `time`.
    pub(super) fn contains(&self, motor: usize, time: i64) -> bool {
        (self.mask(time) >> motor.min(31)) & 1 == 1
    }
}

/// The commands to the motors, and the motors that an injected failure stops.
pub(super) struct MotorCommands<'d> {
    commands: Option<&'d Series>,
    /// The motors that were ever commanded to turn, and their columns.
    motors: Vec<(usize, &'d [f32])>,
    /// The indexes of outputs and the motors that they may drive. Without parameters with the functions
    /// of outputs, each output drives the motor with its index.
    outputs: Vec<(usize, usize)>,
    pub(super) injected: InjectedFailures<'d>,
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
        let parameters = data.parameters.iter();
        let outputs = parameters.filter_map(|(name, function)| {
            let (_, number) = name.rsplit_once("_FUNC")?;
            let output = number.parse::<usize>().ok()?.checked_sub(1)?;
            let motor = MOTORS.contains(function).then(|| function - FIRST_MOTOR)?;
            Some((output, motor as usize))
        });
        let injected = InjectedFailures::new(data);
        Self { commands, motors, outputs: outputs.collect(), injected }
    }

    /// Returns whether the log has the commands.
    pub(super) fn are_known(&self) -> bool {
        !self.motors.is_empty()
    }

    /// Returns the motors that the output with the index `output` may drive. They are several if
    /// several drivers have an output with this index.
    pub(super) fn motors_of_output(&self, output: usize) -> Vec<usize> {
        if self.outputs.is_empty() {
            return vec![output];
        }
        let own = self.outputs.iter().filter(|(own, _)| *own == output);
        own.map(|(_, motor)| *motor).collect()
    }

    /// Returns whether a motor was to stand still at about `time`: the controller commanded the least
    /// output, or an injected failure stopped the motor.
    pub(super) fn is_stopped(&self, motor: usize, time: i64) -> bool {
        if self.injected.contains(motor, time) {
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
}

/// Returns the motor that the ESC with the index `esc` drives in `row`.
pub(super) fn motor_of_esc(escs: &Series, esc: usize, row: usize) -> usize {
    let function = escs.value(&format!("esc[{esc}].actuator_function"), row);
    let motor = function.filter(|function| MOTORS.contains(function));
    motor.map_or(esc, |function| (function - FIRST_MOTOR) as usize)
}
