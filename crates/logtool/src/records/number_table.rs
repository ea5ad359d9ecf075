//! Reads fields of a topic as numbers.

use arrow_array::{Array as _, cast::AsArray as _, types::TimestampNanosecondType};
#[cfg(feature = "geotag")]
use logtool_core::{Damage, TopicSet};

use crate::{
    error::{Error, ErrorKind, Result},
    records::{log::Log, signals::numbers_of},
    text::units::count_of,
};

/// The maximum number of rows, which take 32 MiB for the times and for each field.
const MAX_ROWS: usize = 1 << 22;

/// Fields of a topic as numbers: a time and a value of each field in each row.
pub(crate) struct NumberTable {
    /// The times in nanoseconds on the clock of the log.
    pub(crate) times: Vec<i64>,
    /// The fields that the topic has, by their names.
    columns: Vec<(String, Vec<f64>)>,
    /// The topic.
    #[cfg(feature = "geotag")]
    pub(crate) topics: TopicSet,
    /// The damage that reading found.
    #[cfg(feature = "geotag")]
    pub(crate) damage: Vec<Damage>,
}

impl NumberTable {
    /// Reads the `fields` of the topic `label`, as far as it has them. Returns `None` if the log
    /// does not have the topic or has no records in it. A row without a time is skipped.
    ///
    /// # Errors
    /// If reading fails; `Limit` if the topic has more rows than fit into memory.
    pub(crate) fn read(
        log: &Log,
        label: &str,
        fields: &[&str],
    ) -> Result<Option<Self>> {
        if !log.topics().iter().any(|topic| *topic.label() == *label) {
            return Ok(None);
        }
        let table = log.table(label)?.with_flat_columns();
        let schema = table.schema()?;
        let known = fields.iter().filter(|field| schema.index_of(field).is_ok());
        let known: Vec<String> = known.map(|field| (*field).to_owned()).collect();
        if known.is_empty() {
            return Ok(None);
        }
        let table = table.with_columns(&known)?;
        let names = table.schema()?;
        let names = names.fields().iter().skip(1).map(|field| field.name().clone());
        let mut columns: Vec<(String, Vec<f64>)> =
            names.map(|name| (name, Vec::new())).collect();
        let mut times = Vec::new();
        let mut batches = table.batches()?;
        for batch in &mut batches {
            let batch = batch?;
            let Some((first, others)) = batch.columns().split_first() else { continue };
            let Some(of) = first.as_primitive_opt::<TimestampNanosecondType>() else {
                continue;
            };
            let timed: Vec<usize> =
                (0..batch.num_rows()).filter(|row| of.is_valid(*row)).collect();
            if times.len() + timed.len() > MAX_ROWS {
                let limit = count_of(MAX_ROWS as u64, "record");
                let message = format!("{label} has more than {limit}");
                return Err(Error::new(ErrorKind::Limit, message));
            }
            times.extend(timed.iter().map(|row| of.value(*row)));
            for ((_, column), array) in columns.iter_mut().zip(others) {
                let numbers = numbers_of(array);
                let number = |row: &usize| numbers.get(*row).copied();
                column.extend(timed.iter().map(|row| number(row).unwrap_or(f64::NAN)));
            }
        }
        let is_empty = times.is_empty() && batches.damage().is_empty();
        Ok((!is_empty).then(|| Self {
            times,
            columns,
            #[cfg(feature = "geotag")]
            topics: [table.topic()].into_iter().collect(),
            #[cfg(feature = "geotag")]
            damage: batches.damage().to_vec(),
        }))
    }

    /// Returns the values of `field`, one in each row, if the topic has it.
    pub(crate) fn column(&self, field: &str) -> Option<&[f64]> {
        let column = self.columns.iter().find(|(name, _)| name == field);
        column.map(|(_, values)| values.as_slice())
    }

    /// Returns the value of `field` in `row`, or NaN if it is missing.
    #[cfg(feature = "geotag")]
    pub(crate) fn number(&self, field: &str, row: usize) -> f64 {
        self.column(field).and_then(|column| column.get(row)).map_or(f64::NAN, |n| *n)
    }
}
