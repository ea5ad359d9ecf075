//! A flight of a quadrotor as PX4 1.14 logs it, with fewer topics.

mod definitions;
mod rows;

use logtool_core::Result;
use logtool_ulog::{
    Level,
    write::{Subscription, TopicHandle, Writer},
};

use crate::files::{flight::Flight, portable_math::Noise};

/// The duration of the flight, in seconds.
pub(crate) const WHOLE_FLIGHT: f64 = 30.0;

/// The time of the crash in the log of a crash, in seconds.
pub(crate) const UNTIL_CRASH: f64 = 10.0;

/// The start of the log, since boot.
const START_MICROS: u64 = 5_000_000;
const TICK_MICROS: u64 = 20_000;

/// The time range of the dropout, in seconds of the log.
const DROPOUT: std::ops::Range<f64> = 15.0..15.12;

/// The logged strings: time in seconds, level, tag and text.
const LINES: [(f64, u8, Option<u16>, &str); 9] = [
    (0.5, 6, None, "[logger] Start file log"),
    (2.5, 6, None, "[commander] Armed by external command"),
    (3.02, 6, None, "[commander] Takeoff detected"),
    (8.0, 7, Some(3), "[navigator] mission item 1 of 2: orbit, radius 15.0 m"),
    (14.0, 6, None, "[param] MPC_XY_CRUISE changed: 5.0 -> 7.0"),
    (18.5, 4, None, "[battery] Low battery level! Return advised"),
    (21.0, 7, Some(3), "[navigator] mission item 2 of 2: land"),
    (27.2, 6, None, "[commander] Landing detected"),
    (28.0, 6, None, "[commander] Disarmed by landing"),
];

/// The topics of the flight.
struct Topics {
    attitude: TopicHandle,
    sensors: TopicHandle,
    position: TopicHandle,
    gps: TopicHandle,
    status: TopicHandle,
    batteries: [TopicHandle; 2],
    escs: TopicHandle,
}

/// Returns the log of the first `seconds` of the flight.
pub(crate) fn log(seconds: f64) -> Result<Vec<u8>> {
    let mut log = Writer::new(Vec::new(), START_MICROS);
    definitions::write(&mut log)?;
    let topics = Topics::subscribe(&mut log)?;

    let mut noise = Noise::new();
    let mut flight = Flight::default();
    let mut lines = LINES.iter().peekable();
    let mut is_dropping = false;
    let dt = TICK_MICROS as f64 / 1e6;
    for tick in 1.. {
        flight = flight.state_after(dt);
        if flight.seconds > seconds {
            break;
        }
        let time = START_MICROS + tick * TICK_MICROS + noise.below(200);
        if DROPOUT.contains(&flight.seconds) {
            is_dropping = true;
            continue;
        }
        if std::mem::take(&mut is_dropping) {
            log.dropout(120)?;
        }
        while let Some((_, level, tag, text)) =
            lines.next_if(|(from, ..)| *from <= flight.seconds)
        {
            let level = Level::new(*level);
            match tag {
                Some(tag) => log.tagged_string(level, *tag, time, text)?,
                None => log.string(level, time, text)?,
            }
            if text.starts_with("[param]") {
                log.parameter_change("MPC_XY_CRUISE", 7.0)?;
            }
        }
        topics.write(&mut log, time, &flight, &mut noise)?;
    }
    log.finish()
}

impl Topics {
    fn subscribe(log: &mut Writer<Vec<u8>>) -> Result<Self> {
        // Slightly less than the interval, because the times of the rows jitter.
        let mut every = |name, millis: u64| {
            let topic = Subscription::new(name);
            log.subscribe(topic.at_most_every_micros(millis * 1_000 - 500))
        };
        Ok(Self {
            attitude: every("vehicle_attitude", 20)?,
            sensors: every("sensor_combined", 100)?,
            position: every("vehicle_local_position", 200)?,
            gps: every("vehicle_gps_position", 200)?,
            status: every("vehicle_status", 500)?,
            escs: every("esc_status", 500)?,
            batteries: [
                every("battery_status", 1_000)?,
                log.subscribe(
                    Subscription::new("battery_status")
                        .instance(1)
                        .at_most_every_micros(999_500)
                        .omit_if_empty(),
                )?,
            ],
        })
    }

    /// Writes the rows of one tick that are due.
    fn write(
        &self,
        log: &mut Writer<Vec<u8>>,
        time: u64,
        flight: &Flight,
        noise: &mut Noise,
    ) -> Result<()> {
        log.data(self.sensors, time, &rows::sensors(time, flight, noise))?;
        log.data(self.position, time, &rows::position(time, flight))?;
        log.data(self.gps, time, &rows::gps(time, flight, noise))?;
        log.data(self.status, time, &rows::status(time, flight))?;
        for (id, topic) in (1..).zip(self.batteries) {
            // The second battery is connected later.
            if id == 1 || flight.seconds > 2.0 {
                log.data(topic, time, &rows::battery(time, flight, id))?;
            }
        }
        log.data(self.escs, time, &rows::escs(time, flight, noise))?;
        log.data(self.attitude, time, &rows::attitude(time, flight))?;
        Ok(())
    }
}
