//! Translates logs of lidars to messages of ROS 1, or to protocol buffers of Foxglove's types.
//! Topics without a common type get a type that is derived from their columns.
//!
//! | topic | becomes | of ROS | of Foxglove |
//! |---|---|---|---|
//! | `points` | `/points`, a message each scan | `sensor_msgs/PointCloud2` | `foxglove.PointCloud` |
//! | `image` | `/image/compressed` | `sensor_msgs/CompressedImage` | `foxglove.CompressedImage` |
//! | | `/image`, if they are uncompressed pixels | `sensor_msgs/Image` | `foxglove.RawImage` |
//! | with positions | `/gps/fix`, `/position/fix` | `sensor_msgs/NavSatFix` | `foxglove.LocationFix` |
//! | `pose` | `/tf` | `tf2_msgs/TFMessage` | `foxglove.FrameTransform` |
//! | `velodyne_packets` | `/velodyne_packets`, a message each rotation | `velodyne_msgs/VelodyneScan` | (like other topics) |
//! | other topics | `/gps`, …: a field for each column | `velodyne_log/Gps`, … | `velodyne_log.gps`, … |

mod foxglove;
mod images;
mod kind;
mod message;
mod packets;
mod poses;
mod ros;
mod scans;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use logtool_core::{
    Error, ErrorKind, Log, Manifest, Selection, Topic, TopicContent, TopicOrigin,
    TopicSet, TranslatedLog,
};
use logtool_velodyne::{PACKETS_TOPIC, vel};

use crate::{
    error::Result,
    records::translate::{Frames, MessageSource, PreparedTranslation},
    time::offset::ClockOffset,
};

pub(super) use self::kind::LidarMessageKind;

/// Returns the topics that are translated if none are selected. Of packets with points, only the
/// points are translated.
pub(super) fn all_topics(manifest: &Manifest) -> TopicSet {
    let of_points = |topic: &Topic| {
        let is_match =
            |other: &&Topic| is_points(other) && other.instance == topic.instance;
        manifest.topics.iter().any(|other| is_match(&other))
    };
    let is_wanted = |topic: &Topic| topic.name != PACKETS_TOPIC || !of_points(topic);
    let topics = manifest.topics().filter(|(_, topic)| is_wanted(topic));
    topics.map(|(id, _)| id).collect()
}

/// Translates the topics in `selection` of `log`, a log of lidars, to messages of this `kind`, with
/// points of the selected times. `scans` are the numbers of the scans that become messages, for
/// an excerpt of a log. In a whole log, all scans do.
///
/// # Errors
/// A topic cannot be read, or its packets have no times.
pub(super) fn lidar(
    log: Arc<dyn Log>,
    selection: &Selection,
    offset: ClockOffset,
    kind: LidarMessageKind,
    frames: &Frames,
    scans: Option<Range<u32>>,
) -> Result<PreparedTranslation> {
    let offset_nanos = offset.nanos;
    let Selection { topics: selected, time } = selection;
    let manifest = log.manifest();
    check_times(manifest, selected)?;
    let (mut translations, mut remarks) = (Vec::new(), Vec::new());
    // The scans of topics; `None` if other messages also combine several records.
    let mut groups = Some(BTreeMap::new());
    for (id, topic) in manifest.topics() {
        if !selected.contains(id) {
            let mut scans_of_packets = manifest.topics().filter(|(_, other)| {
                is_points(other) && other.instance == topic.instance
            });
            let has_points = scans_of_packets.any(|(id, _)| selected.contains(id));
            if topic.name == PACKETS_TOPIC && has_points {
                let label = topic.label();
                remarks
                    .push(format!("left out: {label} (points are computed from them)"));
            }
            continue;
        }
        if is_points(topic) {
            let topic_in_frame = (topic, frame(topic, frames));
            let numbers = scans.clone().unwrap_or(0..u32::MAX);
            let translation = scans::scans(
                &log,
                id,
                topic_in_frame,
                (*time, numbers),
                offset_nanos,
                kind,
            )?;
            translations.push(translation);
            // An excerpt has only some of the scans, so their indices are not their numbers.
            let own_groups = match scans {
                Some(_) => None,
                None => log.row_groups(id, *time)?,
            };
            groups = match (groups, own_groups) {
                (Some(mut groups), Some(own_groups)) => {
                    groups.insert(id, own_groups);
                    Some(groups)
                }
                _ => None,
            };
            continue;
        }
        if vel::is_image_topic(topic) {
            let images = images::images(&log, id, topic, offset_nanos, kind, frames)?;
            translations.extend(images);
            continue;
        }
        if topic.name == PACKETS_TOPIC && kind == LidarMessageKind::Ros {
            let mut topics = manifest.topics.iter();
            let points = topics.find(|p| is_points(p) && p.instance == topic.instance);
            let topic_in_frame = (id, topic, frame(topic, frames));
            groups = None; // packets are numbered from the first one of the log
            translations.push(packets::packets(
                &log,
                topic_in_frame,
                points,
                *time,
                offset_nanos,
            )?);
            if topic.valid_row_value().is_some() {
                let label = topic.label();
                remarks.push(format!("left out: {label} that are not marked valid"));
            }
            continue;
        }
        match kind.rows(&log, id, topic)? {
            Ok(translation) => translations.push(translation),
            Err(reason) => {
                remarks.push(format!("left out: {} ({reason})", topic.label()))
            }
        }
        translations.extend(kind.fixes(&log, id, topic, offset_nanos)?);
        if topic.type_name == "RobotPoseM" {
            match poses::poses(&log, id, topic, offset_nanos, kind, frames)? {
                Some(translation) => translations.push(translation),
                None => remarks.push(format!(
                    "left out: {} as a transform (the order of its four numbers is not \
                     known)",
                    topic.label()
                )),
            }
        }
    }
    let clock = offset.resulting_clock(&manifest.clock);
    let sources = MessageSource::of_each(&translations);
    let log = TranslatedLog::new(log, translations, offset_nanos).with_clock(clock);
    let log = match groups {
        Some(groups) => log.with_row_groups(groups),
        None => log.with_one_part(),
    };
    let log = Arc::new(log);
    Ok(PreparedTranslation { log, sources, remarks, warnings: Vec::new() })
}

/// Fails if messages of the `selected` topics depend on all packets before them.
///
/// # Errors
/// `Unsupported` if they do.
pub(super) fn check_independence(
    manifest: &Manifest,
    selected: &TopicSet,
    kind: LidarMessageKind,
) -> Result<()> {
    let mut topics = manifest.topics().filter(|(id, _)| selected.contains(*id));
    let has_packets = topics.any(|(_, topic)| topic.name == PACKETS_TOPIC);
    if kind != LidarMessageKind::Ros || !has_packets {
        return Ok(());
    }
    let message = format!(
        "splits have no velodyne_msgs/VelodyneScan of {PACKETS_TOPIC}: the messages are \
         numbered from the first packet of the log"
    );
    let hint = "plan messages of `points`, or convert the log";
    Err(crate::error::Error::from(Error::new(ErrorKind::Unsupported, message))
        .with_hint(hint))
}

/// Checks that the messages of the `selected` topics have times.
fn check_times(manifest: &Manifest, selected: &TopicSet) -> Result<()> {
    let untimed = manifest.topics().find(|(id, topic)| {
        let mut points = manifest
            .topics()
            .filter(|(_, other)| is_points(other) && other.instance == topic.instance);
        let is_wanted = selected.contains(*id)
            || topic.name == PACKETS_TOPIC
                && points.any(|(id, _)| selected.contains(id));
        topic.origin == TopicOrigin::Logged
            && topic.time.is_none()
            && topic.records != Some(0)
            && is_wanted
    });
    let Some((_, topic)) = untimed else { return Ok(()) };
    let label = topic.label();
    let message =
        format!("{label} has packets without a time, but a log needs one for each");
    Err(Error::new(ErrorKind::Unsupported, message).into())
}

/// Returns metadata about how the points of the log with `manifest` are computed.
pub(super) fn metadata_records(
    manifest: &Manifest,
) -> Vec<(String, BTreeMap<String, String>)> {
    let points = manifest.topics.iter().filter(|topic| is_points(topic));
    points.map(|topic| (topic.label().into_owned(), topic.metadata.clone())).collect()
}

/// Returns the name of the frame of the lidar of `topic`.
fn frame(topic: &Topic, frames: &Frames) -> String {
    match topic.instance {
        0 => frames.name("velodyne"),
        instance => frames.name(&format!("velodyne_{instance}")),
    }
}

fn is_points(topic: &Topic) -> bool {
    topic.content == TopicContent::LidarPoints
}
