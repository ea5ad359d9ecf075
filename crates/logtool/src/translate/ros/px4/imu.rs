//! Rates, accelerations and attitudes, as `sensor_msgs/Imu`. What is not known is
//! marked as the type has it: the first number of its covariance is -1. Covariances that are
//! all 0 are of what is known, but not how well.
//!
//! Rates and accelerations have the attitude beside them that the vehicle had when they were
//! measured: between the two that `vehicle_attitude` tells before and after, if these are no
//! more than half a second apart.

use std::sync::Arc;

use logtool_core::{Layout, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    translate::ros::{
        common,
        px4::{
            attitudes::Attitudes,
            field_reader::{Numbers, turned},
            frame_conversion::{Vector, World, body},
            payloads::of_payloads,
        },
    },
};

const TYPE: &str = "sensor_msgs/Imu";

/// A covariance of which nothing is known, and one of what is not there.
const UNKNOWN: [f64; 9] = [0.0; 9];
const MISSING: [f64; 9] = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// Where rates, in rad/s, and accelerations, in m/s², of the body are.
#[derive(Clone, Copy, Debug)]
enum Measured {
    /// Themselves, as of `sensor_combined`.
    Direct([Numbers; 2]),
    /// What they come to over times in microseconds, as of `vehicle_imu`.
    Summed([Numbers; 2], [Numbers; 2]),
}

impl Measured {
    fn find(layout: &Layout) -> Option<Self> {
        for rates in ["gyro_rad", "gyro_rad_s"] {
            let found = Numbers::each(layout, [rates, "accelerometer_m_s2"]);
            if let Some([rates, accelerations]) = found {
                let both = [rates.at_least(3)?, accelerations.at_least(3)?];
                return Some(Self::Direct(both));
            }
        }
        let [angles, speeds] =
            Numbers::each(layout, ["delta_angle", "delta_velocity"])?;
        let times = Numbers::each(layout, ["delta_angle_dt", "delta_velocity_dt"]);
        let times = times.or_else(|| Numbers::each(layout, ["dt", "dt"]))?;
        Some(Self::Summed([angles.at_least(3)?, speeds.at_least(3)?], times))
    }

    fn read(self, payload: &[u8]) -> Option<[Vector; 2]> {
        let both = |[rates, accelerations]: [Numbers; 2]| {
            Some([rates.array(payload)?, accelerations.array(payload)?])
        };
        match self {
            Self::Direct(measured) => both(measured),
            Self::Summed(sums, times) => {
                let [angles, speeds]: [Vector; 2] = both(sums)?;
                let [angles_time, speeds_time] = times
                    .map(|time| time.first(payload).filter(|micros| *micros > 0.0));
                let over = |sum: Vector, micros: f64| sum.map(|of| of / (micros / 1e6));
                Some([over(angles, angles_time?), over(speeds, speeds_time?)])
            }
        }
    }
}

/// How records of the topic `id` become `sensor_msgs/Imu`, if they have rates and
/// accelerations; with the attitude of the vehicle, if that is known.
pub(super) fn imu(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    attitudes: Option<Arc<Attitudes>>,
) -> Result<Option<Translation>> {
    let Some(measured) = Measured::find(layout) else { return Ok(None) };
    let about = common(topic, "/imu", TYPE)?;
    let known = attitudes.clone();
    let put = move |payload: &[u8], nanos: i64, out: &mut Vec<u8>| {
        let [rates, accelerations] = measured.read(payload)?;
        let own = nanos.saturating_sub(offset_nanos);
        let attitude = known.as_ref().and_then(|known| known.at(own));
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, "base_link");
        match attitude {
            Some(of) => message.f64s(&World::Ned.attitude(of)).f64s(&UNKNOWN),
            None => message.f64s(&[0.0, 0.0, 0.0, 1.0]).f64s(&MISSING),
        };
        message.f64s(&body(rates)).f64s(&UNKNOWN);
        message.f64s(&body(accelerations)).f64s(&UNKNOWN);
        Some(())
    };
    let mut imu = of_payloads(id, about, layout, offset_nanos, put);
    if let Some(attitudes) = attitudes {
        let begin = imu.begin;
        imu.begin = Arc::new(move || {
            attitudes.load()?;
            begin()
        });
    }
    Ok(Some(imu))
}

/// How records of the topic `id` become `sensor_msgs/Imu`, if they are attitudes: without
/// accelerations, and without rates if they have none.
pub(super) fn attitude(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
) -> Result<Option<Translation>> {
    let attitude = Numbers::find(layout, "q").and_then(|q| q.at_least(4));
    let Some(attitude) = attitude.filter(|_| topic.type_name.contains("_attitude"))
    else {
        return Ok(None);
    };
    let rates = Numbers::each(layout, ["rollspeed", "pitchspeed", "yawspeed"]);
    let about = common(topic, "/imu", TYPE)?;
    let put = move |payload: &[u8], nanos, out: &mut Vec<u8>| {
        let attitude = turned(attitude, payload)?;
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, "base_link");
        message.f64s(&World::Ned.attitude(attitude)).f64s(&UNKNOWN);
        match rates {
            Some([roll, pitch, yaw]) => {
                let [roll, pitch, yaw] = [roll, pitch, yaw].map(|of| of.first(payload));
                message.f64s(&body([roll?, pitch?, yaw?])).f64s(&UNKNOWN);
            }
            None => {
                message.f64s(&[0.0; 3]).f64s(&MISSING);
            }
        }
        message.f64s(&[0.0; 3]).f64s(&MISSING);
        Some(())
    };
    Ok(Some(of_payloads(id, about, layout, offset_nanos, put)))
}
