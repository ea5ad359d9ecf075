//! Reads the rows of some row groups.

use std::{ops::Range, sync::Arc, vec};

use arrow_array::RecordBatch;
use arrow_row::RowConverter;
use logtool_core::{
    Block, Cursor, Damage, DamageKind, Error, ErrorKind, Result, Selection, Timestamp,
    TopicId,
};

use crate::{
    parquet::{
        footer::RowGroup,
        open_file::{OpenFile, RowBatches},
        times::nanos_of,
    },
    time_column::TimeColumn,
};

/// The only topic.
const TOPIC: TopicId = TopicId(0);

/// Reads the rows of some row groups.
pub(super) struct RowCursor {
    file: Arc<OpenFile>,
    time: TimeColumn,
    selection: Selection,
    groups: vec::IntoIter<RowGroup>,
    /// The row group that is being read.
    current: Option<(RowGroup, RowBatches)>,
    /// The converter of columns to payloads; `None` if the time column is the only column.
    converter: Option<RowConverter>,
}

impl RowCursor {
    pub(super) fn new(
        file: Arc<OpenFile>,
        time: TimeColumn,
        groups: Vec<RowGroup>,
        converter: Option<RowConverter>,
        selection: Selection,
    ) -> Self {
        let groups = groups.into_iter();
        Self { file, time, selection, groups, current: None, converter }
    }

    /// Adds the rows of `batch`, which belongs to `group`, to `block`.
    fn add(
        &self,
        batch: &RecordBatch,
        group: &RowGroup,
        block: &mut Block,
    ) -> Result<()> {
        let inconsistent = || Error::new(ErrorKind::Malformed, "inconsistent columns");
        let mut columns = batch.columns().to_vec();
        if self.time.index >= columns.len() {
            return Err(inconsistent());
        }
        let times = nanos_of(&columns.remove(self.time.index), self.time.unit);
        let rows = match &self.converter {
            Some(converter) => Some(
                converter
                    .convert_columns(&columns)
                    .map_err(|err| inconsistent().with_source(err))?,
            ),
            None => None,
        };
        let (mut bytes, mut entries): (Vec<u8>, Vec<(Timestamp, Range<usize>)>) =
            Default::default();
        let mut untimed = 0;
        for (row, nanos) in times.iter().enumerate() {
            let Some(nanos) = nanos else {
                untimed += 1;
                continue;
            };
            let time = Timestamp::from_nanos(*nanos);
            if !self.selection.contains(TOPIC, time) {
                continue;
            }
            let start = bytes.len();
            if let Some(rows) = &rows {
                bytes.extend_from_slice(rows.row(row).data());
            }
            entries.push((time, start..bytes.len()));
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::Limit, "rows of over 4 GiB"));
        }
        block.reset_decompressed(bytes.into(), group.bytes.start);
        for (time, payload) in entries {
            block.push(TOPIC, time, payload);
        }
        if untimed > 0 {
            block.report(untimed_rows(group, untimed, &self.time));
        }
        Ok(())
    }
}

impl Cursor for RowCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let (group, mut batches) = match self.current.take() {
            Some(current) => current,
            None => {
                let Some(group) = self.groups.next() else { return Ok(false) };
                match self.file.batches(&group, None) {
                    Ok(batches) => (group, batches),
                    Err(err) => return report(err, &group, group.rows, block),
                }
            }
        };
        let remaining = batches.remaining();
        let batch = match batches.next() {
            Ok(batch) => batch,
            Err(err) => return report(err, &group, remaining, block),
        };
        match batch {
            Some(batch) => {
                if let Err(err) = self.add(&batch, &group, block) {
                    return report(err, &group, remaining, block);
                }
                self.current = Some((group, batches));
            }
            None if remaining > 0 => {
                let message = "a row group with fewer rows than the footer states";
                let err = Error::new(ErrorKind::Malformed, message);
                return report(err, &group, remaining, block);
            }
            None => block.reset_decompressed(bytes::Bytes::new(), group.bytes.start),
        }
        Ok(true)
    }
}

/// Reports that the last `rows` rows of `group` cannot be read, unless the source failed.
fn report(err: Error, group: &RowGroup, rows: u64, block: &mut Block) -> Result<bool> {
    if err.kind() == ErrorKind::Io {
        return Err(err);
    }
    block.reset_decompressed(bytes::Bytes::new(), group.bytes.start);
    block.report(lost_rows(&err, group, rows));
    Ok(true)
}

/// Returns the damage of the last `rows` rows of `group`, which cannot be read because of `err`.
pub(super) fn lost_rows(err: &Error, group: &RowGroup, rows: u64) -> Damage {
    let kind = match err.kind() {
        ErrorKind::Limit => DamageKind::OverLimit,
        _ => DamageKind::Garbled,
    };
    let mut reason = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(cause) = source {
        reason = format!("{reason}: {cause}");
        source = cause.source();
    }
    Damage::new(kind, group.bytes.clone())
        .with_records(rows, Some(TOPIC))
        .with_reason(reason)
}

/// Returns the damage of `rows` rows of `group` that have no time.
pub(super) fn untimed_rows(group: &RowGroup, rows: u64, time: &TimeColumn) -> Damage {
    Damage::new(DamageKind::Garbled, group.bytes.clone())
        .with_lost_bytes(0)
        .with_records(rows, Some(TOPIC))
        .with_reason(format!("without a time in the column `{}`", time.name))
}
