//! ULogs with messages of ROS 1: each topic with a type that is made of its format, and
//! beside those what ROS has types for.
//!
//! | topic | becomes | of type |
//! |---|---|---|
//! | each | `/vehicle_status`, and `/sensor_gps_1` for a second instance | `ulog/VehicleStatus`, … |
//! | of rates and accelerations | `/sensor_combined/imu` | `sensor_msgs/Imu`, with the attitude then |
//! | of attitudes | `/vehicle_attitude/imu` | `sensor_msgs/Imu` |
//! | of odometry, and local positions | `/vehicle_odometry/odometry` | `nav_msgs/Odometry` |
//! | of positions on earth | `/vehicle_gps_position/fix` | `sensor_msgs/NavSatFix` |
//! | what people were told | `/rosout` | `rosgraph_msgs/Log` |
//!
//! Types that are made are as the log has them: their numbers are in PX4's frames, and
//! their `timestamp` is in microseconds after the start of the vehicle. The others are in
//! [those of ROS](turns), and their headers have the time of the measurement.

mod attitudes;
mod field_reader;
mod frame_conversion;
mod imu;
mod log_messages;
mod odometry;
mod payloads;

use std::sync::Arc;

use logtool_core::{
    Layout, Log, Manifest, Names, Topic, TopicId, TopicOrigin, TopicSet, TranslatedLog,
    Translation, Value,
};
use logtool_rosmsg::LayoutMessages;

use crate::{
    error::Result,
    time::offset::Moved,
    translate::{
        Prepared, is_said,
        ros::{made, nav_sat_fix::fixes, rows::rows},
    },
    units::counted,
};

/// The package of the types that are made.
const PACKAGE: &str = "ulog";

/// What a log says of itself that messages cannot: the headings, and what one of such is.
const WORDS: [(&str, &str); 3] =
    [("parameters", "parameter"), ("info", "info"), ("info_multiple", "multi info")];

/// `log`, of PX4, with its `wanted` topics as messages of ROS 1.
///
/// # Errors
/// Where a topic cannot be read.
pub(in crate::translate) fn px4(
    log: Arc<dyn Log>,
    wanted: &TopicSet,
    moved: Moved,
) -> Result<Prepared> {
    let Moved { nanos, is_unix } = moved;
    let manifest = log.manifest();
    let (mut translations, mut left_out) = (Vec::new(), Vec::new());
    let mut names = Names::default();
    let attitudes = attitudes::Attitudes::of(&log).map(Arc::new);
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        if is_said(topic) {
            translations.push(log_messages::said(&log, id, topic, nanos)?);
            continue;
        }
        let topic = &named(topic, &mut names);
        match own(&log, id, topic)? {
            Ok(own) => translations.push(own),
            Err(why) => left_out.push(format!("{} ({why})", topic.label())),
        }
        if topic.records == Some(0) || topic.origin != TopicOrigin::Logged {
            continue;
        }
        if let Some(layout) = log.payload_layout(id) {
            translations.extend(standard(id, topic, &layout, nanos, &attitudes)?);
        }
        translations.extend(fixes(&log, id, topic, nanos)?);
    }
    let mut remarks: Vec<String> = attitudes::too_many(manifest).into_iter().collect();
    if !left_out.is_empty() {
        remarks.push(format!("left out: {}", left_out.join(", ")));
    }
    let log = Arc::new(TranslatedLog::new(log, translations, nanos, is_unix));
    Ok(Prepared { log, remarks, warnings: Vec::new() })
}

/// What a log says of itself that has no place in a log that has only messages: a sentence.
pub(in crate::translate) fn left_out(manifest: &Manifest) -> Option<String> {
    let counts = WORDS.iter().filter_map(|(heading, one)| {
        let Some(Value::Map(all)) = manifest.metadata.get(*heading) else {
            return None;
        };
        (!all.is_empty()).then(|| counted(all.len() as u64, one))
    });
    let counts: Vec<String> = counts.collect();
    let said = counts.join(", ");
    (!counts.is_empty()).then(|| format!("left out: {said} (an MCAP file has them)"))
}

/// `topic`, called as ROS allows it, and as no other.
fn named(topic: &Topic, names: &mut Names) -> Topic {
    let name = match topic.instance {
        0 => names.give(&topic.name),
        instance => names.give(&format!("{}_{instance}", topic.name)),
    };
    Topic { name, instance: 0, ..topic.clone() }
}

/// How the topic `id` of `log` becomes one of a type that is made for it, or why it does
/// not.
fn own(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
) -> Result<Result<Translation, String>> {
    let Some(layout) = log.payload_layout(id) else {
        return match topic.origin {
            TopicOrigin::Logged => {
                Ok(Err("nothing is known of its records".to_owned()))
            }
            _ => rows(log, id, topic, PACKAGE),
        };
    };
    let messages = match LayoutMessages::new(&layout, PACKAGE) {
        Ok(messages) => messages,
        Err(why) => return Ok(Err(why.to_string())),
    };
    let about = made(topic, &messages.type_name, &messages.definition)?;
    let begin = Arc::new(move || {
        let translator: Box<dyn logtool_core::Translate> = Box::new(messages.clone());
        Ok(translator)
    });
    Ok(Ok(Translation { from: id, topic: about, begin }))
}

/// What records of the topic `id`, which lie as `layout` says, become `offset_nanos` later
/// of what ROS has types for.
fn standard(
    id: TopicId,
    topic: &Topic,
    layout: &Layout,
    offset_nanos: i64,
    attitudes: &Option<Arc<attitudes::Attitudes>>,
) -> Result<Vec<Translation>> {
    let all = [
        imu::imu(id, topic, layout, offset_nanos, attitudes.clone())?,
        imu::attitude(id, topic, layout, offset_nanos)?,
        odometry::odometry(id, topic, layout, offset_nanos)?,
        odometry::local_position(id, topic, layout, offset_nanos)?,
    ];
    Ok(all.into_iter().flatten().collect())
}
