//! From records to columns, as a [`Layout`] says: the decoder that all self-describing
//! formats share.
//!
//! A layout is compiled once into a tree of Arrow arrays ([`plan`]) and a flat list of
//! leaves ([`leaf`]): what is read is only ever a primitive at an offset. A run of
//! records is then gathered leaf by leaf, so that the type of a column is looked at
//! once per run and the inner loop is a load and a store.

mod leaf;
mod plan;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::SchemaRef;

use crate::{
    block::Run,
    columns::{leaf::Leaf, plan::Plan},
    damage::Damage,
    error::{Error, ErrorKind, Result},
    layout::Layout,
    log::{Columns, Decoder},
    time::Timestamp,
};

pub use crate::columns::plan::{TIME_UNIT, time_field};

/// Decodes records that look like a [`Layout`].
#[derive(Debug)]
pub struct LayoutDecoder {
    plan: Plan,
    leaves: Vec<Leaf>,
    times: Vec<i64>,
    /// How long a payload has to be.
    need: usize,
}

impl LayoutDecoder {
    /// A decoder of the `columns` of records that look like `layout`.
    pub fn new(layout: &Layout, columns: &Columns) -> Result<Self> {
        let mut leaves = Vec::new();
        let plan = Plan::compile(layout, columns, &mut leaves)?;
        let need = layout.size_without_padding() as usize;
        Ok(Self { plan, leaves, times: Vec::new(), need })
    }

    fn gather(&mut self, run: Run<'_>) {
        self.times.extend(run.times().map(Timestamp::as_nanos));
        for leaf in &mut self.leaves {
            leaf.gather(run);
        }
    }
}

impl Decoder for LayoutDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.plan.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        if run.payloads().all(|payload| payload.len() >= self.need) {
            return self.gather(run);
        }
        for record in run.singles() {
            if record.payloads().all(|payload| payload.len() >= self.need) {
                self.gather(record);
            } else {
                record.records().for_each(|r| r.undecodable().add_to(damage));
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let times = time_array(leaf::take(&mut self.times));
        let leaves: Vec<ArrayRef> = self.leaves.iter_mut().map(Leaf::take).collect();
        let mut columns = vec![times];
        for node in &self.plan.nodes {
            columns.push(node.build(&leaves)?);
        }
        RecordBatch::try_new(self.plan.schema.clone(), columns).map_err(into_error)
    }
}

/// A time column; times that cannot be told are null.
pub fn time_array(nanos: Vec<i64>) -> ArrayRef {
    let untold = |nanos: &i64| *nanos == Timestamp::MAX.as_nanos();
    let nulls = nanos
        .iter()
        .any(untold)
        .then(|| nanos.iter().map(|nanos| !untold(nanos)).collect::<NullBuffer>());
    Arc::new(TimestampNanosecondArray::new(ScalarBuffer::from(nanos), nulls))
}

fn into_error(err: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Malformed, "columns that are no table").from_source(err)
}

#[cfg(test)]
mod tests;
