//! Tables as JSON Lines: a JSON object for each row, one in a line.

use std::{io::Write as _, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Result, TableSink, TableWriter, Topic};

use crate::{
    file_name::FileNames,
    json::JsonRows,
    staged::{Outputs, Staged},
};

/// Writes JSON Lines files: one a topic. See [`JsonRows`] for what is in them.
#[derive(Clone, Debug)]
pub struct JsonLinesSink {
    outputs: Arc<Outputs>,
    names: FileNames,
}

impl JsonLinesSink {
    /// Writes files called `names` among `outputs`.
    pub fn new(outputs: Arc<Outputs>, names: FileNames) -> Self {
        Self { outputs, names }
    }
}

impl TableSink for JsonLinesSink {
    fn table(&self, topic: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let staged = self.outputs.create(&self.names.file_name(topic, "jsonl"))?;
        Ok(Box::new(JsonLinesWriter { staged, text: Vec::new() }))
    }
}

struct JsonLinesWriter {
    staged: Staged,
    text: Vec<u8>,
}

/// Text is written when there is so much of it.
const PIECE_BYTES: usize = 64 << 10;

impl TableWriter for JsonLinesWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = JsonRows::new(batch)?;
        for row in 0..rows.rows() {
            rows.write_row(row, &mut self.text);
            self.text.push(b'\n');
            if self.text.len() >= PIECE_BYTES {
                self.staged.write_all(&self.text)?;
                self.text.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.staged.write_all(&self.text)?;
        self.staged.finish()
    }
}
