//! The decoder of all formats with a [`Layout`]: from records to columns.
//!
//! A layout is compiled once into a tree of Arrow arrays ([`plan`], [`node`]) and a flat
//! list of leaves ([`leaf`]), so that decoding only reads primitives at offsets. A few
//! kilobytes of payloads are first copied next to each other, and then decoded leaf by
//! leaf. So the type of a column is inspected once for many records, the inner loop is a
//! load and a store, and the bytes are in the cache.
//!
//! If a layout contains strings and lists, their lengths shift the fields after them.
//! Such a payload is parsed with a [`program`], which finds each range of fixed size,
//! each string and each list in it. The leaves are then decoded from these pieces instead
//! of from whole payloads.

mod fixed_size_columns;
mod flat_view;
mod gather;
mod leaf;
mod node;
mod numbers;
mod plan;
mod program;
mod program_builder;
mod projection;
mod row_buffer;
mod strings;
mod value_names;
mod variable_size_columns;

use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::SchemaRef;

use crate::{
    decode::columns::{
        leaf::Leaf,
        plan::ColumnPlan,
        program::{Program, Tables},
        row_buffer::{PayloadRows, ROWS_BYTES},
    },
    error::{Error, ErrorKind, Result},
    io::decode_text::TextEncoding,
    log::{Columns, Decoder},
    model::{
        damage::{Damage, DamageKind},
        layout::{Layout, TrailingBytes},
        time::Timestamp,
    },
    record::block::{Record, Run},
};

pub use crate::decode::columns::{
    fixed_size_columns::{COUNT_KEY, count_columns},
    plan::{FIELD_NAME_KEY, TIME_UNIT_KEY, time_field},
    value_names::VALUE_NAMES_KEY,
};
pub(crate) use crate::decode::columns::{
    plan::with_field_name, projection::ColumnProjection, value_names::ValueNames,
};

/// The maximum size in bytes of variable-size payloads in one batch: an `i32` must be
/// able to count their elements, and decoding Latin-1 can double the size of a string.
const BATCH_BYTES: u64 = i32::MAX as u64;

/// A decoder of records that have a [`Layout`].
#[derive(Debug)]
pub struct LayoutDecoder {
    plan: ColumnPlan,
    leaves: Vec<Leaf>,
    times: Vec<i64>,
    payloads: PendingPayloads,
    /// The strings of fixed length in a payload.
    texts: Vec<Range<usize>>,
}

/// The payloads that are not yet decoded.
#[derive(Debug)]
enum PendingPayloads {
    /// Payloads of fixed size with a length in this range. A longer payload is a row with extra
    /// bytes if `keeps_longer`.
    Fixed { rows: PayloadRows, lengths: RangeInclusive<usize>, keeps_longer: bool },
    /// Payloads of variable size.
    Variable(ParsedPayloads),
}

/// Concatenated payloads, and the pieces found in them.
#[derive(Debug)]
struct ParsedPayloads {
    program: Program,
    bytes: Vec<u8>,
    tables: Tables,
    /// An upper bound of the size of the batch's columns in bytes.
    max_column_bytes: u64,
}

impl LayoutDecoder {
    /// Creates a decoder for the selected `columns` of records with this `layout`.
    ///
    /// # Errors
    /// `Limit` if there are too many columns, and `NoSuch` if a selected column does not
    /// exist.
    pub fn new(layout: &Layout, columns: &Columns) -> Result<Self> {
        let mut leaves = Vec::new();
        let (plan, program) = ColumnPlan::compile(layout, columns, &mut leaves)?;
        let payloads = if layout.is_fixed() {
            let (size, min_len) =
                (layout.size as usize, layout.size_without_padding() as usize);
            let trailing_bytes = layout.record_properties.trailing_bytes;
            let lengths = match trailing_bytes {
                TrailingBytes::Any => min_len..=usize::MAX,
                TrailingBytes::Nothing => size..=size,
                TrailingBytes::Padding => min_len..=size,
            };
            PendingPayloads::Fixed {
                rows: PayloadRows::new(*lengths.start()),
                lengths,
                keeps_longer: trailing_bytes == TrailingBytes::Nothing,
            }
        } else {
            let (bytes, tables) = (Vec::new(), Tables::for_program(&program));
            PendingPayloads::Variable(ParsedPayloads {
                program,
                bytes,
                tables,
                max_column_bytes: 0,
            })
        };
        let mut texts = Vec::new();
        layout.add_texts(0, &mut texts);
        Ok(Self { plan, leaves, times: Vec::new(), payloads, texts })
    }

    /// Reports the records of `run` with strings of fixed length that are not UTF-8.
    fn report_texts(&self, run: Run<'_>, damage: &mut Vec<Damage>) {
        if self.texts.is_empty() {
            return;
        }
        for record in run.records() {
            let texts = self.texts.iter().filter_map(|text| {
                let chars = record.payload.get(text.clone())?;
                (!chars.is_ascii()).then(|| TextEncoding::detect(up_to_nul(chars)))
            });
            if let Some(kind) = texts.max().and_then(TextEncoding::damage_kind) {
                record.undecodable_damage().with_kind(kind).add_to(damage);
            }
        }
    }

    /// Decodes the collected payloads.
    fn decode_pending(&mut self) {
        match &mut self.payloads {
            PendingPayloads::Fixed { rows, .. } => {
                if let Some((bytes, stride)) = rows.get() {
                    for leaf in &mut self.leaves {
                        leaf.decode_payloads(bytes, stride);
                    }
                }
                rows.clear();
            }
            PendingPayloads::Variable(parsed) => {
                for leaf in &mut self.leaves {
                    leaf.decode_pieces(&parsed.bytes, &parsed.tables);
                }
                parsed.bytes.clear();
                parsed.tables.clear();
            }
        }
    }

    /// Adds the records of `run`, whose sizes were checked.
    fn add(&mut self, run: Run<'_>) {
        for (time, start) in run.payload_starts() {
            let PendingPayloads::Fixed { rows, .. } = &mut self.payloads else {
                return;
            };
            self.times.push(time.as_nanos());
            if rows.add(run, start) {
                self.decode_pending();
            }
        }
    }

    /// Adds the records of `run` whose payloads have one of these `lengths`. A longer payload has
    /// extra bytes if `keeps_longer`.
    fn append_fixed_size(
        &mut self,
        run: Run<'_>,
        lengths: &RangeInclusive<usize>,
        keeps_longer: bool,
        damage: &mut Vec<Damage>,
    ) {
        let has_valid_len = |payload: &[u8]| lengths.contains(&payload.len());
        if run.payloads().all(has_valid_len) {
            self.report_texts(run, damage);
            return self.add(run);
        }
        for single in run.single_record_runs() {
            for record in single.records() {
                if !has_valid_len(record.payload) {
                    match record.payload.len().checked_sub(*lengths.end()) {
                        Some(extra_bytes @ 1..) if keeps_longer => {
                            record.extra_bytes_damage(extra_bytes).add_to(damage);
                        }
                        _ => {
                            record.undecodable_damage().add_to(damage);
                            continue;
                        }
                    }
                }
                self.report_texts(single, damage);
                self.add(single);
            }
        }
    }

    /// Adds a record, if the program can parse it. Returns the encoding of its strings
    /// and the number of extra bytes.
    fn append_variable_size(
        &mut self,
        record: Record<'_>,
    ) -> Result<(TextEncoding, usize), DamageKind> {
        let mut payload = record.payload;
        // A payload that fills a batch is decoded without a copy.
        let fills_batch = payload.len() >= ROWS_BYTES;
        if fills_batch {
            self.decode_pending();
        }
        let PendingPayloads::Variable(parsed) = &mut self.payloads else {
            return Ok((TextEncoding::Utf8, 0));
        };
        let ParsedPayloads { program, bytes, tables, max_column_bytes } = parsed;
        let remaining_bytes = BATCH_BYTES.saturating_sub(*max_column_bytes);
        let Some(summary) = program.parse(payload, bytes.len(), tables) else {
            tables.remove_last_payload();
            return Err(DamageKind::Undecodable);
        };
        if summary.max_column_bytes > remaining_bytes {
            tables.remove_last_payload();
            return Err(DamageKind::OverLimit);
        }
        *max_column_bytes += summary.max_column_bytes;
        let text_encoding = summary.text_encoding;
        let extra_bytes = match program.trailing_bytes {
            TrailingBytes::Any | TrailingBytes::Padding => 0,
            TrailingBytes::Nothing => payload.len() - summary.fields_len,
        };
        payload = payload.get(..summary.fields_len).unwrap_or(payload);
        self.times.push(record.time.as_nanos());
        if fills_batch {
            for leaf in &mut self.leaves {
                leaf.decode_pieces(payload, tables);
            }
            tables.clear();
            return Ok((text_encoding, extra_bytes));
        }
        bytes.extend_from_slice(payload);
        if bytes.len() >= ROWS_BYTES {
            self.decode_pending();
        }
        Ok((text_encoding, extra_bytes))
    }
}

impl Decoder for LayoutDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.plan.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        match self.payloads {
            PendingPayloads::Fixed { ref lengths, keeps_longer, .. } => {
                let lengths = lengths.clone();
                self.append_fixed_size(run, &lengths, keeps_longer, damage);
            }
            PendingPayloads::Variable(_) => {
                for record in run.records() {
                    let damage_of_kind =
                        |kind| record.undecodable_damage().with_kind(kind);
                    match self.append_variable_size(record) {
                        Ok((text_encoding, extra_bytes)) => {
                            if let Some(kind) = text_encoding.damage_kind() {
                                damage_of_kind(kind).add_to(damage);
                            }
                            if extra_bytes > 0 {
                                record.extra_bytes_damage(extra_bytes).add_to(damage);
                            }
                        }
                        Err(kind) => damage_of_kind(kind).add_to(damage),
                    }
                }
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.decode_pending();
        if let PendingPayloads::Variable(parsed) = &mut self.payloads {
            parsed.max_column_bytes = 0;
        }
        let rows = self.times.len();
        let times = time_array(gather::take(&mut self.times));
        let leaves: Vec<ArrayRef> = self.leaves.iter_mut().map(Leaf::take).collect();
        let mut columns = vec![times];
        for node in &self.plan.nodes {
            columns.push(node.build(&leaves, rows)?);
        }
        RecordBatch::try_new(self.plan.schema.clone(), columns).map_err(into_error)
    }

    fn discard_rows(&mut self) -> Result<()> {
        if !self.leaves.is_empty() {
            return self.take().map(drop);
        }
        self.decode_pending();
        if let PendingPayloads::Variable(parsed) = &mut self.payloads {
            parsed.max_column_bytes = 0;
        }
        discard_times(&mut self.times);
        Ok(())
    }
}

/// Returns the part of `chars` before the first NUL.
pub(crate) fn up_to_nul(chars: &[u8]) -> &[u8] {
    chars.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Clears `times`, and keeps up to one megabyte of its memory.
pub fn discard_times(times: &mut Vec<i64>) {
    times.clear();
    times.shrink_to((1 << 20) / size_of::<i64>());
}

/// Creates a time column from nanoseconds. [`Timestamp::MAX`] becomes null.
pub fn time_array(nanos: Vec<i64>) -> ArrayRef {
    let is_unknown = |nanos: &i64| *nanos == Timestamp::MAX.as_nanos();
    // Folding without short-circuiting lets the compiler vectorize the loop.
    let has_unknown = |times: &[i64]| {
        times.iter().fold(false, |any_unknown, time| any_unknown | is_unknown(time))
    };
    let nulls: Option<NullBuffer> = if nanos.chunks(64).any(has_unknown) {
        Some(nanos.iter().map(|time| !is_unknown(time)).collect())
    } else {
        None
    };
    Arc::new(TimestampNanosecondArray::new(ScalarBuffer::from(nanos), nulls))
}

pub(crate) fn into_error(err: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
}

#[cfg(test)]
mod tests;
