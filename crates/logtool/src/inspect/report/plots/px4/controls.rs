//! Inputs of the pilot, controls, outputs and motors.

use crate::inspect::report::plots::{
    px4::Px4Plot,
    transform::Transform::{Equals, Negative, Same, Times},
};

/// The lines of the outputs of the mixer.
macro_rules! outputs {
    ($topic:literal) => {
        &[("output *", $topic, &["output[*]"], Same)]
    };
}

/// The lines of this field of all ESCs.
macro_rules! escs {
    ($field:literal) => {
        &[("ESC *", "esc_status", &[concat!("esc[*].", $field)], Same)]
    };
}

/// The plots.
pub(super) const PLOTS: &[Px4Plot] = &[
    Px4Plot::new(
        "Manual control",
        "",
        &[
            ("roll", "manual_control_setpoint", &["roll"], Same),
            ("roll", "manual_control_setpoint", &["y"], Same),
            ("pitch", "manual_control_setpoint", &["pitch"], Same),
            ("pitch", "manual_control_setpoint", &["x"], Same),
            ("yaw", "manual_control_setpoint", &["yaw"], Same),
            ("yaw", "manual_control_setpoint", &["r"], Same),
            ("throttle", "manual_control_setpoint", &["throttle"], Same),
            ("throttle", "manual_control_setpoint", &["z"], Same),
            ("aux 1", "manual_control_setpoint", &["aux1"], Same),
            ("aux 2", "manual_control_setpoint", &["aux2"], Same),
            // Six slots of modes (uORB, `ManualControlSwitches.msg`).
            (
                "mode slot / 6",
                "manual_control_switches",
                &["mode_slot"],
                Times(1.0 / 6.0),
            ),
            (
                "mode slot / 6",
                "manual_control_setpoint",
                &["mode_slot"],
                Times(1.0 / 6.0),
            ),
            // 1 is on, 3 is off.
            ("kill switch", "manual_control_switches", &["kill_switch"], Equals(1.0)),
            ("kill switch", "manual_control_setpoint", &["kill_switch"], Equals(1.0)),
        ],
    )
    .with_limits(-1.1, 1.1),
    Px4Plot::new(
        "Raw radio control",
        "µs",
        &[
            ("channel 1", "input_rc", &["values[0]"], Same),
            ("channel 2", "input_rc", &["values[1]"], Same),
            ("channel 3", "input_rc", &["values[2]"], Same),
            ("channel 4", "input_rc", &["values[3]"], Same),
            ("channel 5", "input_rc", &["values[4]"], Same),
            ("channel 6", "input_rc", &["values[5]"], Same),
            ("channel 7", "input_rc", &["values[6]"], Same),
            ("channel 8", "input_rc", &["values[7]"], Same),
        ],
    )
    .without_zero_lines(),
    Px4Plot::new(
        "Radio control channels",
        "",
        &[
            ("channel 1", "rc_channels", &["channels[0]"], Same),
            ("channel 2", "rc_channels", &["channels[1]"], Same),
            ("channel 3", "rc_channels", &["channels[2]"], Same),
            ("channel 4", "rc_channels", &["channels[3]"], Same),
            ("channel 5", "rc_channels", &["channels[4]"], Same),
            ("channel 6", "rc_channels", &["channels[5]"], Same),
            ("channel 7", "rc_channels", &["channels[6]"], Same),
            ("channel 8", "rc_channels", &["channels[7]"], Same),
        ],
    )
    .with_limits(-1.1, 1.1),
    Px4Plot::new(
        "Actuator controls",
        "",
        &[
            ("roll", "vehicle_torque_setpoint", &["xyz[0]"], Same),
            ("roll", "actuator_controls_0", &["control[0]"], Same),
            ("pitch", "vehicle_torque_setpoint", &["xyz[1]"], Same),
            ("pitch", "actuator_controls_0", &["control[1]"], Same),
            ("yaw", "vehicle_torque_setpoint", &["xyz[2]"], Same),
            ("yaw", "actuator_controls_0", &["control[2]"], Same),
            ("thrust (up)", "vehicle_thrust_setpoint", &["xyz[2]"], Negative),
            ("thrust (forward)", "vehicle_thrust_setpoint", &["xyz[0]"], Same),
            ("thrust", "actuator_controls_0", &["control[3]"], Same),
        ],
    ),
    // Only vehicles that take off vertically and fly like planes have a second instance.
    Px4Plot::new(
        "Actuator controls of fixed-wing flight",
        "",
        &[
            ("roll", "vehicle_torque_setpoint.1", &["xyz[0]"], Same),
            ("roll", "actuator_controls_1", &["control[0]"], Same),
            ("pitch", "vehicle_torque_setpoint.1", &["xyz[1]"], Same),
            ("pitch", "actuator_controls_1", &["control[1]"], Same),
            ("yaw", "vehicle_torque_setpoint.1", &["xyz[2]"], Same),
            ("yaw", "actuator_controls_1", &["control[2]"], Same),
            ("thrust (forward)", "vehicle_thrust_setpoint.1", &["xyz[0]"], Same),
            ("thrust", "actuator_controls_1", &["control[3]"], Same),
        ],
    ),
    Px4Plot::new(
        "Motor outputs",
        "",
        &[("motor *", "actuator_motors", &["control[*]"], Same)],
    ),
    Px4Plot::new(
        "Servo outputs",
        "",
        &[("servo *", "actuator_servos", &["control[*]"], Same)],
    ),
    Px4Plot::new("Actuator outputs (main)", "", outputs!("actuator_outputs"))
        .without_zero_lines(),
    Px4Plot::new("Actuator outputs (aux)", "", outputs!("actuator_outputs.1"))
        .without_zero_lines(),
    Px4Plot::new("Actuator outputs (extra)", "", outputs!("actuator_outputs.2"))
        .without_zero_lines(),
    Px4Plot::new("Motor speed", "1/min", escs!("esc_rpm")).without_zero_lines(),
    Px4Plot::new("ESC current", "A", escs!("esc_current")).without_zero_lines(),
    Px4Plot::new("ESC voltage", "V", escs!("esc_voltage")).without_zero_lines(),
    // Before 1.16, PX4 stored the kelvin of UAVCAN in the field for degrees Celsius
    // (PX4/PX4-Autopilot#24911, and #24970 for 1.16).
    Px4Plot::new("ESC temperature", "°C (K if above 200)", escs!("esc_temperature"))
        .without_zero_lines(),
];
