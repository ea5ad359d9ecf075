//! Extracts the calibrations of lidars from their logs, and writes them as files.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use arrow_array::{Array as _, cast::AsArray as _};
use arrow_schema::DataType;
use logtool_core::{
    Block, Columns, Damage, Log, Selection, Timestamp, Topic, TopicId, TopicSet, View,
};
use logtool_sinks::ExistingFiles;
use logtool_velodyne::{
    PACKETS_TOPIC, POINTS_TOPIC,
    calibration::StatusStream,
    lidar::{Lidar, LidarOptions, Probe},
    model::Model,
    packet::{DATA_BYTES, Firings},
};

use crate::{
    error::{Context as _, Error, Remedy, Result},
    jobs::output::guarded_outputs,
    source::{input::open, lidar, selection, session::Session},
    text::units::count_of,
};

pub use logtool_velodyne::calibration::Calibration;

/// The number of packets between two checks whether a calibration is complete: a lidar repeats
/// it after these packets.
const CYCLE_PACKETS: u64 = 4_160;

/// A request to extract the calibration of a lidar from a log of its packets. An HDL-64E sends
/// its calibration; other models have the calibration of the model.
///
/// ```no_run
/// use logtool::{Session, calibration::ExtractCalibration};
///
/// let calibration = ExtractCalibration::new("drive.pcap").run(&Session::new())?;
/// println!("{} lasers", calibration.lasers.len());
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ExtractCalibration {
    input: PathBuf,
    topic: Option<String>,
    model: Option<Model>,
    existing: ExistingFiles,
    format: Option<CalibrationFormat>,
}

/// The format of a calibration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum CalibrationFormat {
    /// db.xml, which VeloView reads
    Xml,
    /// YAML, which ROS reads
    #[cfg_attr(feature = "clap", value(alias = "yml"))]
    Yaml,
}

impl CalibrationFormat {
    /// Returns the format of files with this extension, in upper or lower case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "xml" => Some(Self::Xml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Returns `calibration` as the text of a file.
    fn text(self, calibration: &Calibration) -> String {
        match self {
            Self::Xml => calibration.to_xml(),
            Self::Yaml => calibration.to_yaml(),
        }
    }
}

impl ExtractCalibration {
    /// Creates a request to extract the calibration from `input`: a log, or a calibration file
    /// (`.xml`, `.yaml`), which is read.
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            topic: None,
            model: None,
            existing: ExistingFiles::Refuse,
            format: None,
        }
    }

    /// Replaces a calibration file that exists. By default that is an error.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets the format of the calibration file. By default, its extension selects the format.
    pub fn with_format(mut self, format: CalibrationFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Selects the lidar of this topic of points or packets. It is needed if the log has
    /// several lidars.
    pub fn with_topic(mut self, pattern: impl Into<String>) -> Self {
        self.topic = Some(pattern.into());
        self
    }

    /// Sets the model of the lidar, which its packets show otherwise.
    pub fn with_model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }

    /// Returns the calibration.
    ///
    /// # Errors
    /// If the input cannot be read, if it has no lidar or several, or if the lidar does not
    /// send its complete calibration.
    pub fn run(&self, session: &Session) -> Result<Calibration> {
        if lidar::is_calibration(&self.input) {
            return lidar::calibration(&self.input);
        }
        let mut options = LidarOptions::default();
        options.model = self.model;
        let opened = open::open_with(&self.input, session, &options)?;
        let calibration = self.find(&*opened.log, &options);
        calibration.with_context(|| opened.input.name.clone())
    }

    /// Returns the calibration, after it has been written to `output`: a path or a URL with the
    /// extension `.xml` or `.yaml`, unless the request has a [format](Self::with_format).
    ///
    /// # Errors
    /// Those of [`run`](Self::run); `InvalidRequest` for another extension; others if the
    /// output cannot be written.
    pub fn write(&self, output: &Path, session: &Session) -> Result<Calibration> {
        let format = self.format.map_or_else(|| format_of_name(output), Ok)?;
        let calibration = self.run(session)?;
        let outputs = guarded_outputs::for_file(output, self.existing, session)?;
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        outputs.write(&name, format.text(&calibration).as_bytes())?;
        outputs.commit()?;
        Ok(calibration)
    }

    fn find(&self, log: &dyn Log, options: &LidarOptions) -> Result<Calibration> {
        let topic = packet_topic(log, self.topic.as_deref())?;
        let mut probe = Probe::default();
        visit_packets(log, topic, &mut |packet| {
            probe.add(packet, Timestamp::MAX);
            !probe.is_enough()
        })?;
        let lidar = probe.finish(options).ok_or_else(|| {
            Error::not_found("no lidar is recognised by its packets")
                .with_remedy(Remedy::SetLidarModel)
        })?;
        match lidar.sensor.model {
            Model::Hdl64eS2 | Model::Hdl64eS3 => sent_calibration(log, topic, &lidar),
            Model::Hdl64eS1 => {
                let message = "an HDL-64E S1 does not send its calibration";
                let hint = "it came with the lidar, as db.xml";
                Err(Error::not_found(message).with_hint(hint))
            }
            _ => Ok(lidar.calibration),
        }
    }
}

/// Returns the format of the extension of `output`.
fn format_of_name(output: &Path) -> Result<CalibrationFormat> {
    let extension = output.extension().and_then(OsStr::to_str).unwrap_or_default();
    CalibrationFormat::from_extension(extension).ok_or_else(|| {
        let message = format!("{} is neither .xml nor .yaml", output.display());
        Error::invalid_request(message)
            .with_hint("VeloView reads db.xml, and ROS reads YAML")
    })
}

/// Returns the topic of the packets that `pattern` selects, by the topic of packets or of their
/// points.
fn packet_topic(log: &dyn Log, pattern: Option<&str>) -> Result<TopicId> {
    let manifest = log.manifest();
    let patterns: Vec<String> = pattern.map(str::to_owned).into_iter().collect();
    let selected = selection::topics_with_derived(manifest, &patterns)?;
    // A topic of points selects the packets that contain them.
    let names: Vec<(String, u32)> = manifest
        .topics()
        .filter(|(id, _)| selected.contains(*id))
        .filter_map(|(_, topic)| Some((packets_of(&topic.name)?, topic.instance)))
        .collect();
    let is_selected = |topic: &Topic| {
        names
            .iter()
            .any(|(name, instance)| (name, instance) == (&topic.name, &topic.instance))
    };
    let found = manifest.topics().filter(|(_, topic)| is_selected(topic));
    let found: Vec<_> = found.collect();
    match found.as_slice() {
        [(id, _)] => Ok(*id),
        [] => Err(Error::not_found("there are no packets of a lidar here")),
        several => {
            let labels =
                several.iter().map(|(_, topic)| selection::unique_label(topic));
            let labels: Vec<String> = labels.collect();
            let message = "there are packets of several lidars here";
            Err(Error::invalid_request(message)
                .with_remedy(Remedy::SelectTopic { topics: labels }))
        }
    }
}

/// Returns the topic of packets that belongs to the topic `name` of points or packets.
fn packets_of(name: &str) -> Option<String> {
    match name {
        POINTS_TOPIC | PACKETS_TOPIC => Some(PACKETS_TOPIC.to_owned()),
        name if name.ends_with("/packets") => Some(name.to_owned()),
        name => Some(format!("{}/packets", name.strip_suffix("/points")?)),
    }
}

/// Returns the calibration that `lidar` sends in its packets.
fn sent_calibration(
    log: &dyn Log,
    topic: TopicId,
    lidar: &Lidar,
) -> Result<Calibration> {
    let mut stream = StatusStream::new(lidar.sensor.packet_nanos() / 1e3);
    visit_packets(log, topic, &mut |packet| {
        if let Some(firings) = Firings::new(packet) {
            let tail = firings.tail();
            stream.add(tail.micros, tail.status_type, tail.status_value);
        }
        !stream.packets().is_multiple_of(CYCLE_PACKETS) || !stream.is_complete()
    })?;
    let report = stream.report();
    let incomplete = report.incomplete_lasers();
    let seen = count_of(stream.packets(), "packet");
    if let Some(mut calibration) = report.calibration {
        calibration.warnings.extend(incomplete);
        return Ok(calibration);
    }
    let lasers: Vec<String> = report.incomplete.iter().map(u16::to_string).collect();
    let message = format!(
        "the calibration of {} is not complete in {seen}: {}",
        count_of(lasers.len() as u64, "laser"),
        lasers.join(", ")
    );
    Err(Error::other(message).with_hint("it takes 4160 packets to send all of it"))
}

/// Calls `visit` with each packet of `topic`, until it returns false.
fn visit_packets(
    log: &dyn Log,
    topic: TopicId,
    visit: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    let topics: TopicSet = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::new(View::Nested))?;
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
            damage.clear(); // other records do not matter here
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
                if packet.len() == DATA_BYTES && !visit(packet) {
                    return Ok(());
                }
            }
        }
        log.source().release(part.bytes);
    }
    Ok(())
}
