//! Writes the tables of a log to a ULog: a format and a topic for each table.

mod columns;
mod encode;
mod fields;
mod names;
mod scan;

use std::{collections::BTreeMap, io::BufWriter, path::PathBuf, sync::Arc};

use logtool_core::{
    ClockZero, Log, Manifest, Selection, TimeRange, Topic, TopicId, TopicSet,
};
use logtool_sinks::StagedFile;
use logtool_ulog::write::{Subscription, TopicHandle, Writer};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    formats::{self, LogFormat},
    jobs::{
        convert::{
            Convert,
            report::{ConvertReport, OutputFile},
            tables::count_remarks,
            ulog_tables::{
                columns::TableColumns, encode::EncodedTable, names::UniqueNames,
                scan::Scan,
            },
        },
        output::{guarded_outputs, overwrite_guard},
    },
    source::{
        input::Input, progress_counter::ProgressCounter, selection, session::Session,
    },
    text::units::count_of,
    time::clock::{self, Iso, ShownClock},
};

/// The information with the UTC of timestamp 0 in microseconds, as PX4 writes it.
const BOOT_TIME: &str = "uint64_t boot_time_utc_us";

/// The information with the name of the input.
const SOURCE: &str = "source_log";

/// The maximum length of the message of a format, less than the limit of a message because readers
/// of PX4 have smaller buffers.
const MAX_FORMAT_BYTES: usize = 60_000;

/// Writes the tables of `log`, which is `input`, to the new ULog `path`.
///
/// Times count from a whole second before the first record if the log has UTC, and otherwise from the
/// zero of its own clock. Each format starts with `uint64_t timestamp`.
///
/// # Errors
/// `NotFound` if the log has nothing that was selected; others if it cannot be read, if the ULog
/// cannot be written, or if something is lost in a strict request.
pub(super) fn write(
    convert: &Convert,
    path: PathBuf,
    (input, log): (&Input, &Arc<dyn Log>),
    session: &Session,
) -> Result<ConvertReport> {
    let Convert { input: source, request, existing, strictness, .. } = convert;
    overwrite_guard::refuse(&path, [&**source])?;
    let (name, manifest) = (&input.name, log.manifest());
    let mut losses = input.findings(manifest);
    losses.check(*strictness)?;
    let clock = ShownClock::new(manifest, request.clock())?;
    let time = clock.range(request.start, request.end)?;
    session.warn_of_late_times(name, manifest, request.start, request.end);
    let topics = selection::topics(manifest, &request.topics)?;
    let selection = Selection { topics: topics.clone(), time };
    let counter = ProgressCounter::for_bytes(session, name, manifest.bytes);

    let mut damage = Vec::new();
    let mut tables = tables(log, &topics)?;
    measure(log, &mut tables, time, &mut damage)?;
    let mut remarks = Vec::new();
    tables.iter_mut().for_each(|table| table.columns.fit(MAX_FORMAT_BYTES));
    for table in &tables {
        for (column, reason) in &table.columns.dropped {
            remarks.push(format!("left out: {} {column}: {reason}", table.label));
        }
    }

    let outputs = guarded_outputs::for_log(&path, *existing, session)?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let out = BufWriter::with_capacity(64 << 10, outputs.create(&file_name)?);
    let epoch = Epoch::new(manifest);
    let mut ulog = NewUlog::begin(out, &mut tables, epoch, input.file_name())?;
    let mut scan = Scan::in_time_order(log, selection)?;
    while let Some(rows) = scan.next()? {
        damage.extend(rows.damage);
        ulog.write(&rows.batches, &mut tables)?;
        counter.add(rows.bytes);
    }
    drop(counter);
    losses.add(manifest, &topics, &damage);
    losses.check(*strictness)?;
    let written = ulog.finish()?;
    let files = outputs.commit().with_context(|| name.clone())?;

    let mut report = ConvertReport::new(name, input.source.len(), losses);
    report.records = written.records;
    if report.records == 0 && !report.losses.has_damage() {
        report.empty_reason = Some(clock::empty_selection(&manifest.clock));
    }
    remarks.extend(tables.iter().flat_map(TableToWrite::remarks));
    remarks.extend(written.remarks(epoch));
    remarks.extend(count_remarks(manifest, &topics));
    report.remarks = remarks;
    report.is_cut = written.untimed > 0 || tables.iter().any(|table| table.cut() > 0);
    // The path as the user wrote it.
    let file = |(_, bytes)| OutputFile { path: path.clone(), bytes };
    report.files = files.into_iter().map(file).collect();
    Ok(report)
}

/// Returns the error of a conversion that a dataset cannot have.
pub(super) fn refuse_in_dataset(manifest: &Manifest) -> Error {
    let noun = formats::noun(manifest);
    let message = format!(
        "{noun} cannot be copied to a ULog; `logtool convert` writes its tables to one"
    );
    Error::invalid_request(message)
}

/// A table and its format.
struct TableToWrite {
    topic: TopicId,
    label: String,
    format: String,
    columns: TableColumns,
    handle: Option<TopicHandle>,
    counts: Counts,
}

/// The numbers of values that were changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Strings that were cut.
    pub(super) texts: u64,
    /// Lists that were cut.
    pub(super) lists: u64,
    /// Missing values, which became zero or NaN.
    pub(super) missing: u64,
}

impl TableToWrite {
    fn cut(&self) -> u64 {
        self.counts.texts + self.counts.lists
    }

    fn remarks(&self) -> Vec<String> {
        let label = &self.label;
        let counts = [
            (self.counts.texts, "string", "cut"),
            (self.counts.lists, "list", "cut"),
            (
                self.counts.missing,
                "missing value",
                "written as 0, NaN or an empty string",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        counts
            .map(|(count, noun, change)| {
                format!("{label}: {} {change}", count_of(count, noun))
            })
            .collect()
    }
}

/// Returns the tables of `topics` that have columns which a ULog can hold.
fn tables(log: &Arc<dyn Log>, topics: &TopicSet) -> Result<Vec<TableToWrite>> {
    let mut names = UniqueNames::new("topic");
    let mut tables = Vec::new();
    let selected = log.manifest().topics().filter(|(id, topic): &(TopicId, &Topic)| {
        topics.contains(*id) && topic.records != Some(0)
    });
    for (id, topic) in selected {
        let decoder = log.decoder(id, &logtool_core::Columns::default())?;
        tables.push(TableToWrite {
            topic: id,
            label: topic.label().into_owned(),
            format: names.add(&topic.label()),
            columns: TableColumns::new(decoder.schema()),
            handle: None,
            counts: Counts::default(),
        });
    }
    if tables.is_empty() {
        let message = "the selected topics have no records";
        return Err(Error::new(ErrorKind::EmptySelection, message));
    }
    Ok(tables)
}

/// Returns the indices of `tables` by their topics.
fn by_topic(tables: &[TableToWrite]) -> BTreeMap<TopicId, usize> {
    tables.iter().enumerate().map(|(index, table)| (table.topic, index)).collect()
}

/// Reads the tables with strings and lists once, to find the longest ones.
fn measure(
    log: &Arc<dyn Log>,
    tables: &mut [TableToWrite],
    time: TimeRange,
    damage: &mut Vec<logtool_core::Damage>,
) -> Result<()> {
    let varying = tables.iter().filter(|table| table.columns.has_varying_lengths());
    let topics: TopicSet = varying.map(|table| table.topic).collect();
    if topics == TopicSet::EMPTY {
        return Ok(());
    }
    let by_topic = by_topic(tables);
    let mut scan = Scan::in_file_order(log, Selection { topics, time })?;
    while let Some(rows) = scan.next()? {
        // The second reading finds it again.
        drop(rows.damage);
        for (topic, batch) in &rows.batches {
            let table = by_topic.get(topic).and_then(|index| tables.get_mut(*index));
            if let Some(table) = table {
                table.columns.measure(batch);
            }
        }
    }
    damage.clear();
    Ok(())
}

/// The zero of the timestamps of the new log, on the clock of the source, in nanoseconds.
#[derive(Clone, Copy)]
struct Epoch {
    zero: i64,
    /// The start of the source.
    start: i64,
    /// Its UTC, if the source has UTC.
    utc: Option<i64>,
}

impl Epoch {
    fn new(manifest: &Manifest) -> Self {
        const SECOND: i64 = 1_000_000_000;
        let start = manifest.time.map_or(0, |time| time.start.as_nanos());
        let zero = match manifest.clock.zero {
            // The first timestamp is not 0, which PX4 takes for an invalid time.
            ClockZero::Unix => {
                let second = start.saturating_sub(1).div_euclid(SECOND) * SECOND;
                // ULogs have no UTC before 1970.
                second.max(0)
            }
            _ => 0,
        };
        let utc = clock::unix_offset(&manifest.clock)
            .and_then(|offset| zero.checked_add(offset));
        Self { zero, start, utc: utc.filter(|utc| *utc > 0) }
    }

    /// Returns a time as a timestamp in microseconds, unless it is before the zero.
    fn micros(self, time: i64) -> Option<u64> {
        u64::try_from(time.checked_sub(self.zero)?).ok().map(|nanos| nanos / 1_000)
    }
}

/// A ULog that is being written.
struct NewUlog {
    writer: Writer<BufWriter<StagedFile>>,
    epoch: Epoch,
    written: Written,
    payload: Vec<u8>,
    by_topic: BTreeMap<TopicId, usize>,
}

/// The numbers of rows.
#[derive(Clone, Copy, Default)]
struct Written {
    records: u64,
    /// Rows without a time, or before the zero.
    untimed: u64,
    /// Rows whose time is not a whole number of microseconds.
    rounded: u64,
}

impl Written {
    fn remarks(self, epoch: Epoch) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(utc) = epoch.utc {
            remarks.push(format!("timestamps count from {}", Iso(utc)));
        }
        if self.rounded > 0 {
            let rows = count_of(self.rounded, "row");
            remarks.push(format!("{rows} without the nanoseconds of their times"));
        }
        if self.untimed > 0 {
            let rows = count_of(self.untimed, "row");
            remarks.push(format!("left out: {rows} without a time from the start on"));
        }
        remarks
    }
}

impl NewUlog {
    /// Writes the definitions.
    fn begin(
        out: BufWriter<StagedFile>,
        tables: &mut [TableToWrite],
        epoch: Epoch,
        source: &str,
    ) -> Result<Self> {
        let by_topic = by_topic(tables);
        let start = epoch.micros(epoch.start).unwrap_or_default();
        let mut writer = Writer::new(out, start);
        for table in tables.iter() {
            writer.format(&table.format, &table.columns.format())?;
        }
        writer.info_text("sys_name", "logtool")?;
        writer.info_multiple_text(SOURCE, source)?;
        if let Some(micros) = epoch.utc.and_then(|utc| u64::try_from(utc / 1_000).ok())
        {
            writer.info(BOOT_TIME, &micros.to_le_bytes())?;
        }
        for table in tables {
            table.handle = Some(writer.subscribe(Subscription::new(&table.format))?);
        }
        let (written, payload) = (Written::default(), Vec::new());
        Ok(Self { writer, epoch, written, payload, by_topic })
    }

    /// Writes the rows of `batches`, sorted by time.
    fn write(
        &mut self,
        batches: &[(TopicId, arrow_array::RecordBatch)],
        tables: &mut [TableToWrite],
    ) -> Result<()> {
        let mut encoded = Vec::new();
        let mut rows = Vec::new();
        for (topic, batch) in batches {
            let Some(at) = self.by_topic.get(topic).copied() else { continue };
            let Some(table) = tables.get(at) else { continue };
            let batch = EncodedTable::new(&table.columns, batch)?;
            for row in 0..batch.rows() {
                let time = batch.time(row);
                let Some(micros) = time.and_then(|time| self.epoch.micros(time)) else {
                    self.written.untimed += 1;
                    continue;
                };
                let is_exact = time.is_some_and(|time| time % 1_000 == 0);
                self.written.rounded += u64::from(!is_exact);
                rows.push((micros, encoded.len(), row));
            }
            encoded.push((at, batch));
        }
        // Stable: rows of the same time keep their order.
        rows.sort_by_key(|(micros, ..)| *micros);
        for (micros, batch, row) in rows {
            let Some((table, batch)) = encoded.get(batch) else { continue };
            let Some(table) = tables.get_mut(*table) else { continue };
            self.payload.clear();
            self.payload.extend_from_slice(&micros.to_le_bytes());
            batch.encode(row, &mut self.payload, &mut table.counts);
            if let Some(handle) = table.handle {
                self.writer.data(handle, micros, &self.payload)?;
                self.written.records += 1;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Written> {
        let out = self.writer.finish()?;
        out.into_inner().map_err(|error| error.into_error())?.finish()?;
        Ok(self.written)
    }
}

/// Returns whether the log of `manifest` is not a ULog, whose records are copied.
pub(super) fn is_needed(manifest: &Manifest) -> bool {
    LogFormat::from_manifest(manifest) != Some(LogFormat::Ulog)
}
