//! What logs of lidars tell of themselves, in words.

use logtool::units::counted;
use logtool_core::{Manifest, Topic, TopicOrigin, Value};

/// How a `.vel` log or a capture is laid out, a line each: what it is about, and that.
pub(super) fn layout(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let text = |key: &str| match manifest.metadata.get(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut lines = Vec::new();
    if let Some(container) = text("container") {
        lines.push(("container", container.to_owned()));
    }
    if let (Some(version), Some(sizes)) = (text("version"), text("size_field")) {
        // How that was found out, is for `--json`.
        let sizes = sizes.split(" (").next().unwrap_or_default();
        lines.push(("version", format!("{version}; the size of a message {sizes}")));
    }
    if let Some(index) = text("index") {
        lines.push(("index", index.to_owned()));
    }
    if let (Some(end), Some(_)) = (text("end"), text("size_field")) {
        let end = match end {
            "0xffffffff" => "at the mark 0xffffffff",
            "inside a message" => "inside a message: the file is cut",
            _ => "at the end of the file",
        };
        lines.push(("end", end.to_owned()));
    }
    lines
}

/// The lidars, which points are made of the packets of each, and what its clock is
/// worth.
pub(super) fn lines(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let known = |topic: &&Topic| {
        topic.origin == TopicOrigin::Derived && topic.metadata.contains_key("lidar")
    };
    let mut lines = Vec::new();
    for topic in manifest.topics.iter().filter(known) {
        let told = |key: &str| topic.metadata.get(key).map(String::as_str);
        let sensor = told("lidar").unwrap_or_default();
        let mut text = format!("{}: {sensor}", topic.label());
        // A record of a `.vel` log holds several.
        let packets = match manifest.metadata.get("packets") {
            Some(Value::UInt(packets)) if topic.encoding == "vel" => Some(*packets),
            _ => topic.records,
        };
        if let Some(packets) = packets {
            text = format!("{text}, {}", counted(packets, "packet"));
        }
        if let (Some(address), Some(port)) = (told("address"), told("port")) {
            text = format!("{text} from {address} to port {port}");
            let is_other = |other: &&Topic| {
                other.instance != topic.instance
                    && other.metadata.get("address") == topic.metadata.get("address")
            };
            if manifest.topics.iter().filter(known).any(|other| is_other(&other)) {
                for key in ["mac", "interface"] {
                    if let Some(value) = told(key) {
                        text = format!("{text}, {key} {value}");
                    }
                }
            }
        }
        lines.push(("lidar", text));
        if let Some(because) = told("lidar_because") {
            lines.push(("", format!("because {because}")));
        }
        if let (Some(calibration), Some(formula)) =
            (told("calibration"), told("formula"))
        {
            let text = format!("calibration {calibration}; formula {formula}");
            lines.push(("", text));
        }
        if let Some(field) = told("field_of_view") {
            lines.push(("", format!("field of view {field}")));
        }
        if let Some(clock) = told("lidar_clock") {
            lines.push(("clock", clock.to_owned()));
        }
    }
    let position = |topic: &&Topic| topic.metadata.contains_key("clock");
    for topic in manifest.topics.iter().filter(position) {
        let Some(clock) = topic.metadata.get("clock") else { continue };
        let from = topic.metadata.get("address").filter(|_| topic.instance > 0);
        let from = from.map(|address| format!("{address}: ")).unwrap_or_default();
        lines.push(("clock", format!("{from}{clock}")));
    }
    lines
}
