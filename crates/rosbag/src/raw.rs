//! Records of topics of which the type is not known: their bytes, as they are.

use std::sync::Arc;

use arrow_array::{RecordBatch, builder::BinaryBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, Decoder, Error, ErrorKind, Result, Run, Timestamp, time_array,
    time_field,
};

/// The columns of records of which nothing is known but their bytes.
pub(crate) fn raw_schema() -> SchemaRef {
    let payload = Field::new("payload", DataType::Binary, false);
    Arc::new(Schema::new(vec![time_field("time", "ns"), payload]))
}

/// Gives the bytes of records.
#[derive(Debug)]
pub(crate) struct RawDecoder {
    schema: SchemaRef,
    times: Vec<i64>,
    payloads: Option<BinaryBuilder>,
}

impl RawDecoder {
    pub(crate) fn new(columns: &Columns) -> Result<Self> {
        let only = columns.only.as_deref();
        if only.is_some_and(|only| only.iter().any(|index| *index > 1)) {
            return Err(Error::new(ErrorKind::NoSuch, "a raw topic has two columns"));
        }
        let wants_payload = only.is_none_or(|only| only.contains(&1));
        let schema = match wants_payload {
            true => raw_schema(),
            false => Arc::new(Schema::new(vec![time_field("time", "ns")])),
        };
        let payloads = wants_payload.then(BinaryBuilder::new);
        Ok(Self { schema, times: Vec::new(), payloads })
    }
}

impl Decoder for RawDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, _: &mut Vec<Damage>) {
        self.times.extend(run.times().map(Timestamp::as_nanos));
        if let Some(payloads) = &mut self.payloads {
            run.payloads().for_each(|payload| payloads.append_value(payload));
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
            Error::new(ErrorKind::Malformed, "columns that are no table")
                .from_source(err)
        })
    }
}
