//! When a vehicle was armed, in the air, and in which flight mode.

use crate::{data::FlightData, intervals::Intervals};

/// The value of `vehicle_status.arming_state` of an armed vehicle (uORB, `VehicleStatus.msg`).
const ARMED: f64 = 2.0;

/// `VEHICLE_TYPE_ROTARY_WING` and `VEHICLE_TYPE_ROVER` (uORB, `VehicleStatus.msg`).
const ROTARY_WING: f64 = 1.0;
const ROVER: f64 = 3.0;
/// `MAV_TYPE_GROUND_ROVER`, `MAV_TYPE_SURFACE_BOAT` and `MAV_TYPE_SUBMARINE` (MAVLink).
const SURFACE: [f64; 3] = [10.0, 11.0, 12.0];

/// When a vehicle was armed, in the air, and in which flight mode.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Phases {
    /// When the vehicle was armed; `None` if the log does not state it.
    pub armed: Option<Intervals>,
    /// When the vehicle was in the air according to its land detector. Without a land detector, this
    /// is the same as `armed`.
    pub airborne: Option<Intervals>,
    /// When the vehicle was in the air, or, if it drives or swims, armed.
    pub underway: Option<Intervals>,
    /// The flight modes, in the order of time.
    pub modes: Vec<ModePeriod>,
}

/// A period of one flight mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModePeriod {
    /// The value of `vehicle_status.nav_state`.
    pub nav_state: u8,
    /// The first nanosecond, on the clock of the log.
    pub start: i64,
    /// The first nanosecond after the period.
    pub end: i64,
}

impl Phases {
    /// Finds the phases of a flight.
    pub fn new(data: &FlightData) -> Self {
        let status = data.first_instance("vehicle_status");
        let armed =
            status.filter(|s| s.column("arming_state").is_some()).map(|status| {
                let state = |row| status.value("arming_state", row);
                Intervals::from_state(status, data.time, |row| {
                    Some(state(row)? == ARMED)
                })
            });
        let land = data.first_instance("vehicle_land_detected");
        let airborne = land.filter(|l| l.column("landed").is_some()).map(|land| {
            let landed = |row| land.value("landed", row);
            Intervals::from_state(land, data.time, |row| Some(landed(row)? == 0.0))
        });
        let airborne = airborne.or_else(|| armed.clone());
        let underway = if never_flies(data) { armed.clone() } else { airborne.clone() };
        Self { airborne, underway, armed, modes: modes(data) }
    }

    /// Returns whether the vehicle was armed at `time`. Also true if the log has no armed time at
    /// all.
    pub(crate) fn may_be_armed(&self, time: i64) -> bool {
        match &self.armed {
            Some(armed) if !armed.is_empty() => armed.contains(time),
            _ => true,
        }
    }

    /// Returns whether the vehicle was armed at `time`.
    pub(crate) fn is_armed(&self, time: i64) -> bool {
        self.armed.as_ref().is_some_and(|armed| armed.contains(time))
    }

    /// Returns whether the vehicle was in the air, or under way on the ground or in water, at `time`.
    pub(crate) fn is_underway(&self, time: i64) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.contains(time))
    }
}

/// Returns whether the vehicle always flew as a multirotor. Other vehicles may stop motors in the
/// air, e.g. a VTOL in forward flight.
pub(crate) fn is_rotary_wing(data: &FlightData) -> bool {
    let Some(status) = data.first_instance("vehicle_status") else { return false };
    let types = status.first_column(&["vehicle_type", "is_rotary_wing"]);
    types.is_none_or(|types| types.iter().all(|own| f64::from(*own) == ROTARY_WING))
}

/// Returns whether the vehicle drives or swims, and so is never in the air.
fn never_flies(data: &FlightData) -> bool {
    let status = data.first_instance("vehicle_status");
    let types = status.and_then(|status| status.column("vehicle_type"));
    let is_rover = types.is_some_and(|types| {
        !types.is_empty() && types.iter().all(|own| f64::from(*own) == ROVER)
    });
    is_rover || data.parameter("MAV_TYPE").is_some_and(|own| SURFACE.contains(&own))
}

/// Returns the periods of the flight modes.
fn modes(data: &FlightData) -> Vec<ModePeriod> {
    let Some(status) = data.first_instance("vehicle_status") else { return Vec::new() };
    let mut periods: Vec<ModePeriod> = Vec::new();
    for (row, time) in status.times.iter().enumerate() {
        let Some(state) = status.value("nav_state", row) else { continue };
        let nav_state = state as u8;
        match periods.last_mut() {
            Some(last) if last.nav_state == nav_state => {}
            last => {
                if let Some(last) = last {
                    last.end = *time;
                }
                periods.push(ModePeriod { nav_state, start: *time, end: data.time.1 });
            }
        }
    }
    // A mode that was logged before the start is the mode at the start.
    periods.iter_mut().for_each(|mode| mode.start = mode.start.max(data.time.0));
    periods.retain(|mode| mode.start < mode.end);
    periods
}
