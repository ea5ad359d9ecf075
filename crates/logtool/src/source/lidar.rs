//! The lidars of a log: warnings about them, and their calibrations.

pub mod calibration_loss;

use std::{ffi::OsStr, path::Path};

use logtool_core::{Manifest, Topic, TopicOrigin, TopicSet};
use logtool_velodyne::{
    calibration::Calibration,
    lidar::{CalibrationOrigin, LidarInfo},
};

use crate::{
    error::{Context as _, Error, Remedy, Result},
    source::{input::side_file, selection},
};

/// The maximum size of a calibration file in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Warnings for users about the lidars whose points are computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LidarWarnings {
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The settings that may help against them.
    pub remedies: Vec<Remedy>,
}

/// Returns warnings about the models and the calibrations that are used for the points among
/// `topics`.
pub fn warnings(manifest: &Manifest, topics: &TopicSet) -> LidarWarnings {
    let mut warnings = remarks(manifest, topics);
    let selected = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let lidars: Vec<(&Topic, LidarInfo<'_>)> = selected
        .filter_map(|(_, topic)| Some((topic, LidarInfo::from_topic(topic)?)))
        .collect();
    let lacks_calibration = lidars.iter().any(|(_, lidar)| {
        let of_another = matches!(
            lidar.calibration,
            CalibrationOrigin::Default(_) | CalibrationOrigin::SentIncomplete { .. }
        );
        of_another && lidar.calibration_warning.is_some()
    });
    let is_of_file =
        |lidar: &LidarInfo<'_>| matches!(lidar.calibration, CalibrationOrigin::File(_));
    let of_file = lidars.iter().filter(|(_, lidar)| is_of_file(lidar));
    let of_file: Vec<&Topic> = of_file.map(|(topic, _)| *topic).collect();
    if let [first, _, ..] = of_file[..] {
        let (count, first) = (of_file.len(), selection::unique_label(first));
        warnings.push(format!(
            "the calibration is used for {count} lidars; {first} is the topic of one of them"
        ));
    }
    let has_clock_warning =
        lidars.iter().any(|(_, lidar)| lidar.clock_warning.is_some());
    let calibration = lacks_calibration.then_some(Remedy::SetCalibration);
    let clock = has_clock_warning.then_some(Remedy::SetLidarClock);
    LidarWarnings { warnings, remedies: calibration.into_iter().chain(clock).collect() }
}

/// Rejects a calibration of the user that matches none of the lidars of a log.
pub fn check_calibration(manifest: &Manifest) -> Result<()> {
    let lidars = manifest.topics.iter().filter_map(LidarInfo::from_topic);
    let mismatches: Option<Vec<&str>> =
        lidars.map(|lidar| lidar.calibration_mismatch).collect();
    match mismatches.as_deref() {
        Some([mismatch, ..]) => Err(Error::other(mismatch.to_string())),
        _ => Ok(()),
    }
}

/// Rejects a calibration of the user that does not match one of the lidars whose points are among
/// `topics`, though it matches others.
pub fn check_selected(manifest: &Manifest, topics: &TopicSet) -> Result<()> {
    let is_matching = |topic: &&Topic| {
        LidarInfo::from_topic(topic)
            .is_some_and(|lidar| lidar.calibration_mismatch.is_none())
    };
    let matching_topics = manifest.topics.iter().filter(is_matching);
    let matching_labels: Vec<String> =
        matching_topics.map(selection::unique_label).collect();
    let mut selected = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let mismatch = selected.find_map(|(_, topic)| {
        Some((
            selection::unique_label(topic),
            LidarInfo::from_topic(topic)?.calibration_mismatch?,
        ))
    });
    match mismatch {
        Some((label, mismatch)) if !matching_labels.is_empty() => {
            let error = Error::other(format!("{label}: {mismatch}"));
            Err(error
                .with_remedy(Remedy::SelectMatchingLidar { topics: matching_labels }))
        }
        _ => Ok(()),
    }
}

/// Returns remarks about the models, the calibrations and the clocks that are used for the points
/// among `topics`.
pub fn remarks(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let mut remarks = Vec::new();
    for (_, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        let Some(lidar) = LidarInfo::from_topic(topic) else { continue };
        let label = topic.label();
        remarks.extend(lidar.warnings().map(|warning| format!("{label}: {warning}")));
        if let Some(conflict) = lidar.model_conflict {
            let name = lidar.name;
            remarks.push(format!("{label}: taken for {name}, although: {conflict}"));
        }
    }
    remarks
}

/// Returns, for each of `topics`, a remark if messages that are not marked valid are dropped from
/// images and tracks.
pub fn dropped_records(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let of_topics = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let invalid = of_topics.filter(|(_, topic)| {
        topic.origin == TopicOrigin::Logged && topic.valid_row_value().is_some()
    });
    let remark = |(_, topic): (_, &Topic)| {
        format!("{}: records that are not marked valid are dropped", topic.label())
    };
    invalid.map(remark).collect()
}

/// Returns whether the file at `path` has the extension of a calibration.
pub fn is_calibration(path: &Path) -> bool {
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ["xml", "yaml", "yml"].iter().any(|known| end.eq_ignore_ascii_case(known))
}

/// Decodes `bytes`: UTF-8, or UTF-16 with a byte order mark. Other encodings only occur in
/// comments.
fn text(bytes: &[u8]) -> String {
    let words = |order: fn([u8; 2]) -> u16| -> String {
        let words = bytes.as_chunks().0.iter().skip(1).map(|word| order(*word));
        char::decode_utf16(words).map(|c| c.unwrap_or('\u{fffd}')).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => words(u16::from_le_bytes),
        [0xfe, 0xff, ..] => words(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Reads the calibration in the file at `path`.
pub fn calibration(path: &Path) -> Result<Calibration> {
    let name = path.display().to_string();
    let text = text(&side_file::read(path, "the calibration", MAX_BYTES)?);
    let named = path.file_name().and_then(OsStr::to_str).unwrap_or(&name);
    let calibration = if text.trim_start().starts_with('<') {
        Calibration::from_xml(&text, named)
    } else {
        Calibration::from_yaml(&text, named)
    };
    calibration.with_context(|| name)
}
