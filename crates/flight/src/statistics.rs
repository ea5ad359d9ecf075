//! The statistics of a flight, by the definitions of Flight Review.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    airframes::{airframe_name, estimator_name, vehicle_type_name},
    data::FlightData,
    phases::Phases,
    rotation::{ROTATION_SOURCES, RotationMaxima},
    series::{Series, seconds},
};

/// Flight Review ignores smaller currents, because no current sensor is connected
/// (`plotted_tables.py`).
const MIN_CURRENT_A: f64 = 0.1;

/// The maximum time between two battery messages across which the energy is integrated.
const LONGEST_ENERGY_GAP_S: f64 = 10.0;

/// The statistics of a flight; `None` where the log does not have the values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlightStatistics {
    /// The duration of the log in seconds.
    pub log_s: f64,
    /// The time for which the vehicle was armed, in seconds.
    pub armed_s: Option<f64>,
    /// The time for which the vehicle was in the air, in seconds.
    pub airborne_s: Option<f64>,
    /// The flight modes, in the order of their first use.
    pub modes: Vec<ModeTime>,
    /// The length of the path in m, where position and height were valid.
    pub distance_m: Option<f64>,
    /// The difference between the highest and the lowest height, in m.
    pub altitude_difference_m: Option<f64>,
    /// The mean speed in m/s.
    pub average_speed_m_s: Option<f64>,
    /// The highest speed in m/s.
    pub max_speed_m_s: Option<f64>,
    /// The mean horizontal speed in m/s.
    pub average_horizontal_speed_m_s: Option<f64>,
    /// The highest horizontal speed in m/s.
    pub max_horizontal_speed_m_s: Option<f64>,
    /// The highest speed upwards in m/s.
    pub max_speed_up_m_s: Option<f64>,
    /// The highest speed downwards in m/s.
    pub max_speed_down_m_s: Option<f64>,
    /// The largest angle between the vertical axis of the vehicle and the vertical, in degrees.
    pub max_tilt_deg: Option<f64>,
    /// The highest angular rate in degrees per second.
    pub max_rotation_deg_s: Option<f64>,
    /// The mean current of the first battery in A.
    pub average_current_a: Option<f64>,
    /// The highest current of the first battery in A.
    pub max_current_a: Option<f64>,
    /// The lowest voltage of the first battery in V.
    pub min_voltage_v: Option<f64>,
    /// The charge that the first battery lost during the log, in mAh.
    pub discharged_mah: Option<f64>,
    /// The energy that the first battery delivered during the log, in Wh.
    pub energy_wh: Option<f64>,
    /// The mean speed of the estimated wind in m/s.
    pub average_wind_m_s: Option<f64>,
    /// The highest speed of the estimated wind in m/s.
    pub max_wind_m_s: Option<f64>,
    /// The mean vibration of all accelerometers in m/s².
    pub average_vibration_m_s2: Option<f64>,
    /// The highest vibration of all accelerometers in m/s².
    pub max_vibration_m_s2: Option<f64>,
    /// The identifier of the airframe: the parameter `SYS_AUTOSTART`.
    pub airframe_id: Option<i64>,
    /// The name of the airframe, if its identifier is known.
    pub airframe: Option<&'static str>,
    /// The type of the vehicle according to the parameter `MAV_TYPE`.
    pub vehicle_type: Option<&'static str>,
    /// The name of the position estimator, e.g. `EKF2`.
    pub estimator: Option<&'static str>,
    /// The flight time of the vehicle in all flights according to its parameters, in seconds.
    pub vehicle_flight_s: Option<f64>,
}

/// The time that a flight spent in one flight mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModeTime {
    /// The value of `vehicle_status.nav_state`.
    pub nav_state: u8,
    /// The name, e.g. `AUTO_MISSION`.
    pub name: String,
    /// The time in this mode in seconds.
    pub seconds: f64,
    /// The armed time in this mode in seconds.
    pub armed_s: f64,
}

impl FlightStatistics {
    /// Computes the statistics.
    pub fn new(data: &FlightData, phases: &Phases) -> Self {
        let mut statistics = Self {
            log_s: seconds(data.time.1.saturating_sub(data.time.0)),
            armed_s: phases.armed.as_ref().map(|armed| armed.seconds()),
            airborne_s: phases.airborne.as_ref().map(|airborne| airborne.seconds()),
            modes: mode_times(data, phases),
            ..Self::default()
        };
        if let Some(position) = data.first_instance("vehicle_local_position") {
            statistics.add_position(position);
        }
        statistics.add_rotation(data);
        if let Some(battery) = data.first_instance("battery_status") {
            statistics.add_battery(battery);
        }
        statistics.add_wind(data);
        let mut vibration = Average::default();
        for series in data.instances("vehicle_imu_status") {
            let metric = data.vibration(series).unwrap_or_default();
            metric.iter().for_each(|value| vibration.add(f64::from(*value)));
        }
        statistics.average_vibration_m_s2 = vibration.mean();
        statistics.max_vibration_m_s2 = vibration.max;
        statistics.add_vehicle(data);
        statistics
    }

    /// Adds distance, height and speeds (Flight Review, `get_info_table_html`).
    fn add_position(&mut self, position: &Series) {
        let column = |name| position.column(name).unwrap_or_default();
        let (x, y, z) = (column("x"), column("y"), column("z"));
        let is_valid = |a: &str, b: &str, row: usize| {
            let both = position.value(a, row).zip(position.value(b, row));
            both.is_some_and(|(a, b)| a * b > 0.0)
        };
        let rows = x.iter().zip(y).zip(z).enumerate();
        let mut last_position: Option<[f64; 3]> = None;
        let (mut distance, mut valid_rows) = (0.0, 0_u64);
        for (row, ((x, y), z)) in rows {
            let position_m = [f64::from(*x), f64::from(*y), f64::from(*z)];
            let is_known = is_valid("xy_valid", "z_valid", row)
                && position_m.iter().all(|number| number.is_finite());
            let position_m = is_known.then_some(position_m);
            if let Some((start, end)) = last_position.zip(position_m) {
                let steps = start.iter().zip(&end).map(|(a, b)| (b - a) * (b - a));
                distance += steps.sum::<f64>().sqrt();
            }
            valid_rows += u64::from(is_known);
            last_position = position_m;
        }
        self.distance_m = (valid_rows > 0).then_some(distance);
        let heights = || z.iter().copied().map(f64::from).filter(|z| z.is_finite());
        let height_range = heights().reduce(f64::max).zip(heights().reduce(f64::min));
        self.altitude_difference_m =
            height_range.map(|(highest, lowest)| highest - lowest);

        let velocities =
            column("vx").iter().zip(column("vy")).zip(column("vz")).enumerate();
        let (mut speed, mut horizontal) = (Average::default(), Average::default());
        let mut down = Average::default();
        for (row, ((x, y), z)) in velocities {
            let [x, y, z] = [f64::from(*x), f64::from(*y), f64::from(*z)];
            if is_valid("v_xy_valid", "v_z_valid", row) {
                horizontal.add(x.hypot(y));
                speed.add(x.hypot(y).hypot(z));
                down.add(z);
            }
        }
        self.average_speed_m_s = speed.mean();
        self.max_speed_m_s = speed.max;
        self.average_horizontal_speed_m_s = horizontal.mean();
        self.max_horizontal_speed_m_s = horizontal.max;
        self.max_speed_up_m_s = down.min.map(|down| -down);
        self.max_speed_down_m_s = down.max;
    }

    /// Adds the tilt and the angular rate.
    fn add_rotation(&mut self, data: &FlightData) {
        let maxima = || {
            ROTATION_SOURCES.iter().filter_map(|source| {
                data.rotation.iter().find(|maxima| maxima.source() == *source)
            })
        };
        self.max_tilt_deg =
            maxima().find_map(RotationMaxima::tilt).map(f64::to_degrees);
        self.max_rotation_deg_s =
            maxima().find_map(RotationMaxima::rate).map(f64::to_degrees);
    }

    fn add_battery(&mut self, battery: &Series) {
        let current = battery.column("current_a").unwrap_or_default();
        let voltage = battery.first_column(&["voltage_v", "voltage_filtered_v"]);
        let voltage = voltage.unwrap_or_default();
        let mut currents = Average::default();
        current.iter().for_each(|value| currents.add(f64::from(*value)));
        if currents.max.is_some_and(|max| max > MIN_CURRENT_A) {
            self.average_current_a = currents.mean();
            self.max_current_a = currents.max;
            self.energy_wh = energy_wh(battery, voltage, current);
        }
        let mut voltages = Average::default();
        voltage.iter().for_each(|value| voltages.add(f64::from(*value)));
        self.min_voltage_v = voltages.min;
        let charge = battery.column("discharged_mah").unwrap_or_default();
        let mut known_charge =
            charge.iter().copied().map(f64::from).filter(|c| c.is_finite());
        let first = known_charge.next();
        self.discharged_mah =
            first.map(|first| known_charge.next_back().unwrap_or(first) - first);
    }

    fn add_wind(&mut self, data: &FlightData) {
        let Some(wind) = data
            .first_instance("wind")
            .or_else(|| data.first_instance("wind_estimate"))
        else {
            return;
        };
        let north = wind.column("windspeed_north").unwrap_or_default();
        let east = wind.column("windspeed_east").unwrap_or_default();
        let mut speed = Average::default();
        for (north, east) in north.iter().zip(east) {
            speed.add(f64::from(*north).hypot(f64::from(*east)));
        }
        self.average_wind_m_s = speed.mean();
        self.max_wind_m_s = speed.max;
    }

    fn add_vehicle(&mut self, data: &FlightData) {
        let whole = |name: &str| data.parameter(name).map(|value| value as i64);
        self.airframe_id = whole("SYS_AUTOSTART");
        self.airframe = self.airframe_id.and_then(airframe_name);
        self.vehicle_type = whole("MAV_TYPE").and_then(vehicle_type_name);
        self.estimator = estimator_name(whole("MAV_TYPE"), whole("SYS_MC_EST_GROUP"));
        // The time in microseconds is split into two signed parameters of 32 bits (Flight Review,
        // `helper.py`).
        let half = |name: &str| whole(name).map(|value| u64::from(value as i32 as u32));
        let time = half("LND_FLIGHT_T_HI").zip(half("LND_FLIGHT_T_LO"));
        self.vehicle_flight_s =
            time.map(|(high, low)| ((high << 32) | low) as f64 / 1e6);
    }
}

/// Integrates the product of voltage and current with the trapezoidal rule, in Wh. Pairs of rows
/// that are too far apart are skipped.
fn energy_wh(battery: &Series, voltage: &[f32], current: &[f32]) -> Option<f64> {
    let power = voltage.iter().zip(current).map(|(v, a)| f64::from(*v) * f64::from(*a));
    let rows: Vec<(i64, f64)> = battery.times.iter().copied().zip(power).collect();
    let mut joules = 0.0;
    for ((start, before), (end, after)) in rows.iter().zip(rows.iter().skip(1)) {
        let step = seconds(end.saturating_sub(*start));
        let mean = (before + after) / 2.0;
        if mean.is_finite() && (0.0..=LONGEST_ENERGY_GAP_S).contains(&step) {
            joules += mean * step;
        }
    }
    (rows.len() > 1).then_some(joules / 3600.0)
}

/// Returns the time spent in each flight mode.
fn mode_times(data: &FlightData, phases: &Phases) -> Vec<ModeTime> {
    let mut order: Vec<u8> = Vec::new();
    let mut times: BTreeMap<u8, (f64, f64)> = BTreeMap::new();
    let armed = phases.armed.as_ref().map_or(&[][..], |armed| armed.list());
    for mode in &phases.modes {
        let (total_s, armed_s) = times.entry(mode.nav_state).or_insert_with(|| {
            order.push(mode.nav_state);
            (0.0, 0.0)
        });
        *total_s += seconds(mode.end.saturating_sub(mode.start));
        let first = armed.partition_point(|(_, end)| *end <= mode.start);
        for (start, end) in armed.iter().skip(first) {
            if *start >= mode.end {
                break;
            }
            let (start, end) = (mode.start.max(*start), mode.end.min(*end));
            *armed_s += seconds(end.saturating_sub(start));
        }
    }
    let mode_name = |nav_state: u8| {
        let name = data.mode_names.get(&nav_state).cloned();
        name.unwrap_or_else(|| format!("nav_state {nav_state}"))
    };
    let time = |nav_state: u8| {
        let (seconds, armed_s) = times.get(&nav_state).copied().unwrap_or_default();
        ModeTime { nav_state, name: mode_name(nav_state), seconds, armed_s }
    };
    order.into_iter().map(time).collect()
}

/// The mean, the minimum and the maximum of values. Values that are not finite are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Average {
    sum: f64,
    count: u64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl Average {
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.sum += value;
            self.count += 1;
            self.min = Some(self.min.map_or(value, |min| min.min(value)));
            self.max = Some(self.max.map_or(value, |max| max.max(value)));
        }
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn flight_statistics(series: Series) -> FlightStatistics {
        let data = FlightData::new((0, 4 * SECOND)).with_series([series]);
        FlightStatistics::new(&data, &Phases::new(&data))
    }

    fn times(count: i64) -> Vec<i64> {
        (0..count).map(|second| second * SECOND).collect()
    }

    #[test]
    fn distance_counts_only_neighbouring_valid_rows() {
        let mut position = Series::new("vehicle_local_position", 0, times(5));
        position.add_column("x", vec![0.0, 3.0, 100.0, 3.0, 3.0]);
        position.add_column("y", vec![0.0, 4.0, 100.0, 4.0, 4.0]);
        position.add_column("z", vec![0.0, 0.0, -50.0, 0.0, -12.0]);
        position.add_column("xy_valid", vec![1.0, 1.0, 0.0, 1.0, 1.0]);
        position.add_column("z_valid", vec![1.0; 5]);
        let statistics = flight_statistics(position);
        assert_eq!(statistics.distance_m, Some(5.0 + 12.0));
        assert_eq!(statistics.altitude_difference_m, Some(50.0));
        assert_eq!(statistics.max_speed_m_s, None);
    }

    #[test]
    fn speeds_are_those_of_valid_velocities() {
        let mut position = Series::new("vehicle_local_position", 0, times(3));
        position.add_column("vx", vec![3.0, 0.0, 90.0]);
        position.add_column("vy", vec![4.0, 0.0, 90.0]);
        position.add_column("vz", vec![12.0, -2.0, 90.0]);
        position.add_column("v_xy_valid", vec![1.0, 1.0, 0.0]);
        position.add_column("v_z_valid", vec![1.0; 3]);
        let statistics = flight_statistics(position);
        assert_eq!(statistics.max_speed_m_s, Some(13.0));
        assert_eq!(statistics.average_speed_m_s, Some(7.5));
        assert_eq!(statistics.max_horizontal_speed_m_s, Some(5.0));
        assert_eq!(statistics.average_horizontal_speed_m_s, Some(2.5));
        assert_eq!(statistics.max_speed_up_m_s, Some(2.0));
        assert_eq!(statistics.max_speed_down_m_s, Some(12.0));
    }

    #[test]
    fn rates_in_the_attitude_precede_the_angular_velocity() {
        let [attitude, velocity] = ROTATION_SOURCES.map(|source| {
            let mut maxima = RotationMaxima::new(source);
            maxima.add_rates([0.0, 0.0, source.topic.len() as f64]);
            maxima
        });
        let deg_s = |rotation: Vec<RotationMaxima>| {
            let data = FlightData { rotation, ..FlightData::new((0, 0)) };
            let statistics = FlightStatistics::new(&data, &Phases::new(&data));
            statistics.max_rotation_deg_s.map(f64::to_radians)
        };
        assert_eq!(deg_s(vec![velocity, attitude]), Some(16.0));
        assert_eq!(deg_s(vec![velocity]), Some(24.0));
        assert_eq!(deg_s(Vec::new()), None);
    }

    #[test]
    fn energy_is_power_over_time() {
        let mut battery = Series::new("battery_status", 0, times(4));
        battery.add_column("voltage_v", vec![12.0; 4]);
        battery.add_column("current_a", vec![10.0; 4]);
        battery.add_column("discharged_mah", vec![500.0, 503.0, 505.0, 508.0]);
        let statistics = flight_statistics(battery);
        assert_eq!(statistics.energy_wh, Some(120.0 * 3.0 / 3600.0));
        assert_eq!(statistics.discharged_mah, Some(8.0));
        assert_eq!(statistics.average_current_a, Some(10.0));
    }

    #[test]
    fn modes_last_until_the_next_one() {
        let mut status = Series::new("vehicle_status", 0, times(4));
        status.add_column("nav_state", vec![2.0, 3.0, 3.0, 2.0]);
        status.add_column("arming_state", vec![1.0, 1.0, 2.0, 2.0]);
        let statistics = flight_statistics(status);
        let modes: Vec<_> = statistics
            .modes
            .iter()
            .map(|m| (m.nav_state, m.seconds, m.armed_s))
            .collect();
        assert_eq!(modes, [(2, 2.0, 1.0), (3, 2.0, 1.0)]);
        assert_eq!((statistics.armed_s, statistics.airborne_s), (Some(2.0), Some(2.0)));
    }

    #[test]
    fn flight_time_of_the_vehicle_has_two_halves() {
        let parameters = [("LND_FLIGHT_T_HI", 1.0), ("LND_FLIGHT_T_LO", -1.0)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value));
        let data = FlightData::new((0, 0)).with_parameters(parameters);
        let statistics = FlightStatistics::new(&data, &Phases::new(&data));
        assert_eq!(statistics.vehicle_flight_s, Some(8589.934591));
    }
}
