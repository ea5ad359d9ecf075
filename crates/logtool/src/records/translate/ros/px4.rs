//! Translates ULogs to messages of ROS 1: each topic with a type that is derived from its
//! format, and additional topics of types that ROS defines.
//!
//! | topic | becomes | of type |
//! |---|---|---|
//! | each | `/vehicle_status`, and `/sensor_gps_1` for a second instance | `ulog/VehicleStatus`, … |
//! | with rates and accelerations | `/sensor_combined/imu` | `sensor_msgs/Imu`, with the attitude at that time |
//! | with attitudes | `/vehicle_attitude/imu` | `sensor_msgs/Imu` |
//! | with odometry, or local positions | `/vehicle_odometry/odometry` | `nav_msgs/Odometry` |
//! | local positions, with attitudes | `/tf` | `tf2_msgs/TFMessage` |
//! | | `/vehicle_local_position/pose` | `geometry_msgs/PoseStamped` |
//! | with positions on earth | `/vehicle_gps_position/fix` | `sensor_msgs/NavSatFix` |
//! | with log messages | `/rosout` | `rosgraph_msgs/Log` |
//!
//! Derived types have the values of the log: they are in PX4's frames, and `timestamp` is in
//! microseconds after the start of the vehicle. The others are in [the frames of
//! ROS](crate::records::translate::px4::frame_conversion), and their headers have the time of the measurement.

mod imu;
mod log_messages;
mod odometry;
mod poses;

use std::{collections::BTreeSet, sync::Arc};

use logtool_core::{
    Layout, Log, Manifest, MetadataKey, Topic, TopicId, TopicOrigin, TopicSet,
    TranslatedLog, Translation, UniqueNames, Value,
};
use logtool_rosmsg::LayoutMessages;

use crate::{
    error::Result,
    records::translate::{
        Frames, MessageSource, PreparedTranslation, has_log_messages,
        px4::{
            attitudes::{self, AttitudeInterpolator},
            poses::{PoseTranslator, TRANSFORMS},
        },
        ros::{message_topic, nav_sat_fix::fixes, rows::rows},
    },
    text::units::count_of,
    time::offset::ClockOffset,
};

/// The package of derived types.
const PACKAGE: &str = "ulog";

/// The types of messages with frames of the vehicle.
pub(in crate::records::translate) const TYPES_WITH_FRAMES: &[&str] =
    &["sensor_msgs/Imu", "nav_msgs/Odometry"];

/// Metadata of a log that messages cannot hold: the headings, and the name of one item.
const METADATA_KINDS: [(MetadataKey, &str); 3] = [
    (MetadataKey::Parameters, "parameter"),
    (MetadataKey::Info, "information message"),
    (MetadataKey::InfoMultiple, "multi information message"),
];

/// Translates the `selected` topics of `log`, a log of PX4, to messages of ROS 1.
///
/// # Errors
/// A topic cannot be read.
pub(in crate::records::translate) fn px4(
    log: Arc<dyn Log>,
    selected: &TopicSet,
    offset: ClockOffset,
    frames: &Frames,
) -> Result<PreparedTranslation> {
    let nanos = offset.nanos;
    let manifest = log.manifest();
    let (mut translations, mut left_out) = (Vec::new(), Vec::new());
    let mut names = UniqueNames::default();
    let mut with_attitudes = BTreeSet::new();
    let attitudes = AttitudeInterpolator::from_log(&log).map(Arc::new);
    let poses = PoseTranslator::new(&*log, selected, attitudes.as_ref(), nanos, frames);
    if poses.is_some() {
        // A topic of the log with this name gets another one.
        names.make_unique(TRANSFORMS.trim_start_matches('/'));
    }
    for (id, topic) in manifest.topics().filter(|(id, _)| selected.contains(*id)) {
        if has_log_messages(topic) {
            translations.push(log_messages::log_messages(&log, id, topic, nanos)?);
            continue;
        }
        let topic = &with_ros_name(topic, &mut names);
        match own_type(&log, id, topic)? {
            Ok(translation) => translations.push(translation),
            Err(reason) => left_out.push(format!("{} ({reason})", topic.label())),
        }
        if topic.records == Some(0) || topic.origin != TopicOrigin::Logged {
            continue;
        }
        if let Some(layout) = log.payload_layout(id) {
            if let Some(imu) =
                imu::imu(id, topic, &layout, nanos, frames, attitudes.clone())?
            {
                with_attitudes.insert(translations.len());
                translations.push(imu);
            }
            translations.extend(standard_messages(id, topic, &layout, nanos, frames)?);
        }
        translations.extend(fixes(&log, id, topic, nanos)?);
    }
    if let Some(poses) = &poses {
        for translation in poses::poses(poses)? {
            with_attitudes.insert(translations.len());
            translations.push(translation);
        }
    }
    let without = "the rates and accelerations in sensor_msgs/Imu have no attitude, and \
                   there are no poses";
    let remarks = attitudes::too_many(manifest, without).into_iter();
    let mut remarks: Vec<String> = remarks.collect();
    if !left_out.is_empty() {
        remarks.push(format!("left out: {}", left_out.join(", ")));
    }
    let clock = offset.resulting_clock(&manifest.clock);
    let attitudes = attitudes.map(|attitudes| attitudes.topic());
    let sources =
        MessageSource::with_dependency(&translations, attitudes, &with_attitudes);
    let log = TranslatedLog::new(log, translations, nanos).with_clock(clock);
    let log = Arc::new(log);
    Ok(PreparedTranslation { log, sources, remarks, warnings: Vec::new() })
}

/// Returns a remark about metadata that a log of only messages cannot hold.
pub(in crate::records::translate) fn dropped_metadata(
    manifest: &Manifest,
) -> Option<String> {
    let counts = METADATA_KINDS.iter().filter_map(|(key, singular)| {
        let Some(Value::Map(all)) = manifest.file_metadata(*key) else {
            return None;
        };
        (!all.is_empty()).then(|| count_of(all.len() as u64, singular))
    });
    let counts: Vec<String> = counts.collect();
    let log_messages = counts.join(", ");
    (!counts.is_empty())
        .then(|| format!("left out: {log_messages} (an MCAP file has them)"))
}

/// Renames `topic` to a valid and unique name of ROS.
fn with_ros_name(topic: &Topic, names: &mut UniqueNames) -> Topic {
    let name = match topic.instance {
        0 => names.make_unique(&topic.name),
        instance => names.make_unique(&format!("{}_{instance}", topic.name)),
    };
    Topic { name, instance: 0, ..topic.clone() }
}

/// Translates the topic `id` of `log` to a type that is derived from its format, or returns why
/// this is impossible.
fn own_type(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
) -> Result<Result<Translation, String>> {
    let Some(layout) = log.payload_layout(id) else {
        return match topic.origin {
            TopicOrigin::Logged => Ok(Err("its records have no definition".to_owned())),
            _ => rows(log, id, topic, PACKAGE),
        };
    };
    let messages = match LayoutMessages::new(&layout, PACKAGE) {
        Ok(messages) => messages,
        Err(err) => return Ok(Err(err.to_string())),
    };
    let topic_info = message_topic(topic, &messages.type_name, &messages.definition)?;
    let new_translator = Arc::new(move || {
        let translator: Box<dyn logtool_core::Translate> = Box::new(messages.clone());
        Ok(translator)
    });
    Ok(Ok(Translation { source_topic: id, topic: topic_info, new_translator }))
}

/// Translates records of the topic `id` with `layout` to the types that ROS defines and that
/// need no other topic, with `offset_nanos` added to their times.
fn standard_messages(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    frames: &Frames,
) -> Result<Vec<Translation>> {
    let translations = [
        imu::attitude(id, topic, layout, offset_nanos, frames)?,
        odometry::odometry(id, topic, layout, offset_nanos, frames)?,
        odometry::local_position(id, topic, layout, offset_nanos, frames)?,
    ];
    Ok(translations.into_iter().flatten().collect())
}
