//! `logtool calibration`: how a lidar is calibrated, as a file.

use std::{ffi::OsStr, path::Path};

use arrow_array::{Array as _, cast::AsArray as _};
use arrow_schema::DataType;
use logtool::{
    Error, Result, error::Context as _, input::open, lidar, output::guarded, selection,
    units::counted,
};
use logtool_core::{
    Block, Columns, Damage, Log, Selection, Timestamp, Topic, TopicId, TopicSet, View,
};
use logtool_sinks::Existing;
use logtool_velodyne::{
    calibration::{Calibration, StatusStream},
    lidar::{Lidar, LidarOptions, Probe},
    model::Model,
    packet::{DATA_BYTES, Firings},
};

use crate::{
    args::{CalibrationArgs, GlobalArgs},
    outcome::Outcome,
    terminal::say,
};

/// How often it is looked whether a calibration is complete: a round of the lidar.
const ROUND: u64 = 4_160;

pub(super) fn run(args: &CalibrationArgs, global: &GlobalArgs) -> Result<Outcome> {
    let text_of = text_of(&args.out)?;
    let calibration = match lidar::is_calibration(&args.file) {
        true => lidar::calibration(&args.file)?,
        false => of_log(args, global)?,
    };
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let outputs = guarded::one_file(&args.out, existing, &global.session)?;
    let name = args.out.file_name().unwrap_or_default().to_string_lossy();
    outputs.write(&name, text_of(&calibration).as_bytes())?;
    outputs.commit()?;
    if !global.quiet {
        say!(
            "{} → {}: {}, from: {}",
            args.file.display(),
            args.out.display(),
            counted(calibration.lasers.len() as u64, "laser"),
            calibration.origin
        );
        calibration.remarks.iter().for_each(|remark| say!("  {remark}"));
    }
    Ok(Outcome::Done)
}

/// What makes the text of a calibration file.
type TextOf = fn(&Calibration) -> String;

/// What makes the text of the file `out`.
fn text_of(out: &Path) -> Result<TextOf> {
    let end = out.extension().and_then(OsStr::to_str).unwrap_or_default();
    match end.to_ascii_lowercase().as_str() {
        "xml" => Ok(Calibration::to_xml),
        "yaml" | "yml" => Ok(Calibration::to_yaml),
        _ => {
            let what = format!("{} is neither .xml nor .yaml", out.display());
            let hint = "db.xml is what VeloView reads, YAML what ROS reads";
            Err(Error::invalid(what).with_hint(hint))
        }
    }
}

/// The calibration of the lidar of a log.
fn of_log(args: &CalibrationArgs, global: &GlobalArgs) -> Result<Calibration> {
    let mut options = LidarOptions::default();
    options.model = args.model;
    let opened = open::open_with(&args.file, &global.session, &options)?;
    let find = || {
        let log = &*opened.log;
        let topic = topic(log, args.topic.as_deref())?;
        let mut probe = Probe::default();
        packets(log, topic, &mut |packet| {
            probe.add(packet, Timestamp::MAX);
            !probe.is_enough()
        })?;
        let lidar = probe.finish(&options).ok_or_else(|| {
            Error::failed("no lidar is recognised by its packets")
                .with_hint("name it with --model")
        })?;
        match lidar.sensor.model {
            Model::Hdl64eS2 | Model::Hdl64eS3 => sent(log, topic, &lidar),
            Model::Hdl64eS1 => {
                let what = "an HDL-64E S1 does not send its calibration";
                Err(Error::failed(what).with_hint("it came with the lidar, as db.xml"))
            }
            _ => Ok(lidar.calibration),
        }
    };
    find().with_context(|| opened.input.name.clone())
}

/// The topic of packets that is meant.
fn topic(log: &dyn Log, glob: Option<&str>) -> Result<TopicId> {
    let manifest = log.manifest();
    let globs: Vec<String> = glob.map(str::to_owned).into_iter().collect();
    let meant = selection::topics(manifest, &globs, true)?;
    // Who means points, means the packets that they are made of.
    let names: Vec<(String, u32)> = manifest
        .topics()
        .filter(|(id, _)| meant.contains(*id))
        .filter_map(|(_, topic)| Some((packets_of(&topic.name)?, topic.instance)))
        .collect();
    let is_meant = |topic: &Topic| {
        names
            .iter()
            .any(|(name, instance)| (name, instance) == (&topic.name, &topic.instance))
    };
    let found = manifest.topics().filter(|(_, topic)| is_meant(topic));
    let found: Vec<_> = found.collect();
    match found.as_slice() {
        [(id, _)] => Ok(*id),
        [] => Err(Error::failed("there are no packets of a lidar here")),
        several => {
            let labels = several.iter().map(|(_, topic)| selection::numbered(topic));
            let labels: Vec<String> = labels.collect();
            let what = "there are packets of several lidars here";
            let hint = format!("choose with --topic: {}", labels.join(", "));
            Err(Error::invalid(what.to_owned()).with_hint(hint))
        }
    }
}

/// The topic of packets that is meant by the topic `name`: itself, or that of which it has
/// the points.
fn packets_of(name: &str) -> Option<String> {
    match name {
        "points" | "velodyne_packets" => Some("velodyne_packets".to_owned()),
        name if name.ends_with("/packets") => Some(name.to_owned()),
        name => Some(format!("{}/packets", name.strip_suffix("/points")?)),
    }
}

/// The calibration that `lidar` sends itself.
fn sent(log: &dyn Log, topic: TopicId, lidar: &Lidar) -> Result<Calibration> {
    let mut stream = StatusStream::new(lidar.sensor.packet_nanos() / 1e3);
    packets(log, topic, &mut |packet| {
        if let Some(firings) = Firings::new(packet) {
            let tail = firings.tail();
            stream.add(tail.micros, tail.sort, tail.value);
        }
        !stream.packets().is_multiple_of(ROUND) || !stream.is_complete()
    })?;
    let report = stream.report();
    let complaint = report.complaint();
    let seen = counted(stream.packets(), "packet");
    if let Some(mut calibration) = report.calibration {
        calibration.remarks.extend(complaint);
        return Ok(calibration);
    }
    let lasers: Vec<String> = report.incomplete.iter().map(u16::to_string).collect();
    let what = format!(
        "the calibration of {} is not complete in {seen}: {}",
        counted(lasers.len() as u64, "laser"),
        lasers.join(", ")
    );
    Err(Error::failed(what).with_hint("it takes 4160 packets to send all of it"))
}

/// Shows `take` the packets of `topic`, until that says false.
fn packets(
    log: &dyn Log,
    topic: TopicId,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    let topics: TopicSet = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::all(View::Nested))?;
    let is_bytes = |kind: &DataType| {
        matches!(kind, DataType::FixedSizeBinary(_) | DataType::Binary)
    };
    let schema = decoder.schema().clone();
    let column = schema.fields().iter().position(|field| is_bytes(field.data_type()));
    let column = column.context("the packets have no bytes")?;
    let (mut block, mut damage) = (Block::default(), Vec::<Damage>::new());
    for part in log.manifest().plan(&selection, 8 << 20) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            for run in block.runs() {
                decoder.append(run, &mut damage);
            }
            damage.clear(); // what is no packet, says nothing
            let batch = decoder.take()?;
            let array = batch.column(column);
            let fixed = array.as_fixed_size_binary_opt();
            let plain = array.as_binary_opt::<i32>();
            for row in 0..array.len() {
                let packet = match (fixed, plain) {
                    (Some(fixed), _) => fixed.value(row),
                    (None, Some(plain)) => plain.value(row),
                    (None, None) => continue,
                };
                if packet.len() == DATA_BYTES && !take(packet) {
                    return Ok(());
                }
            }
        }
        log.source().release(part.bytes);
    }
    Ok(())
}
