//! Logs of lidars with messages of ROS 1: those that ROS has for such things, and of types
//! made of the columns of a topic elsewhere.
//!
//! | topic | becomes | of type |
//! |---|---|---|
//! | `points` | `/points`, a message each scan | `sensor_msgs/PointCloud2` |
//! | `image` | `/image/compressed` | `sensor_msgs/CompressedImage` |
//! | | `/image`, those that are rows of pixels | `sensor_msgs/Image` |
//! | with positions | `/gps/fix`, `/position/fix` | `sensor_msgs/NavSatFix` |
//! | `pose` | `/tf` | `tf2_msgs/TFMessage` |
//! | all but points and images | `/gps`, … | `velodyne_log/Gps`, …: a field each column |

mod fixes;
mod images;
mod poses;
mod rows;
mod scans;

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context as _, Result};
use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, Manifest, RowTranslator, Topic, TopicId, TopicOrigin, TopicSet,
    Translate, TranslatedLog, Translation, View,
};
use logtool_rosmsg::Definition;

use crate::translate::{self, Prepared};

/// The topics that are to become messages, if nobody names some: of packets, of which
/// there are points, only these.
pub(crate) fn all_topics(manifest: &Manifest) -> TopicSet {
    let of_points = |topic: &Topic| {
        let is_it =
            |other: &&Topic| is_points(other) && other.instance == topic.instance;
        manifest.topics.iter().any(|other| is_it(&other))
    };
    let is_wanted =
        |topic: &Topic| topic.name != "velodyne_packets" || !of_points(topic);
    let wanted = manifest.topics().filter(|(_, topic)| is_wanted(topic));
    wanted.map(|(id, _)| id).collect()
}

/// `log`, of lidars, with its `wanted` topics as messages of ROS 1, at Unix time if it
/// knows that.
///
/// # Errors
/// Where a topic cannot be read.
pub(crate) fn ros(log: Arc<dyn Log>, wanted: &TopicSet) -> Result<Prepared> {
    let manifest = log.manifest();
    let (offset_nanos, is_unix) = translate::to_unix(manifest);
    let (mut translations, mut remarks) = (Vec::new(), Vec::new());
    for (id, topic) in manifest.topics() {
        if !wanted.contains(id) {
            let mut of_it = manifest.topics().filter(|(_, other)| {
                is_points(other) && other.instance == topic.instance
            });
            let has_points = of_it.any(|(id, _)| wanted.contains(id));
            if topic.name == "velodyne_packets" && has_points {
                let label = topic.label();
                remarks.push(format!("left out: {label} (its points are there)"));
            }
            continue;
        }
        if is_points(topic) {
            translations.push(scans::scans(&log, id, topic, offset_nanos)?);
            continue;
        }
        if topic.type_name == "ImageM" {
            translations.extend(images::images(&log, id, topic, offset_nanos)?);
            continue;
        }
        match rows::rows(&log, id, topic)? {
            Ok(translation) => translations.push(translation),
            Err(why) => remarks.push(format!("left out: {} ({why})", topic.label())),
        }
        translations.extend(fixes::fixes(&log, id, topic, offset_nanos)?);
        if topic.type_name == "RobotPoseM" {
            match poses::poses(&log, id, topic, offset_nanos)? {
                Some(translation) => translations.push(translation),
                None => remarks.push(format!(
                    "left out: {} as a transform (the order of its four numbers is not \
                     known)",
                    topic.label()
                )),
            }
        }
    }
    if !is_unix {
        remarks
            .push("times count from the log's own zero: it does not know UTC".into());
    }
    let log =
        TranslatedLog::new(log, translations, offset_nanos, is_unix).in_one_part();
    Ok(Prepared { log: Arc::new(log), remarks, offset_nanos })
}

/// What there is to say of the points of `manifest`: how they are made.
pub(crate) fn words(manifest: &Manifest) -> Vec<(String, BTreeMap<String, String>)> {
    let points = manifest.topics.iter().filter(|topic| is_points(topic));
    points.map(|topic| (topic.label().into_owned(), topic.metadata.clone())).collect()
}

fn is_points(topic: &Topic) -> bool {
    topic.origin == TopicOrigin::Derived && topic.type_name == "points"
}

/// What `topic` is as one of messages of the common type `type_name`, called as it is and
/// `more`.
fn common(topic: &Topic, more: &str, type_name: &str) -> Result<Topic> {
    let definition = Definition::common(type_name).context("a type of ROS")?;
    let mut about = made(topic, type_name, &definition)?;
    about.name.push_str(more);
    about.records = None;
    Ok(about)
}

/// What `topic` is as one of messages that `definition` defines.
fn made(topic: &Topic, type_name: &str, definition: &Definition) -> Result<Topic> {
    let mut metadata = topic.metadata.clone();
    metadata.insert("md5sum".to_owned(), definition.md5sum()?);
    Ok(Topic {
        name: translate::name(topic),
        instance: 0,
        origin: TopicOrigin::Logged,
        encoding: "ros1".to_owned(),
        type_name: type_name.to_owned(),
        definition: definition.text(),
        descriptor: Vec::new(),
        metadata,
        envelope: 0,
        ..topic.clone()
    })
}

/// How each row of the topic `id` of `log` becomes a message of `about`: `put` adds it to a
/// buffer, if it becomes one.
fn of_rows<F>(log: &Arc<dyn Log>, id: TopicId, about: Topic, put: F) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    let begin = Arc::new(move || {
        let decoder = log.decoder(id, &Columns::all(View::Flat))?;
        let translator: Box<dyn Translate> =
            Box::new(RowTranslator::new(decoder, put.clone()));
        Ok(translator)
    });
    Translation { from: id, topic: about, begin }
}
