//! Translates rates, accelerations and attitudes to `sensor_msgs/Imu`. Missing quantities are
//! marked as the type specifies: the first number of the covariance is -1. A covariance of
//! zeros means that the accuracy is unknown.
//!
//! Messages with rates and accelerations also have the attitude of the vehicle at that time,
//! which is interpolated between the samples of `vehicle_attitude`, if these are at most half a
//! second apart.

use std::sync::Arc;

use logtool_core::{Layout, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    records::translate::{
        Frames,
        px4::{
            attitudes::AttitudeInterpolator,
            field_reader::{FieldReader, read_attitude},
            frame_conversion::{Vector, World, body},
            payloads::translate_payloads,
        },
        ros::common_topic,
    },
};

const TYPE: &str = "sensor_msgs/Imu";

/// The covariance of unknown accuracy, and that of a missing quantity.
const UNKNOWN: [f64; 9] = [0.0; 9];
const MISSING: [f64; 9] = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// The location of rates in rad/s, and accelerations in m/s², of the body.
#[derive(Clone, Copy, Debug)]
enum MeasuredFields {
    /// The rates and accelerations, e.g. in `sensor_combined`.
    Direct([FieldReader; 2]),
    /// Their integrals, and the integration times in microseconds, e.g. in `vehicle_imu`.
    Summed([FieldReader; 2], [FieldReader; 2]),
}

impl MeasuredFields {
    fn find(layout: &Layout) -> Option<Self> {
        for rates in ["gyro_rad", "gyro_rad_s"] {
            let readers = FieldReader::find_each(layout, [rates, "accelerometer_m_s2"]);
            if let Some([rates, accelerations]) = readers {
                let readers = [rates.at_least(3)?, accelerations.at_least(3)?];
                return Some(Self::Direct(readers));
            }
        }
        let [angles, speeds] =
            FieldReader::find_each(layout, ["delta_angle", "delta_velocity"])?;
        let times =
            FieldReader::find_each(layout, ["delta_angle_dt", "delta_velocity_dt"]);
        let times = times.or_else(|| FieldReader::find_each(layout, ["dt", "dt"]))?;
        Some(Self::Summed([angles.at_least(3)?, speeds.at_least(3)?], times))
    }

    fn read(self, payload: &[u8]) -> Option<[Vector; 2]> {
        let read_both = |[rates, accelerations]: [FieldReader; 2]| {
            Some([rates.array(payload)?, accelerations.array(payload)?])
        };
        match self {
            Self::Direct(measured) => read_both(measured),
            Self::Summed(sums, times) => {
                let [angles, speeds]: [Vector; 2] = read_both(sums)?;
                let [angles_time, speeds_time] = times
                    .map(|time| time.first(payload).filter(|micros| *micros > 0.0));
                let rate_from = |sum: Vector, micros: f64| {
                    sum.map(|component| component / (micros / 1e6))
                };
                Some([rate_from(angles, angles_time?), rate_from(speeds, speeds_time?)])
            }
        }
    }
}

/// Translates records of the topic `id` to `sensor_msgs/Imu`, with the attitude of the vehicle
/// if it is known. Returns `None` if they have no rates and accelerations.
pub(super) fn imu(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    frames: &Frames,
    attitudes: Option<Arc<AttitudeInterpolator>>,
) -> Result<Option<Translation>> {
    let Some(measured) = MeasuredFields::find(layout) else { return Ok(None) };
    let topic_info = common_topic(topic, "/imu", TYPE)?;
    let (interpolator, frame) = (attitudes.clone(), frames.name("base_link"));
    let encode = move |payload: &[u8], nanos: i64, out: &mut Vec<u8>| {
        let [rates, accelerations] = measured.read(payload)?;
        let source_nanos = nanos.saturating_sub(offset_nanos);
        let attitude = interpolator
            .as_ref()
            .and_then(|interpolator| interpolator.attitude_at(source_nanos));
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, &frame);
        match attitude {
            Some(quaternion) => {
                message.f64s(&World::Ned.attitude(quaternion)).f64s(&UNKNOWN)
            }
            None => message.f64s(&[0.0, 0.0, 0.0, 1.0]).f64s(&MISSING),
        };
        message.f64s(&body(rates)).f64s(&UNKNOWN);
        message.f64s(&body(accelerations)).f64s(&UNKNOWN);
        Some(())
    };
    let imu = translate_payloads(id, topic_info, layout, offset_nanos, encode);
    Ok(Some(match attitudes {
        Some(attitudes) => attitudes.loaded_before(imu),
        None => imu,
    }))
}

/// Translates attitudes of the topic `id` to `sensor_msgs/Imu`, without accelerations, and with
/// rates if the records have them. Returns `None` if they are not attitudes.
pub(super) fn attitude(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    frames: &Frames,
) -> Result<Option<Translation>> {
    let attitude = FieldReader::find(layout, "q").and_then(|q| q.at_least(4));
    let Some(attitude) = attitude.filter(|_| topic.type_name.contains("_attitude"))
    else {
        return Ok(None);
    };
    let rates = FieldReader::find_each(layout, ["rollspeed", "pitchspeed", "yawspeed"]);
    let topic_info = common_topic(topic, "/imu", TYPE)?;
    let frame = frames.name("base_link");
    let encode = move |payload: &[u8], nanos, out: &mut Vec<u8>| {
        let attitude = read_attitude(attitude, payload)?;
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, &frame);
        message.f64s(&World::Ned.attitude(attitude)).f64s(&UNKNOWN);
        match rates {
            Some([roll, pitch, yaw]) => {
                let [roll, pitch, yaw] =
                    [roll, pitch, yaw].map(|field| field.first(payload));
                message.f64s(&body([roll?, pitch?, yaw?])).f64s(&UNKNOWN);
            }
            None => {
                message.f64s(&[0.0; 3]).f64s(&MISSING);
            }
        }
        message.f64s(&[0.0; 3]).f64s(&MISSING);
        Some(())
    };
    Ok(Some(translate_payloads(id, topic_info, layout, offset_nanos, encode)))
}
