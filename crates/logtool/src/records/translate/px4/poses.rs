//! Combines local positions with attitudes to poses of the vehicle: of `base_link` in `map`, whose
//! axes are east, north and up, and whose origin is that of PX4's local position.
//!
//! There is a pose for each valid record of the first instance of `vehicle_local_position`, at
//! the time of its measurement, with the attitude of the first instance of `vehicle_attitude`
//! [interpolated](AttitudeInterpolator) for that time. If there are several estimators, PX4
//! copies the state of the selected one to these topics; Flight Review shows the same.

use std::sync::Arc;

use logtool_core::{Layout, Log, Topic, TopicId, TopicOrigin, TopicSet, Translation};

use crate::records::translate::{
    Frames,
    px4::{
        attitudes::AttitudeInterpolator,
        field_reader::FieldReader,
        frame_conversion::{Vector, World, normalized},
        payloads::translate_payloads,
    },
};

/// The topic whose first instance has the positions.
const TOPIC: &str = "vehicle_local_position";

/// The name of the topic of transforms.
pub(in crate::records::translate) const TRANSFORMS: &str = "/tf";

/// The appendix to the name of the topic of positions, for the topic of poses.
pub(in crate::records::translate) const POSES: &str = "/pose";

/// The pose of the vehicle, in the frames of ROS.
#[derive(Clone, Copy, Debug)]
pub(in crate::records::translate) struct Pose<'f> {
    /// The time in nanoseconds.
    pub(in crate::records::translate) nanos: i64,
    /// The frame of the position.
    pub(in crate::records::translate) parent: &'f str,
    /// The frame of the vehicle.
    pub(in crate::records::translate) child: &'f str,
    /// The position in meters: east, north, up.
    pub(in crate::records::translate) position: Vector,
    /// The attitude, a quaternion of length 1: x, y, z, w.
    pub(in crate::records::translate) attitude: [f64; 4],
}

/// The topics from which poses are made, and the location of the numbers in their records.
#[derive(Clone, Debug)]
pub(in crate::records::translate) struct PoseTranslator {
    id: TopicId,
    topic: Topic,
    layout: Arc<Layout>,
    fields: PositionFields,
    attitudes: Arc<AttitudeInterpolator>,
    offset_nanos: i64,
    parent: String,
    child: String,
}

/// The location of a position in payloads.
#[derive(Clone, Copy, Debug)]
struct PositionFields {
    axes: [FieldReader; 3],
    valid: [FieldReader; 2],
}

impl PositionFields {
    fn find(layout: &Layout) -> Option<Self> {
        Some(Self {
            axes: FieldReader::find_each(layout, ["x", "y", "z"])?,
            valid: FieldReader::find_each(layout, ["xy_valid", "z_valid"])?,
        })
    }

    /// Reads the position: north, east, down. Returns `None` if it is not valid.
    fn read(&self, payload: &[u8]) -> Option<Vector> {
        let is_valid = self.valid.iter().all(|field| field.first(payload) == Some(1.0));
        let [x, y, z] = self.axes.map(|axis| axis.first(payload));
        let position = [x?, y?, z?];
        (is_valid && position.iter().all(|axis| axis.is_finite())).then_some(position)
    }
}

impl PoseTranslator {
    /// Creates a translator for `log`, with `offset_nanos` added to its times. Returns `None`
    /// if the positions are not `selected`, or if the log has no positions or no `attitudes`.
    pub(in crate::records::translate) fn new(
        log: &dyn Log,
        selected: &TopicSet,
        attitudes: Option<&Arc<AttitudeInterpolator>>,
        offset_nanos: i64,
        frames: &Frames,
    ) -> Option<Self> {
        let is_match = |topic: &Topic| {
            topic.name == TOPIC
                && topic.instance == 0
                && topic.origin == TopicOrigin::Logged
                && topic.records != Some(0)
        };
        let mut topics = log.manifest().topics();
        let (id, topic) =
            topics.find(|(id, topic)| selected.contains(*id) && is_match(topic))?;
        let layout = log.payload_layout(id)?;
        Some(Self {
            id,
            topic: topic.clone(),
            fields: PositionFields::find(&layout)?,
            layout,
            attitudes: Arc::clone(attitudes?),
            offset_nanos,
            parent: frames.name("map"),
            child: frames.name("base_link"),
        })
    }

    /// Returns the topic with the positions.
    pub(in crate::records::translate) fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Translates the positions to messages of the topic `topic_info`. `encode` appends the
    /// message with a pose to a buffer.
    pub(in crate::records::translate) fn translation(
        &self,
        topic_info: Topic,
        encode: impl Fn(&Pose<'_>, &mut Vec<u8>) + Clone + Send + Sync + 'static,
    ) -> Translation {
        let Self { id, ref layout, offset_nanos, .. } = *self;
        let known = self.clone();
        let encode = move |payload: &[u8], nanos: i64, out: &mut Vec<u8>| {
            encode(&known.pose(payload, nanos)?, out);
            Some(())
        };
        let translation =
            translate_payloads(id, topic_info, layout, offset_nanos, encode);
        self.attitudes.clone().loaded_before(translation)
    }

    /// Returns the pose at the position in `payload`, at `nanos` of the translated clock.
    fn pose(&self, payload: &[u8], nanos: i64) -> Option<Pose<'_>> {
        let position = self.fields.read(payload)?;
        let source_nanos = nanos.saturating_sub(self.offset_nanos);
        let attitude = self.attitudes.attitude_at(source_nanos)?;
        Some(Pose {
            nanos,
            parent: &self.parent,
            child: &self.child,
            position: World::Ned.vector(position),
            attitude: World::Ned.attitude(normalized(attitude)),
        })
    }
}
