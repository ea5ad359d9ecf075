//! Writing the rows of splits to an output.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use logtool_core::{TableSink, TableWriter, TopicSet};
use logtool_sinks::{
    CsvOptions, CsvSink, ExistingFiles, FileNames, IpcSink, JsonLinesSink,
    MemoryBudget, NameStyle, Outputs, ParquetSink,
};

use crate::{
    error::{Error, ErrorKind, Result},
    jobs::{
        convert::{FormatKind, OutputFormat, TableFormat},
        output::guarded_outputs,
    },
    records::log::Table,
    source::{
        losses::{Findings, Strictness},
        session::Session,
    },
    split::Split,
};

/// A request to write the rows of splits, one after the other, to one table.
///
/// ```no_run
/// use logtool::{Session, Split, split::ReadRequest};
///
/// let splits: Vec<Split> = serde_json::from_str("[]")?;
/// let request = ReadRequest::new(splits).with_output("imu.arrow");
/// println!("{} rows", request.run(&Session::new())?.rows);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReadRequest {
    splits: Vec<Split>,
    output: Option<PathBuf>,
    format: OutputFormat,
    existing: ExistingFiles,
    strictness: Strictness,
}

/// The result of a [`ReadRequest`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReadReport {
    /// The number of rows.
    pub rows: u64,
    /// For each split, the losses that reading found.
    pub losses: Vec<Findings>,
}

impl ReadRequest {
    /// Creates a request to write `splits`, whose tables must have the same columns, to
    /// standard output as a stream of Arrow IPC.
    pub fn new(splits: impl IntoIterator<Item = Split>) -> Self {
        Self {
            splits: splits.into_iter().collect(),
            output: None,
            format: OutputFormat::Arrow,
            existing: ExistingFiles::Refuse,
            strictness: Strictness::Tolerant,
        }
    }

    /// Writes the file `path`, or the object of a store with this URL.
    pub fn with_output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Sets the format: Arrow IPC, Parquet, JSON Lines or CSV. CSV has a column for each
    /// number, as splits with [flat columns](crate::PlanRequest::with_flat_columns). Parquet
    /// needs a file.
    pub fn with_format(mut self, format: OutputFormat) -> Self {
        self.format = format;
        self
    }

    /// Replaces an existing file.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets what happens if something is damaged or lost.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the splits and writes the output. An output file appears when it is complete.
    ///
    /// # Errors
    /// `InvalidRequest` if there are no splits, they have different columns, or the format
    /// cannot be written, or not to a terminal; those of [`Split::table`]; others if writing fails.
    pub fn run(&self, session: &Session) -> Result<ReadReport> {
        let format = self.table_format()?;
        let outputs = match &self.output {
            None => {
                let (name, is_text) = (self.format.name(), self.format.is_text());
                guarded_outputs::for_stdout(name, is_text, session)?
            }
            Some(path) => guarded_outputs::for_file(path, self.existing, session)?,
        };
        let mut report = ReadReport::default();
        let mut output: Option<(Table, Box<dyn TableWriter>)> = None;
        for split in &self.splits {
            let mut table = split.table(session)?;
            if self.format == OutputFormat::Csv {
                table = table.with_flattened_selection()?;
            }
            let writer = match &mut output {
                Some((first, writer)) => {
                    check_columns(first, &table, split)?;
                    writer
                }
                None => {
                    let writer = self.writer(format, &table, split, &outputs)?;
                    &mut output.insert((table.clone(), writer)).1
                }
            };
            let losses =
                write(&table, &mut **writer, &mut report.rows, self.strictness)?;
            report.losses.push(losses);
        }
        if let Some((_, writer)) = output {
            writer.finish()?;
        }
        outputs.commit()?;
        Ok(report)
    }

    /// Returns the format of the output, if it can be written.
    fn table_format(&self) -> Result<TableFormat> {
        if self.splits.is_empty() {
            return Err(Error::invalid_request("there are no splits to read"));
        }
        match self.format.kind() {
            FormatKind::Tables(format)
                if self.output.is_some() || self.format.is_stream() =>
            {
                Ok(format)
            }
            _ => Err(unsupported()),
        }
    }

    fn writer(
        &self,
        format: TableFormat,
        table: &Table,
        split: &Split,
        outputs: &Arc<Outputs>,
    ) -> Result<Box<dyn TableWriter>> {
        let topics = table.log().topics();
        let topic = table.log().manifest().topic(table.topic())?;
        let names = FileNames::new(NameStyle::Topic, topics);
        let budget = MemoryBudget::for_topics([topic]);
        let metadata = BTreeMap::from([
            ("logtool.log".to_owned(), table.log().input().file_name().to_owned()),
            ("logtool.format".to_owned(), split.format.clone()),
        ]);
        let outputs = Arc::clone(outputs);
        let sink: Box<dyn TableSink> = match format {
            TableFormat::Csv => {
                Box::new(CsvSink::new(outputs, names, CsvOptions::default()))
            }
            TableFormat::Jsonl => Box::new(JsonLinesSink::new(outputs, names)),
            TableFormat::Parquet => {
                Box::new(ParquetSink::new(outputs, names, metadata, budget))
            }
            TableFormat::Arrow => {
                Box::new(IpcSink::new(outputs, names, metadata, budget))
            }
        };
        Ok(sink.new_table(topic, &table.schema()?)?)
    }
}

fn unsupported() -> Error {
    Error::invalid_request(
        "splits are written as arrow, csv or jsonl, and as parquet to a file",
    )
}

/// Fails if the columns of `table`, which is of `split`, are not those of `first`.
fn check_columns(first: &Table, table: &Table, split: &Split) -> Result<()> {
    if first.schema()?.fields() == table.schema()?.fields() {
        return Ok(());
    }
    let message =
        format!("the split of {} has other columns than the first", split.topic);
    let error = Error::new(ErrorKind::InvalidRequest, message);
    Err(error.with_hint("read the splits of each topic to an output of their own"))
}

/// Writes the rows of `table`, adds their number to `rows`, and returns the losses.
fn write(
    table: &Table,
    writer: &mut dyn TableWriter,
    rows: &mut u64,
    strictness: Strictness,
) -> Result<Findings> {
    let log = table.log();
    let topics: TopicSet = [table.topic()].into_iter().collect();
    let mut losses = log.losses();
    losses.check(strictness)?;
    let mut batches = table.batches()?;
    for batch in &mut batches {
        let batch = batch.map_err(|err| err.with_log_name(log.name()))?;
        *rows += batch.num_rows() as u64;
        writer.write(&batch)?;
    }
    losses.add(log.manifest(), &topics, batches.damage());
    losses.check(strictness)?;
    Ok(losses)
}
