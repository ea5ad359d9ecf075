//! The table of the images of a topic.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch, TimestampNanosecondArray,
    builder::{StringBuilder, UInt32Builder},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use logtool_core::{
    Error, ErrorKind, Result, TableSink, TableWriter, TimeBase, Topic, time_array,
    time_field,
};

use crate::jobs::convert::images::image_file::ImageFile;

/// A table with a row for each image.
pub(super) struct ImageTable {
    writer: Box<dyn TableWriter>,
    schema: SchemaRef,
    time: TimeBase,
    times: Vec<i64>,
    stamps: Vec<i64>,
    /// The file, its encoding, and the frame of the camera.
    texts: [StringBuilder; 3],
    /// Width and height.
    size: [UInt32Builder; 2],
}

/// Up to this many rows are buffered.
const MAX_ROWS: usize = 1024;

impl ImageTable {
    /// Creates the table of `topic` in `sink`.
    pub(super) fn new(
        sink: &dyn TableSink,
        topic: &Topic,
        time: TimeBase,
    ) -> Result<Self> {
        let stamp = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let schema = Arc::new(Schema::new(vec![
            time_field("time", "ns"),
            Field::new("stamp", stamp, false),
            Field::new("file", DataType::Utf8, false),
            Field::new("width", DataType::UInt32, true),
            Field::new("height", DataType::UInt32, true),
            Field::new("encoding", DataType::Utf8, false),
            Field::new("frame_id", DataType::Utf8, false),
        ]));
        let writer = sink.new_table(topic, &time.schema(&schema))?;
        Ok(Self {
            writer,
            schema,
            time,
            times: Vec::new(),
            stamps: Vec::new(),
            texts: Default::default(),
            size: Default::default(),
        })
    }

    /// Adds the row of `image`, which is in `file`.
    pub(super) fn add(&mut self, image: &ImageFile, file: &str) -> Result<()> {
        self.times.push(image.time.as_nanos());
        self.stamps.push(image.stamp.as_nanos());
        let texts = [file, &image.encoding, &image.frame_id];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.append_value(text);
        }
        let size = image.size.map(|(width, height)| [width, height]);
        for (index, column) in self.size.iter_mut().enumerate() {
            column.append_option(size.and_then(|size| size.get(index).copied()));
        }
        if self.times.len() < MAX_ROWS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let times = time_array(std::mem::take(&mut self.times));
        let stamps = TimestampNanosecondArray::from(std::mem::take(&mut self.stamps));
        let [file, encoding, frame_id] = self
            .texts
            .each_mut()
            .map(|column| -> ArrayRef { Arc::new(column.finish()) });
        let [width, height] = self
            .size
            .each_mut()
            .map(|column| -> ArrayRef { Arc::new(column.finish()) });
        let columns = vec![
            times,
            Arc::new(stamps) as ArrayRef,
            file,
            width,
            height,
            encoding,
            frame_id,
        ];
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(|err| {
                Error::new(ErrorKind::Malformed, "inconsistent columns")
                    .with_source(err)
            })?;
        let schema = self.time.schema(&self.schema);
        self.writer.write(&self.time.apply(batch, &schema)?)
    }

    /// Writes the buffered rows, and finishes the table.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.finish()
    }
}
