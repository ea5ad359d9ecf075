//! The lidars of a log and the layout of their recordings, as facts.

use logtool_core::{Manifest, MetadataKey, Topic, TopicOrigin, Value};
use logtool_velodyne::{
    capture::{PositionClockInfo, SenderInfo},
    lidar::LidarInfo,
};

use crate::{formats::LogFormat, text::units::count_of};

/// Returns the names and texts of facts about the layout of a `.vel` log or a capture.
pub(super) fn layout(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let text = |key| match manifest.file_metadata(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut lines = Vec::new();
    if let Some(container) = text(MetadataKey::Container) {
        lines.push(("container", container.to_owned()));
    }
    if let (Some(version), Some(sizes)) =
        (text(MetadataKey::FormatVersion), text(MetadataKey::SizeField))
    {
        // Only `--json` shows in parentheses how this was detected.
        let sizes = sizes.split(" (").next().unwrap_or_default();
        lines.push(("version", format!("{version}; the size of a message {sizes}")));
    }
    if let Some(index) = text(MetadataKey::Index) {
        lines.push(("index", index.to_owned()));
    }
    if let (Some(end), Some(_)) = (text(MetadataKey::End), text(MetadataKey::SizeField))
    {
        let end = match end {
            "0xffffffff" => "at the mark 0xffffffff",
            "inside a message" => "inside a message: the file is cut",
            _ => "at the end of the file",
        };
        lines.push(("end", end.to_owned()));
    }
    lines
}

/// Returns the names and texts of facts about the lidars: their calibrations, the formula of
/// their points, and the quality of their clocks.
pub(super) fn lines(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let is_vel = LogFormat::from_manifest(manifest) == Some(LogFormat::Vel);
    let topics = manifest.topics.iter();
    let derived = topics.filter(|topic| topic.origin == TopicOrigin::Derived);
    let known: Vec<(&Topic, LidarInfo<'_>)> = derived
        .filter_map(|topic| Some((topic, LidarInfo::from_topic(topic)?)))
        .collect();
    let mut lines = Vec::new();
    for (topic, lidar) in &known {
        let mut text = format!("{}: {}", topic.label(), lidar.name);
        // A record of a `.vel` log contains several packets.
        let packets = match manifest.file_metadata(MetadataKey::Packets) {
            Some(Value::UInt(packets)) if is_vel => Some(*packets),
            _ => topic.records,
        };
        if let Some(packets) = packets {
            text = format!("{text}, {}", count_of(packets, "packet"));
        }
        if let Some(sender) = SenderInfo::from_topic(topic) {
            let SenderInfo { address, port, .. } = sender;
            text = format!("{text} from {address} to port {port}");
            let has_same_address = |(other, _): &(&Topic, LidarInfo<'_>)| {
                other.instance != topic.instance
                    && SenderInfo::from_topic(other)
                        .is_some_and(|other| other.address == address)
            };
            if known.iter().any(has_same_address) {
                if let Some(mac) = sender.mac {
                    text = format!("{text}, mac {mac}");
                }
                if let Some(interface) = sender.interface {
                    text = format!("{text}, interface {interface}");
                }
            }
        }
        lines.push(("lidar", text));
        if let Some(because) = lidar.reasons {
            lines.push(("", format!("because {because}")));
        }
        if let Some(formula) = lidar.formula {
            let calibration = &lidar.calibration;
            let text = format!("calibration {calibration}; formula {formula}");
            lines.push(("", text));
        }
        if let Some(field) = lidar.field_of_view {
            lines.push(("", format!("field of view {field}")));
        }
        if let Some(clock) = lidar.clock {
            lines.push(("clock", clock.to_string()));
        }
    }
    for topic in &manifest.topics {
        let Some(clock) = PositionClockInfo::from_topic(topic) else { continue };
        let sender = SenderInfo::from_topic(topic).filter(|_| topic.instance > 0);
        let sender_prefix = sender.map(|sender| format!("{}: ", sender.address));
        let sender_prefix = sender_prefix.unwrap_or_default();
        lines.push(("clock", format!("{sender_prefix}{clock}")));
    }
    lines
}
