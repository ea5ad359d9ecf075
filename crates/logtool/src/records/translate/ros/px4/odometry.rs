//! Translates positions and velocities to `nav_msgs/Odometry`: of `base_link` in `odom`, which
//! is PX4's local frame, converted to ROS. Velocities are in the body frame, as the type
//! specifies.
//!
//! `vehicle_local_position` has the heading as its only attitude: its velocities are in the frame
//! `base_stabilized`, which has the heading of the vehicle and stays level.
//!
//! | | before v1.14 | since |
//! |---|---|---|
//! | frame of the pose | `local_frame`: 0 NED, 1 FRD; missing: NED | `pose_frame`: 1 NED, 2 FRD |
//! | frame of the velocity | `velocity_frame`: 0 NED, 1 FRD, 3 body; missing: as the pose | 1 NED, 2 FRD, 3 body |
//!
//! (PX4's `vehicle_odometry.msg` and `VehicleOdometry.msg`.) Records in other frames, and
//! records without an attitude, are not translated. Of the covariances, the variances of the
//! position are set; 0 means unknown.

use logtool_core::{Layout, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    records::translate::{
        Frames,
        px4::{
            field_reader::{FieldReader, read_attitude},
            frame_conversion::{Quaternion, Vector, World, body, into_body},
            payloads::translate_payloads,
        },
        ros::common_topic,
    },
};

const TYPE: &str = "nav_msgs/Odometry";

/// Numbers of three axes: an array, or three fields.
#[derive(Clone, Copy, Debug)]
enum AxisFields {
    Array(FieldReader),
    Each([FieldReader; 3]),
}

impl AxisFields {
    fn find(layout: &Layout, array: &str, each: [&str; 3]) -> Option<Self> {
        let array =
            FieldReader::find(layout, array).and_then(|array| array.at_least(3));
        let each = || FieldReader::find_each(layout, each).map(Self::Each);
        array.map(Self::Array).or_else(each)
    }

    fn read(self, payload: &[u8]) -> Option<Vector> {
        match self {
            Self::Array(array) => array.array(payload),
            Self::Each([x, y, z]) => {
                Some([x.first(payload)?, y.first(payload)?, z.first(payload)?])
            }
        }
    }
}

/// The location of the parts of odometry in payloads.
#[derive(Clone, Copy, Debug)]
struct OdometryFields {
    position: AxisFields,
    attitude: FieldReader,
    velocity: AxisFields,
    rates: AxisFields,
    pose_frame: Option<FieldReader>,
    velocity_frame: Option<FieldReader>,
    /// The number that means NED.
    first_frame: f64,
    /// An array of three numbers, or a triangular matrix of six rows.
    variances: Option<(FieldReader, [u32; 3])>,
}

impl OdometryFields {
    fn find(layout: &Layout) -> Option<Self> {
        let new_frame = FieldReader::find(layout, "pose_frame");
        let old_frame = FieldReader::find(layout, "local_frame");
        let new_variances = FieldReader::find(layout, "position_variance");
        let old_variances = FieldReader::find(layout, "pose_covariance");
        let new_variances = new_variances
            .and_then(|field| field.at_least(3))
            .map(|field| (field, [0, 1, 2]));
        let old_variances = old_variances
            .and_then(|field| field.at_least(21))
            .map(|field| (field, [0, 6, 11]));
        let rates = ["rollspeed", "pitchspeed", "yawspeed"];
        Some(Self {
            position: AxisFields::find(layout, "position", ["x", "y", "z"])?,
            attitude: FieldReader::find(layout, "q")?.at_least(4)?,
            velocity: AxisFields::find(layout, "velocity", ["vx", "vy", "vz"])?,
            rates: AxisFields::find(layout, "angular_velocity", rates)?,
            pose_frame: new_frame.or(old_frame),
            velocity_frame: FieldReader::find(layout, "velocity_frame"),
            first_frame: if new_frame.is_some() { 1.0 } else { 0.0 },
            variances: new_variances.or(old_variances),
        })
    }

    fn read(&self, payload: &[u8]) -> Option<VehicleMotion> {
        let number = |field: Option<FieldReader>| match field {
            Some(field) => field.first(payload).map(|number| number - self.first_frame),
            None => Some(0.0),
        };
        let world = match number(self.pose_frame)? {
            0.0 => World::Ned,
            1.0 => World::Frd,
            _ => return None,
        };
        let attitude = read_attitude(self.attitude, payload)?;
        let velocity = self.velocity.read(payload)?;
        let frame = self.velocity_frame.or(self.pose_frame);
        // The body frame has the number 3 in both numberings.
        let is_of_body = self.velocity_frame.and_then(|field| field.first(payload));
        let velocity = match (is_of_body, number(frame)?) {
            (Some(3.0), _) => velocity,
            (_, 0.0) if world == World::Ned => into_body(velocity, attitude),
            (_, 1.0) if world == World::Frd => into_body(velocity, attitude),
            _ => [f64::NAN; 3],
        };
        let variance = |(field, indices): (FieldReader, [u32; 3])| {
            indices.map(|index| field.get(payload, index).filter(|v| v.is_finite()))
        };
        let variances = self.variances.map_or([None; 3], variance);
        Some(VehicleMotion {
            world,
            position: self.position.read(payload)?,
            attitude,
            velocity,
            rates: self.rates.read(payload)?,
            variances: variances.map(Option::unwrap_or_default),
        })
    }
}

/// The motion of a vehicle, in PX4's frames; velocities and rates are in the body frame.
#[derive(Clone, Copy, Debug)]
struct VehicleMotion {
    world: World,
    position: Vector,
    attitude: Quaternion,
    velocity: Vector,
    rates: Vector,
    variances: Vector,
}

impl VehicleMotion {
    /// Appends the message. `parent` and `child` are the names of the world frame and of the
    /// body frame in ROS.
    fn append(&self, nanos: i64, [parent, child]: &[String; 2], out: &mut Vec<u8>) {
        let mut covariance = [0.0; 36];
        let variances = self.world.variances(self.variances);
        let diagonal = covariance.iter_mut().step_by(7);
        diagonal.zip(variances).for_each(|(element, variance)| *element = variance);
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, parent).text(child);
        message.f64s(&self.world.vector(self.position));
        message.f64s(&self.world.attitude(self.attitude)).f64s(&covariance);
        message.f64s(&body(self.velocity)).f64s(&body(self.rates)).f64s(&[0.0; 36]);
    }
}

/// Translates records of the topic `id` to odometry. Returns `None` if they are not odometry.
pub(super) fn odometry(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    frames: &Frames,
) -> Result<Option<Translation>> {
    let is_match = topic.type_name.contains("odometry");
    let Some(fields) = OdometryFields::find(layout).filter(|_| is_match) else {
        return Ok(None);
    };
    let topic_info = common_topic(topic, "/odometry", TYPE)?;
    let names = ["odom", "base_link"].map(|frame| frames.name(frame));
    let encode = move |payload: &[u8], nanos, out: &mut Vec<u8>| {
        fields.read(payload)?.append(nanos, &names, out);
        Some(())
    };
    Ok(Some(translate_payloads(id, topic_info, layout, offset_nanos, encode)))
}

/// Translates records of the topic `id` to odometry. Returns `None` if they are not local
/// positions.
pub(super) fn local_position(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    frames: &Frames,
) -> Result<Option<Translation>> {
    let fields = (|| {
        let axes = FieldReader::find_each(layout, ["x", "y", "z"])?;
        let speeds = FieldReader::find_each(layout, ["vx", "vy", "vz"])?;
        let heading = FieldReader::find(layout, "heading");
        let heading = heading.or_else(|| FieldReader::find(layout, "yaw"))?;
        let valid = FieldReader::find_each(layout, ["xy_valid", "z_valid"])?;
        Some((AxisFields::Each(axes), AxisFields::Each(speeds), heading, valid))
    })();
    let Some((position, velocity, heading, valid)) = fields else { return Ok(None) };
    let topic_info = common_topic(topic, "/odometry", TYPE)?;
    let names = ["odom", "base_stabilized"].map(|frame| frames.name(frame));
    let encode = move |payload: &[u8], nanos, out: &mut Vec<u8>| {
        let is_valid = valid.iter().all(|field| field.first(payload) == Some(1.0));
        let heading =
            heading.first(payload).filter(|heading| is_valid && heading.is_finite())?;
        let (sin, cos) = (heading / 2.0).sin_cos();
        let attitude = [cos, 0.0, 0.0, sin];
        let state = VehicleMotion {
            world: World::Ned,
            position: position.read(payload)?,
            attitude,
            velocity: into_body(velocity.read(payload)?, attitude),
            rates: [0.0; 3],
            variances: [0.0; 3],
        };
        state.append(nanos, &names, out);
        Some(())
    };
    Ok(Some(translate_payloads(id, topic_info, layout, offset_nanos, encode)))
}
