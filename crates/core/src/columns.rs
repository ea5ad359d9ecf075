//! From records to columns, as a [`Layout`] says: the decoder that all self-describing
//! formats share.
//!
//! A layout is compiled once into a tree of Arrow arrays ([`plan`]) and a flat list of
//! leaves ([`leaf`]): what is read is only ever a primitive at an offset. Payloads are
//! first put one behind the other, a few kilobytes of them, and then gathered leaf by
//! leaf: the type of a column is looked at once for many records, the inner loop is a
//! load and a store, and what it loads is near.

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
    /// Payloads that are not yet gathered, each of the length above, and how many
    /// bytes they are.
    rows: Box<[u8]>,
    filled: usize,
}

/// How many bytes of payloads are gathered at a time: as many as are near at hand.
const ROWS_BYTES: usize = 16 << 10;
/// How many bytes are copied at once, though some of them be those of the next record:
/// a copy of known length is a few instructions.
const LINE: usize = 64;

impl LayoutDecoder {
    /// A decoder of the `columns` of records that look like `layout`.
    pub fn new(layout: &Layout, columns: &Columns) -> Result<Self> {
        let mut leaves = Vec::new();
        let plan = Plan::compile(layout, columns, &mut leaves)?;
        let need = layout.size_without_padding() as usize;
        Ok(Self {
            plan,
            leaves,
            times: Vec::new(),
            need,
            rows: Box::default(),
            filled: 0,
        })
    }

    /// Adds the records of `run`, which are long enough.
    fn add(&mut self, run: Run<'_>) {
        if self.rows.is_empty() {
            self.rows = vec![0; ROWS_BYTES + self.need + LINE].into();
        }
        for (time, start) in run.starts() {
            self.times.push(time.as_nanos());
            self.copy(run.bytes(), start);
            self.filled += self.need;
            if self.filled >= ROWS_BYTES {
                self.gather();
            }
        }
    }

    /// Copies a payload, line by line, behind the others.
    #[inline]
    fn copy(&mut self, bytes: &[u8], start: usize) {
        for at in (0..self.need).step_by(LINE) {
            let from = bytes.get(start + at..).and_then(<[u8]>::first_chunk::<LINE>);
            let to = self.rows.get_mut(self.filled + at..);
            let to = to.and_then(<[u8]>::first_chunk_mut::<LINE>);
            if let (Some(from), Some(to)) = (from, to) {
                *to = *from;
                continue;
            }
            // So near the end of the block that there is no whole line.
            let rest = &bytes[start + at..start + self.need];
            self.rows[self.filled + at..][..rest.len()].copy_from_slice(rest);
            return;
        }
    }

    /// Gathers the payloads that wait for it.
    fn gather(&mut self) {
        let rows = &self.rows[..self.filled];
        if rows.is_empty() {
            return;
        }
        for leaf in &mut self.leaves {
            leaf.gather(rows, self.need);
        }
        self.filled = 0;
    }
}

impl Decoder for LayoutDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.plan.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        if run.payloads().all(|payload| payload.len() >= self.need) {
            return self.add(run);
        }
        for record in run.singles() {
            if record.payloads().all(|payload| payload.len() >= self.need) {
                self.add(record);
            } else {
                record.records().for_each(|r| r.undecodable().add_to(damage));
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.gather();
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
