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
    row_formats::json::{JsonRows, PIECE_BYTES},
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
    fn table(&self, topic: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "jsonl"))?;
        let infinities = self.infinities.clone();
        let (text, slice_texts) = (Vec::new(), Vec::new());
        Ok(Box::new(JsonLinesWriter { staged, text, slice_texts, infinities }))
    }

    fn remarks(&self) -> Vec<String> {
        Infinities::remark(self.infinities.take_nulls()).into_iter().collect()
    }
}

struct JsonLinesWriter {
    staged: StagedFile,
    text: Vec<u8>,
    /// Buffers for the slices of long batches.
    slice_texts: Vec<Vec<u8>>,
    infinities: Infinities,
}

impl TableWriter for JsonLinesWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { staged, text, slice_texts, infinities } = self;
        let of_slices = infinities.clone();
        let is_written = format_in_parallel(
            batch,
            slice_texts,
            Vec::new,
            move |text, slice| write(slice, &of_slices, text, None),
            |lines| {
                flush_text(text, staged)?;
                flush_text(lines, staged)
            },
        )?;
        if is_written { Ok(()) } else { write(batch, infinities, text, Some(staged)) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        flush_text(&mut self.text, &mut self.staged)?;
        self.staged.finish()
    }
}

/// Appends the lines of `batch` to `text`. With `staged`, long text is written there, also in
/// the middle of a line.
fn write(
    batch: &RecordBatch,
    infinities: &Infinities,
    text: &mut Vec<u8>,
    mut staged: Option<&mut StagedFile>,
) -> Result<()> {
    let rows = JsonRows::with_infinities(batch, infinities)?;
    for row in 0..rows.rows() {
        let Some(staged) = &mut staged else {
            rows.write_row(row, text);
            text.push(b'\n');
            continue;
        };
        rows.write_row_in_pieces(row, text, &mut |text| flush_text(text, staged))?;
        text.push(b'\n');
        if text.len() >= PIECE_BYTES {
            flush_text(text, staged)?;
        }
    }
    Ok(())
}

/// Writes `text` to the file and clears it.
fn flush_text(text: &mut Vec<u8>, staged: &mut StagedFile) -> Result<()> {
    staged.write_all(text)?;
    text.clear();
    Ok(())
}
