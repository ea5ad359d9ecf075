//! The states of VTOL vehicles of PX4: flight as a multicopter or fixed-wing, and transitions.

use std::sync::Arc;

use logtool_core::{Log, TimeRange};
use logtool_plot::{Band, Rgb};

use crate::{
    error::Result,
    records::signals::{self, RequestedSignal},
};

const TOPIC: &str = "vehicle_status";

/// The fields with the type of the vehicle, and their values of a multicopter and of a fixed-wing
/// vehicle. The second one is that of releases before 1.9 (uORB, `VehicleStatus.msg`).
const TYPE_FIELDS: [(&str, f64, f64); 2] =
    [("vehicle_type", 1.0, 2.0), ("is_rotary_wing", 1.0, 0.0)];

/// The names and the colours of the states.
const STATES: [(&str, Rgb); 3] = [
    ("VTOL: multicopter", [0x00, 0x72, 0xb2]),
    ("VTOL: transition", [0xd5, 0x5e, 0x00]),
    ("VTOL: fixed-wing", [0x00, 0x9e, 0x73]),
];

/// Returns the states until `end`, in nanoseconds on the clock of the log. The list is empty if the
/// log is not of a VTOL vehicle of PX4.
///
/// # Errors
/// If reading fails.
pub(crate) fn vtol_states(log: &dyn Log, end: i64) -> Result<Vec<Band>> {
    let Some(signal) = state_signal(log) else { return Ok(Vec::new()) };
    let (read, _) = signals::read_all(log, &[signal], TimeRange::ALL, &|_| {})?;
    let mut bands: Vec<Band> = Vec::new();
    let mut last = None;
    for (time, state) in read.iter().flat_map(|state| &state.samples) {
        // A value that is not a state has an index beyond those of the states.
        let state = if *state >= 0.0 { *state as usize } else { usize::MAX };
        if last.replace(state) == Some(state) {
            continue;
        }
        if let Some(before) = bands.last_mut() {
            before.end = before.end.min(*time);
        }
        if let Some((name, color)) = STATES.get(state) {
            let name = (*name).to_owned();
            bands.push(Band { name, start: *time, end, color: *color });
        }
    }
    Ok(bands.into_iter().filter(|band| band.start < band.end).collect())
}

/// Returns the signal with the index of the state, which is NaN for other vehicles.
fn state_signal(log: &dyn Log) -> Option<RequestedSignal> {
    let topic = log.manifest().topic_id(TOPIC).ok()?;
    let find = |field: &str| signals::find_in_topic(log, topic, field);
    let mut signal = find("is_vtol")?;
    signal.inputs.extend(find("in_transition_mode")?.inputs);
    let mut fields = TYPE_FIELDS.iter();
    let (type_signal, multicopter, fixed_wing) =
        fields.find_map(|(name, multicopter_value, fixed_wing_value)| {
            Some((find(name)?, *multicopter_value, *fixed_wing_value))
        })?;
    signal.inputs.extend(type_signal.inputs);
    signal.function = Arc::new(move |values| match values {
        [is_vtol, ..] if *is_vtol != 1.0 => f64::NAN,
        [_, transition, _] if *transition == 1.0 => 1.0,
        [_, _, vehicle_type] if *vehicle_type == multicopter => 0.0,
        [_, _, vehicle_type] if *vehicle_type == fixed_wing => 2.0,
        _ => f64::NAN,
    });
    Some(signal)
}
