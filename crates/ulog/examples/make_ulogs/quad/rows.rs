//! One row of each topic, without trailing padding.

use crate::files::{flight::Flight, portable_math::Noise, row::Row};

/// The boot time: 2024-06-01 10:00:00 UTC, in microseconds.
const BOOT_UTC_MICROS: u64 = 1_717_236_000_000_000;

/// The position before the flight: latitude and longitude in degrees, altitude in
/// meters.
const HOME: [f64; 3] = [47.397_742, 8.545_594, 488.0];
const METERS_PER_DEGREE: f64 = 111_194.93;
/// The cosine of the latitude.
const COSINE: f64 = 0.676_9;

/// Values of PX4's `nav_state`.
const MISSION: u8 = 3;
const LOITER: u8 = 4;
const TAKEOFF: u8 = 17;
const LAND: u8 = 18;

pub(super) fn attitude(time: u64, flight: &Flight) -> Vec<u8> {
    Row::with_timestamp(time).floats(&flight.attitude).u8(0).finish()
}

pub(super) fn sensors(time: u64, flight: &Flight, noise: &mut Noise) -> Vec<u8> {
    let gyro = flight.rates.map(|rate| rate + noise.random_within(0.002));
    let force = flight.force.map(|force| force + noise.random_within(0.05));
    let row = Row::with_timestamp(time)
        .floats(&gyro)
        .u32(5_000)
        .i32(-(noise.below(500) as i32));
    row.floats(&force).u32(5_000).bytes(&[0, 0, 1, 1]).finish()
}

pub(super) fn position(time: u64, flight: &Flight) -> Vec<u8> {
    let row = Row::with_timestamp(time)
        .floats(&flight.position)
        .floats(&flight.velocity)
        .floats(&flight.acceleration)
        .floats(&[flight.yaw, -flight.position[2]]);
    row.bytes(&[1, 1, 1, 1, u8::from(flight.is_flying())]).finish()
}

/// The receiver has neither a position nor a time in the first second.
pub(super) fn gps(time: u64, flight: &Flight, noise: &mut Noise) -> Vec<u8> {
    let latency = 90_000 + noise.below(20_000);
    if flight.seconds < 1.0 {
        return Row::with_timestamp(time).bytes(&[0; 60]).u8(1).bytes(&[0, 3]).finish();
    }
    let [north, east, down] = flight.position;
    let latitude = HOME[0] + north / METERS_PER_DEGREE;
    let longitude = HOME[1] + east / METERS_PER_DEGREE / COSINE;
    let altitude = HOME[2] - down;
    Row::with_timestamp(time)
        .u64(BOOT_UTC_MICROS + time - latency)
        .i32((latitude * 1e7) as i32)
        .i32((longitude * 1e7) as i32)
        .i32((altitude * 1e3) as i32)
        .i32((altitude * 1e3) as i32 + 47_300)
        .floats(&[0.2, 0.8, 1.1, 0.7, flight.ground_speed()])
        .floats(&flight.velocity)
        .floats(&[flight.yaw])
        .bytes(&[3, 1, 14])
        .finish()
}

pub(super) fn status(time: u64, flight: &Flight) -> Vec<u8> {
    let is_armed = (2.5..28.0).contains(&flight.seconds);
    let nav_state = match flight.seconds {
        ..3.0 => LOITER,
        ..8.0 => TAKEOFF,
        ..21.0 => MISSION,
        _ => LAND,
    };
    let start_if_armed = |from: u64| if time >= from && is_armed { from } else { 0 };
    let row = Row::with_timestamp(time)
        .u64(start_if_armed(7_500_000))
        .u64(start_if_armed(8_020_000));
    row.bytes(&[if is_armed { 2 } else { 1 }, nav_state, 1, 0]).finish()
}

/// Both batteries are drained equally; the second one has a lower charge.
pub(super) fn battery(time: u64, flight: &Flight, id: u8) -> Vec<u8> {
    let current = if flight.is_flying() { 9.5 } else { 0.4 };
    let drained = flight.seconds * 9.5 / 3.6;
    let remaining = 0.32 - 0.1 * f64::from(id - 1) - drained / 5_200.0;
    let cell = 3.3 + 0.9 * remaining - 0.012 * current;
    let warning = u8::from(flight.seconds > 18.5);
    Row::with_timestamp(time)
        .floats(&[4.0 * cell, current, drained, remaining])
        .floats(&[cell; 4])
        .bytes(&[4, id, warning, 1])
        .finish()
}

pub(super) fn escs(time: u64, flight: &Flight, noise: &mut Noise) -> Vec<u8> {
    let is_armed = (2.5..28.0).contains(&flight.seconds);
    let counter = (flight.seconds * 2.0) as u16;
    let mut row = Row::with_timestamp(time).u16(counter).bytes(&[2, 4, 3]);
    row = row.u8(if is_armed { 3 } else { 0 }).bytes(&[0; 2]);
    for motor in 0..2 {
        let speed = match (is_armed, flight.is_flying()) {
            (false, _) => 0,
            (true, false) => 1_500,
            (true, true) => 6_200 - (flight.rates[0] * 300.0) as i32 * (1 - 2 * motor),
        };
        row = row
            .u64(time - noise.below(2_000))
            .u32(0)
            .i32(speed)
            .floats(&[15.9, f64::from(speed) / 1_300.0, 31.0 + flight.seconds / 4.0])
            .u16(0)
            .bytes(&[motor as u8, 0, 101 + motor as u8])
            // The content of padding is arbitrary memory.
            .bytes(&[0xA5; 7]);
    }
    row.finish()
}
