//! A decoder of topics with an unknown type: the payloads become a binary column.

use std::sync::Arc;

use arrow_array::{RecordBatch, builder::BinaryBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{
    decode::columns::{discard_times, time_array, time_field},
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder},
    model::{damage::Damage, time::Timestamp},
    record::block::Run,
};

/// Returns the columns of a topic with an unknown type: `time` and `payload`. `unit` is
/// the unit of times in the format: `us` or `ns`.
pub fn raw_schema(unit: &str) -> SchemaRef {
    let payload = Field::new("payload", DataType::Binary, false);
    Arc::new(Schema::new(vec![time_field("time", unit), payload]))
}

/// Returns whether `schema` is a [`raw_schema`].
pub(crate) fn is_raw(schema: &Schema) -> bool {
    let [_, payload] = &schema.fields()[..] else { return false };
    payload.name() == "payload"
        && payload.data_type() == &DataType::Binary
        && !payload.is_nullable()
}

/// A decoder that returns payloads as binary data.
#[derive(Debug)]
pub struct RawDecoder {
    schema: SchemaRef,
    times: Vec<i64>,
    payloads: Option<BinaryBuilder>,
    header_len: usize,
}

impl RawDecoder {
    /// Creates a decoder for the selected `columns` of [`raw_schema`].
    ///
    /// # Errors
    /// `NoSuch` if another column is selected.
    pub fn new(unit: &str, columns: &Columns) -> Result<Self> {
        let indices = columns.indices.as_deref();
        if indices.is_some_and(|indices| indices.iter().any(|index| *index > 1)) {
            return Err(Error::new(ErrorKind::NoSuch, "a raw topic has two columns"));
        }
        let has_payload = indices.is_none_or(|indices| indices.contains(&1));
        let schema = if has_payload {
            raw_schema(unit)
        } else {
            Arc::new(Schema::new(vec![time_field("time", unit)]))
        };
        let payloads = has_payload.then(BinaryBuilder::new);
        Ok(Self { schema, times: Vec::new(), payloads, header_len: 0 })
    }

    /// Skips the first `header_len` bytes of each payload, see
    /// [`Topic::header_len`](crate::Topic::header_len).
    #[must_use]
    pub fn without_header(self, header_len: u32) -> Self {
        Self { header_len: header_len as usize, ..self }
    }
}

impl Decoder for RawDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, _: &mut Vec<Damage>) {
        self.times.extend(run.times().map(Timestamp::as_nanos));
        if let Some(payloads) = &mut self.payloads {
            for payload in run.payloads() {
                payloads
                    .append_value(payload.get(self.header_len..).unwrap_or_default());
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let mut columns = vec![time_array(std::mem::take(&mut self.times))];
        if let Some(payloads) = &mut self.payloads {
            columns.push(Arc::new(payloads.finish()));
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }

    fn discard_rows(&mut self) -> Result<()> {
        match self.payloads {
            Some(_) => self.take().map(drop),
            None => {
                discard_times(&mut self.times);
                Ok(())
            }
        }
    }
}
