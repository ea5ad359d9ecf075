//! Tables as JSON Lines: a JSON object in one line for each row.

use std::{io::Write as _, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Result, TableSink, TableWriter, Topic};

use crate::{
    files::{
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    row_formats::json::{FLUSH_BYTES, JsonRows},
    text::{infinities::Infinities, parallel_rows::format_in_parallel},
};

/// Writes one JSON Lines file for each topic. [`JsonRows`] describes their contents.
#[derive(Clone, Debug)]
pub struct JsonLinesSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    infinities: Infinities,
}

impl JsonLinesSink {
    /// Creates a sink that writes files with `names` among `outputs`.
    pub fn new(outputs: Arc<Outputs>, names: FileNames) -> Self {
        Self { outputs, names, infinities: Infinities::default() }
    }

    /// Writes infinities as specified by `infinities`.
    #[must_use]
    pub fn with_infinities(self, infinities: Infinities) -> Self {
        Self { infinities, ..self }
    }
}

impl TableSink for JsonLinesSink {
    fn new_table(&self, topic: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let file = self.outputs.create(&self.names.file_name(topic, "jsonl"))?;
        let infinities = self.infinities.clone();
        let (text, slice_texts) = (Vec::new(), Vec::new());
        Ok(Box::new(JsonLinesWriter { file, text, slice_texts, infinities }))
    }

    fn remarks(&self) -> Vec<String> {
        Infinities::remark(self.infinities.take_null_count()).into_iter().collect()
    }
}

struct JsonLinesWriter {
    file: StagedFile,
    text: Vec<u8>,
    /// Buffers for the slices of long batches.
    slice_texts: Vec<Vec<u8>>,
    infinities: Infinities,
}

impl TableWriter for JsonLinesWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { file, text, slice_texts, infinities } = self;
        let slice_infinities = infinities.clone();
        let is_written = format_in_parallel(
            batch,
            slice_texts,
            Vec::new,
            move |slice_text, slice| {
                write_lines(slice, &slice_infinities, slice_text, None)
            },
            |slice_text| {
                flush_text(text, file)?;
                flush_text(slice_text, file)
            },
        )?;
        if is_written {
            Ok(())
        } else {
            write_lines(batch, infinities, text, Some(file))
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        flush_text(&mut self.text, &mut self.file)?;
        self.file.finish()
    }
}

/// Appends the lines of `batch` to `text`. If there is a `file`, long text is written to it, even
/// in the middle of a line.
fn write_lines(
    batch: &RecordBatch,
    infinities: &Infinities,
    text: &mut Vec<u8>,
    mut file: Option<&mut StagedFile>,
) -> Result<()> {
    let rows = JsonRows::with_infinities(batch, infinities)?;
    for row in 0..rows.rows() {
        let Some(file) = &mut file else {
            rows.write_row(row, text);
            text.push(b'\n');
            continue;
        };
        rows.write_row_in_chunks(row, text, &mut |text| flush_text(text, file))?;
        text.push(b'\n');
        if text.len() >= FLUSH_BYTES {
            flush_text(text, file)?;
        }
    }
    Ok(())
}

/// Writes `text` to the file and clears it.
fn flush_text(text: &mut Vec<u8>, file: &mut StagedFile) -> Result<()> {
    file.write_all(text)?;
    text.clear();
    Ok(())
}
