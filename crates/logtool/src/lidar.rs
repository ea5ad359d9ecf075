//! The lidars of a log: warnings about them, and their calibrations.

pub mod calibration_loss;

use std::{ffi::OsStr, fs::File, io::Read as _, path::Path};

use logtool_core::{Manifest, Topic, TopicOrigin, TopicSet, VALID_ROWS};
use logtool_velodyne::{
    calibration::Calibration,
    lidar::{CalibrationOrigin, LidarInfo},
};

use crate::{
    error::{Context as _, Error, Result},
    selection,
};

/// The longest file that is believed to be a calibration.
const LONGEST: u64 = 16 << 20;

/// What users should know of the lidars that points are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LidarWarnings {
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
    /// What may help.
    pub hint: Option<String>,
}

/// Returns what is wrong with the models and the calibrations that the points among `topics`
/// are made with.
pub fn warnings(manifest: &Manifest, topics: &TopicSet) -> LidarWarnings {
    let mut warnings = remarks(manifest, topics);
    let wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let lidars: Vec<(&Topic, LidarInfo<'_>)> =
        wanted.filter_map(|(_, topic)| Some((topic, LidarInfo::of(topic)?))).collect();
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
        let (count, first) = (of_file.len(), selection::numbered(first));
        warnings.push(format!(
            "the calibration is used for {count} lidars: --topic {first} means one"
        ));
    }
    let hint = "--calibration names the file of a lidar's own calibration";
    LidarWarnings { warnings, hint: lacks_calibration.then(|| hint.to_owned()) }
}

/// Refuses a calibration that was given and suits none of the lidars of a log.
pub fn check_calibration(manifest: &Manifest) -> Result<()> {
    let lidars = manifest.topics.iter().filter_map(LidarInfo::of);
    let misfits: Option<Vec<&str>> =
        lidars.map(|lidar| lidar.calibration_misfit).collect();
    match misfits.as_deref() {
        Some([misfit, ..]) => Err(Error::failed(misfit.to_string())),
        _ => Ok(()),
    }
}

/// Refuses a calibration that was given and does not suit one of the lidars of which `topics`
/// of a log are points, though it suits others.
pub fn check_each(manifest: &Manifest, topics: &TopicSet) -> Result<()> {
    let is_suited = |topic: &&Topic| {
        LidarInfo::of(topic).is_some_and(|lidar| lidar.calibration_misfit.is_none())
    };
    let suited = manifest.topics.iter().filter(is_suited);
    let suited: Vec<String> = suited.map(selection::numbered).collect();
    let mut wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let misfit = wanted.find_map(|(_, topic)| {
        Some((selection::numbered(topic), LidarInfo::of(topic)?.calibration_misfit?))
    });
    match (misfit, &suited[..]) {
        (Some((label, misfit)), [first, ..]) => {
            let all = suited.join(", ");
            let hint = format!("it suits {all}: --topic {first} takes that alone");
            Err(Error::failed(format!("{label}: {misfit}")).with_hint(hint))
        }
        _ => Ok(()),
    }
}

/// What is wrong with the models, the calibrations and the clocks that the points among
/// `topics` are made with.
pub fn remarks(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let mut remarks = Vec::new();
    for (_, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        let Some(lidar) = LidarInfo::of(topic) else { continue };
        let label = topic.label();
        remarks.extend(lidar.warnings().map(|warning| format!("{label}: {warning}")));
        if let Some(conflict) = lidar.model_conflict {
            let name = lidar.name;
            remarks.push(format!("{label}: taken for {name}, although: {conflict}"));
        }
    }
    remarks
}

/// Of which of `topics` messages are left out of pictures and tracks, as they are not marked
/// valid.
pub fn left_out(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let of_topics = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let invalid = of_topics.filter(|(_, topic)| {
        topic.origin == TopicOrigin::Logged && topic.metadata.contains_key(VALID_ROWS)
    });
    let told = |(_, topic): (_, &Topic)| {
        format!("{}: what is not marked valid is left out", topic.label())
    };
    invalid.map(told).collect()
}

/// Whether the file at `path` is called as calibrations are.
pub fn is_calibration(path: &Path) -> bool {
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ["xml", "yaml", "yml"].iter().any(|known| end.eq_ignore_ascii_case(known))
}

/// `bytes` as text: UTF-8, or UTF-16 if they begin as that does. What is of another
/// encoding is in comments, if anywhere.
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

/// The calibration in the file at `path`.
pub fn calibration(path: &Path) -> Result<Calibration> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    let mut bytes = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut bytes);
    if read.with_context(|| name.clone())? as u64 == LONGEST {
        return Err(Error::failed(format!("{name} is too long for a calibration")));
    }
    let text = text(&bytes);
    let named = path.file_name().and_then(OsStr::to_str).unwrap_or(&name);
    let calibration = match text.trim_start().starts_with('<') {
        true => Calibration::from_xml(&text, named),
        false => Calibration::from_yaml(&text, named),
    };
    calibration.with_context(|| name)
}
