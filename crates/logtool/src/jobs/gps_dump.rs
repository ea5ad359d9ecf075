//! Writes the raw bytes to and from GNSS receivers.

use std::{
    collections::BTreeMap,
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::UInt8Type};
use logtool_core::{MetadataKey, Value};
use logtool_sinks::{ExistingFiles, StagedFile};

use crate::{
    error::{Context as _, Error, Result},
    formats::{self, LogFormat},
    jobs::output::guarded_outputs::{self, GuardedOutputs},
    records::log::Log,
    source::{
        losses::{Findings, Strictness},
        session::Session,
    },
    text::units::count_of,
};

/// The topic of the bytes (`GpsDump.msg`).
const TOPIC: &str = "gps_dump";

/// The bit of `len` that marks bytes to the receiver; the others are the number of bytes.
const TO_DEVICE: u8 = 1 << 7;

/// A request to write the raw bytes to and from GNSS receivers, which PX4 logs in the topic `gps_dump`
/// if `GPS_DUMP_COMM` is set.
///
/// Each receiver has two files, with the names of pyulog's `ulog_extract_gps_dump`:
/// `flight_0_to_device.dat` and `flight_0_from_device.dat`.
///
/// ```no_run
/// use logtool::{Session, gps_dump::GpsDump};
///
/// let report = GpsDump::new("flight.ulg", "gps").run(&Session::new())?;
/// for receiver in &report.receivers {
///     println!("{}: {} bytes", receiver.instance, receiver.from_device_bytes);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct GpsDump {
    input: PathBuf,
    output: PathBuf,
    instance: Option<u8>,
    existing: ExistingFiles,
    strictness: Strictness,
}

/// The result of a [`GpsDump`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GpsDumpReport {
    /// The name of the log.
    pub name: String,
    /// The folder of the files.
    pub output: PathBuf,
    /// The receivers, by their instances.
    pub receivers: Vec<Receiver>,
    /// The number of records whose declared length is longer than their data. All of their data is
    /// written.
    pub overlong_records: u64,
    /// Remarks for users, a sentence each.
    pub remarks: Vec<String>,
    /// The losses and the damage of the log.
    pub losses: Findings,
}

/// The bytes of a receiver that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receiver {
    /// The instance of the receiver.
    pub instance: u8,
    /// The number of bytes to the receiver.
    pub to_device_bytes: u64,
    /// The number of bytes from the receiver.
    pub from_device_bytes: u64,
}

impl GpsDump {
    /// Creates a request to write the bytes in the ULog `input` to files in the folder `output`.
    /// Both are paths or URLs.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            instance: None,
            existing: ExistingFiles::Refuse,
            strictness: Strictness::Tolerant,
        }
    }

    /// Selects one receiver. By default, all are written.
    pub fn with_instance(mut self, instance: u8) -> Self {
        self.instance = Some(instance);
        self
    }

    /// Replaces files that exist in the output.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Writes the files.
    ///
    /// # Errors
    /// `NotFound` if the log has no bytes of receivers, or not of the selected one; others if the
    /// input is not a ULog, if a file cannot be written, or if something is lost in a strict
    /// request.
    pub fn run(&self, session: &Session) -> Result<GpsDumpReport> {
        let log = Log::open(&self.input, session)?;
        let name = log.name().to_owned();
        self.dump(&log, session).with_context(|| name)
    }

    fn dump(&self, log: &Log, session: &Session) -> Result<GpsDumpReport> {
        let format = LogFormat::from_manifest(log.manifest());
        formats::require_ulog(format, "record the bytes of GNSS receivers")?;
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        let stem = self.input.file_stem().unwrap_or_default().to_string_lossy();
        let outputs =
            guarded_outputs::for_folder(&self.output, self.existing, session)?;
        let mut dump = DumpWriter {
            outputs: &outputs,
            stem: if stem.is_empty() || stem == "-" { TOPIC } else { &stem },
            instance: self.instance,
            files: BTreeMap::new(),
            skipped: BTreeMap::new(),
            overlong_records: 0,
        };
        for topic in log.topics().iter().filter(|topic| topic.name == TOPIC) {
            let table = log.table(&topic.label())?.with_flat_columns();
            let mut batches = table.batches()?;
            for batch in &mut batches {
                dump.write(&batch?, topic.instance as u8)?;
            }
            let topics = [table.topic()].into_iter().collect();
            losses.add(log.manifest(), &topics, batches.damage());
            losses.check(self.strictness)?;
        }
        if dump.files.is_empty() {
            return Err(dump.no_bytes_error());
        }
        let overlong_records = dump.overlong_records;
        let receivers = dump.finish()?;
        outputs.commit()?;
        let mut remarks = Vec::new();
        let dropouts = match log.manifest().file_metadata(MetadataKey::Dropouts) {
            Some(Value::Map(dropouts)) => dropouts.get("count"),
            _ => None,
        };
        if let Some(Value::UInt(count @ 1..)) = dropouts {
            let dropouts = count_of(*count, "dropout");
            remarks
                .push(format!("{dropouts} of the log, in which bytes may be missing"));
        }
        Ok(GpsDumpReport {
            name: log.name().to_owned(),
            output: self.output.clone(),
            receivers,
            overlong_records,
            remarks,
            losses,
        })
    }
}

/// Writes the bytes of records to the files of their receivers.
struct DumpWriter<'o> {
    outputs: &'o GuardedOutputs,
    /// The start of the names of files.
    stem: &'o str,
    /// The selected receiver.
    instance: Option<u8>,
    files: BTreeMap<u8, ReceiverFiles>,
    /// The numbers of records of receivers that are not selected.
    skipped: BTreeMap<u8, u64>,
    overlong_records: u64,
}

/// The files of a receiver.
struct ReceiverFiles {
    to_device: BufWriter<StagedFile>,
    from_device: BufWriter<StagedFile>,
    bytes: Receiver,
}

impl DumpWriter<'_> {
    /// Writes the records of `batch`, of the topic with this `instance`.
    fn write(&mut self, batch: &RecordBatch, topic_instance: u8) -> Result<()> {
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column.and_then(|column| column.as_primitive_opt::<UInt8Type>())
        };
        let data: Vec<_> =
            (0..).map_while(|index| column(&format!("data[{index}]"))).collect();
        let Some(lens) = column("len").filter(|_| !data.is_empty()) else {
            let message = format!("{TOPIC} has no bytes `len` and `data`");
            return Err(
                Error::other(message).with_hint("`logtool schema` shows its fields")
            );
        };
        // Early releases log one receiver, without a field for it.
        let instances = column("instance");
        let mut bytes = Vec::with_capacity(data.len());
        for row in (0..batch.num_rows()).filter(|row| lens.is_valid(*row)) {
            let instance = instances.map_or(topic_instance, |values| values.value(row));
            if self.instance.is_some_and(|selected| selected != instance) {
                *self.skipped.entry(instance).or_default() += 1;
                continue;
            }
            let len = usize::from(lens.value(row) & !TO_DEVICE);
            self.overlong_records += u64::from(len > data.len());
            bytes.clear();
            bytes.extend(data.iter().take(len).map(|column| column.value(row)));
            let is_to_device = lens.value(row) & TO_DEVICE != 0;
            self.files(instance)?.write(&bytes, is_to_device)?;
        }
        Ok(())
    }

    /// Returns the files of a receiver, and creates them at first.
    fn files(&mut self, instance: u8) -> Result<&mut ReceiverFiles> {
        if !self.files.contains_key(&instance) {
            let create = |direction: &str| {
                let name = format!("{}_{instance}_{direction}_device.dat", self.stem);
                Ok::<_, Error>(BufWriter::new(self.outputs.create(&name)?))
            };
            let files = ReceiverFiles {
                to_device: create("to")?,
                from_device: create("from")?,
                bytes: Receiver { instance, to_device_bytes: 0, from_device_bytes: 0 },
            };
            self.files.insert(instance, files);
        }
        let files = self.files.get_mut(&instance);
        files.ok_or_else(|| Error::other("a file is missing"))
    }

    /// Returns the error of a log without bytes.
    fn no_bytes_error(&self) -> Error {
        match self.instance.filter(|_| !self.skipped.is_empty()) {
            Some(instance) => {
                let others = self.skipped.keys().map(u8::to_string);
                let others = others.collect::<Vec<_>>().join(", ");
                Error::not_found(format!("the log has no bytes of receiver {instance}"))
                    .with_hint(format!("it has those of {others}"))
            }
            None => Error::not_found(format!("the log has no records of {TOPIC}"))
                .with_hint("PX4 logs them if GPS_DUMP_COMM is set"),
        }
    }

    /// Completes the files, and returns the numbers of bytes.
    fn finish(self) -> Result<Vec<Receiver>> {
        let mut receivers = Vec::new();
        for (_, files) in self.files {
            for file in [files.to_device, files.from_device] {
                file.into_inner().map_err(|error| error.into_error())?.finish()?;
            }
            receivers.push(files.bytes);
        }
        Ok(receivers)
    }
}

impl ReceiverFiles {
    fn write(&mut self, bytes: &[u8], is_to_device: bool) -> Result<()> {
        let (file, count) = if is_to_device {
            (&mut self.to_device, &mut self.bytes.to_device_bytes)
        } else {
            (&mut self.from_device, &mut self.bytes.from_device_bytes)
        };
        *count += bytes.len() as u64;
        Ok(file.write_all(bytes)?)
    }
}
