//! What was typed of lidars.

mod kept;

use std::{ffi::OsStr, fs::File, io::Read as _, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use logtool_core::{Manifest, Topic, TopicOrigin, TopicSet, VALID_ROWS};
use logtool_velodyne::{
    calibration::Calibration,
    lidar::{
        CALIBRATION_MISFIT, CALIBRATION_REMARK, CLOCK_REMARK, ClockChoice,
        LidarOptions, MODEL_CONFLICT, MODEL_REMARK, PACKET_REMARK, VALIDITY_REMARK,
    },
    points::Axes,
};

use crate::{
    args::{AxesChoice, LidarArgs, TimeChoice, WhoseClock},
    complaint::Complaint,
    paint, selection,
    terminal::say,
};

pub(crate) use self::kept::lost as lost_calibration;

/// The longest file that is believed to be a calibration.
const LONGEST: u64 = 16 << 20;

/// What `args` say of lidars, and of the clock on which times are told.
pub(crate) fn options(args: &LidarArgs, time: TimeChoice) -> Result<LidarOptions> {
    let mut options = LidarOptions::default();
    options.utc = time == TimeChoice::Utc;
    options.model = args.model;
    if let Some(path) = &args.calibration {
        options.calibration = Some(Arc::new(calibration(path)?));
    }
    options.points.formula = args.formula.unwrap_or_default();
    options.points.axes = match args.axes {
        Some(AxesChoice::Manual) => Axes::Manual,
        Some(AxesChoice::Ros) | None => Axes::Ros,
    };
    options.points.cut = args.cut.unwrap_or(0);
    options.keeps_cut = args.cut.is_some();
    options.clock = match args.clock {
        None => ClockChoice::Auto,
        Some(WhoseClock::Log) => ClockChoice::Log,
        Some(WhoseClock::Lidar) => ClockChoice::Lidar,
    };
    Ok(options)
}

/// Says aloud what is wrong with the models and the calibrations that the points among
/// `topics` of the log `name` are made with.
pub(crate) fn warn(name: &str, manifest: &Manifest, topics: &TopicSet) {
    let paint = paint::for_stderr();
    for remark in remarks(manifest, topics) {
        say!("{} {name}: {remark}", paint.yellow("warning:"));
    }
    let mut lacks = false;
    for (_, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        if topic.metadata.contains_key(CALIBRATION_REMARK) {
            let origin = topic.metadata.get("calibration");
            let of_another = ["default", "sent by the lidar itself, but"];
            lacks |= origin.is_some_and(|origin| {
                of_another.iter().any(|start| origin.starts_with(start))
            });
        }
    }
    let is_of_file = |topic: &Topic| {
        let origin = topic.metadata.get("calibration");
        origin.is_some_and(|origin| origin.starts_with("file "))
    };
    let wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let of_file: Vec<&Topic> =
        wanted.map(|(_, topic)| topic).filter(|topic| is_of_file(topic)).collect();
    if let [first, _, ..] = of_file[..] {
        let (count, first) = (of_file.len(), selection::numbered(first));
        let what = format!(
            "the calibration is used for {count} lidars: --topic {first} means one"
        );
        say!("{} {name}: {what}", paint.yellow("warning:"));
    }
    if lacks {
        let hint = "--calibration names the file of a lidar's own calibration";
        say!("{} {hint}", paint.bold("hint:"));
    }
}

/// Refuses a calibration that was given and suits none of the lidars of a log.
pub(crate) fn check_calibration(args: &LidarArgs, manifest: &Manifest) -> Result<()> {
    let is_lidar = |topic: &&Topic| topic.metadata.contains_key("calibration");
    let lidars = manifest.topics.iter().filter(is_lidar);
    let misfits: Option<Vec<&String>> =
        lidars.map(|topic| topic.metadata.get(CALIBRATION_MISFIT)).collect();
    match misfits.as_deref() {
        Some([misfit, ..]) if args.calibration.is_some() => {
            Err(Complaint::new(misfit.to_string()).into())
        }
        _ => Ok(()),
    }
}

/// Refuses a calibration that was given and does not suit one of the lidars of which `topics`
/// of a log are points, though it suits others.
pub(crate) fn check_each(
    args: &LidarArgs,
    manifest: &Manifest,
    topics: &TopicSet,
) -> Result<()> {
    let is_lidar = |topic: &&Topic| topic.metadata.contains_key("calibration");
    let lidars = manifest.topics.iter().filter(is_lidar);
    let suited: Vec<String> = lidars
        .filter(|topic| !topic.metadata.contains_key(CALIBRATION_MISFIT))
        .map(selection::numbered)
        .collect();
    let mut wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let misfit = wanted.find_map(|(_, topic)| {
        Some((selection::numbered(topic), topic.metadata.get(CALIBRATION_MISFIT)?))
    });
    match (misfit, &suited[..]) {
        (Some((label, misfit)), [first, ..]) if args.calibration.is_some() => {
            let all = suited.join(", ");
            let hint = format!("it suits {all}: --topic {first} takes that alone");
            Err(Complaint::new(format!("{label}: {misfit}")).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// What is wrong with the models, the calibrations and the clocks that the points among
/// `topics` are made with.
pub(crate) fn remarks(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let mut remarks = Vec::new();
    for (_, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        let keys = [
            MODEL_REMARK,
            PACKET_REMARK,
            CALIBRATION_REMARK,
            CLOCK_REMARK,
            VALIDITY_REMARK,
        ];
        let label = topic.label();
        for remark in keys.into_iter().filter_map(|key| topic.metadata.get(key)) {
            remarks.push(format!("{label}: {remark}"));
        }
        let lidar = topic.metadata.get("lidar");
        if let Some((lidar, conflict)) = lidar.zip(topic.metadata.get(MODEL_CONFLICT)) {
            remarks.push(format!("{label}: taken for {lidar}, although: {conflict}"));
        }
    }
    remarks
}

/// Of which of `topics` messages are left out of pictures and tracks, as they are not marked
/// valid.
pub(crate) fn left_out(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
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
pub(crate) fn is_calibration(path: &Path) -> bool {
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
pub(crate) fn calibration(path: &Path) -> Result<Calibration> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    let mut bytes = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut bytes);
    if read.with_context(|| name.clone())? as u64 == LONGEST {
        return Err(
            Complaint::new(format!("{name} is too long for a calibration")).into()
        );
    }
    let text = text(&bytes);
    let named = path.file_name().and_then(OsStr::to_str).unwrap_or(&name);
    let calibration = match text.trim_start().starts_with('<') {
        true => Calibration::from_xml(&text, named),
        false => Calibration::from_yaml(&text, named),
    };
    calibration.with_context(|| name)
}
