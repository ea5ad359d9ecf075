//! The index table of the files of scans.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, RecordBatch, StringArray, TimestampNanosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{Result, TableSink as _, TableWriter, Topic, time_field};

use crate::{
    CsvOptions, CsvSink, FileNames, Outputs, error::from_arrow, points::file::Points,
};

/// A file of a scan, which is a row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanFile {
    pub(crate) scan: u32,
    pub(crate) file: String,
    pub(crate) points: u64,
    /// Whether some points of the scan are missing.
    pub(crate) is_partial: bool,
    /// The earliest and the latest time of its points.
    pub(crate) time_span: Option<(i64, i64)>,
}

/// The table `index.csv` in the folder of the files, with a row for each file.
pub(crate) struct ScanIndex {
    writer: Box<dyn TableWriter>,
    schema: SchemaRef,
    has_partial_column: bool,
}

impl ScanFile {
    /// Adds `points`, which have these times.
    pub(crate) fn add(&mut self, points: &Points, times: Option<&[Option<i64>]>) {
        self.points += points.count as u64;
        for time in times.into_iter().flatten().flatten() {
            let (earliest, latest) = self.time_span.unwrap_or((*time, *time));
            self.time_span = Some((earliest.min(*time), latest.max(*time)));
        }
    }
}

impl ScanIndex {
    /// Starts the table for the files of `topic`, whose times have the type `time_type`. If
    /// `has_partial_column`, a column states which files are partial.
    pub(crate) fn new(
        outputs: &Arc<Outputs>,
        names: &FileNames,
        topic: &Topic,
        time_type: Option<DataType>,
        has_partial_column: bool,
    ) -> Result<Self> {
        let nullable_time = |name| {
            let field = time_field(name, "ns").with_nullable(true);
            match &time_type {
                Some(time_type) => field.with_data_type(time_type.clone()),
                None => field,
            }
        };
        let mut fields = vec![
            nullable_time("time"),
            nullable_time("end"),
            Field::new("scan", DataType::UInt32, false),
            Field::new("points", DataType::UInt64, false),
            Field::new("file", DataType::Utf8, false),
        ];
        if has_partial_column {
            fields.push(Field::new("partial", DataType::Boolean, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let options = CsvOptions::default();
        let sink = CsvSink::new(outputs.clone(), names.clone(), options);
        let writer = sink.new_table(topic, &schema)?;
        Ok(Self { writer, schema, has_partial_column })
    }

    /// Appends the row of a file.
    pub(crate) fn add(&mut self, scan_file: &ScanFile) -> Result<()> {
        let time = |index: usize, nanos: Option<i64>| -> ArrayRef {
            let times = TimestampNanosecondArray::from(vec![nanos]);
            match self.schema.field(index).data_type() {
                DataType::Timestamp(_, Some(zone)) => {
                    Arc::new(times.with_timezone(zone.clone()))
                }
                _ => Arc::new(times),
            }
        };
        let mut columns: Vec<ArrayRef> = vec![
            time(0, scan_file.time_span.map(|(earliest, _)| earliest)),
            time(1, scan_file.time_span.map(|(_, latest)| latest)),
            Arc::new(UInt32Array::from(vec![scan_file.scan])),
            Arc::new(UInt64Array::from(vec![scan_file.points])),
            Arc::new(StringArray::from(vec![scan_file.file.as_str()])),
        ];
        if self.has_partial_column {
            columns.push(Arc::new(BooleanArray::from(vec![scan_file.is_partial])));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        self.writer.write(&batch.map_err(from_arrow)?)
    }

    /// Completes the table.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
