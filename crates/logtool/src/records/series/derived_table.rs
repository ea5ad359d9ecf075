//! Tables of derived series.

use std::{collections::HashSet, str::FromStr, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, Log, Manifest, TimeBase, TimeRange, Topic, TopicOrigin, TopicSet,
    View,
};
use logtool_series::Series;

use crate::{
    error::{Error, Result},
    records::{
        series::prepared_series::{PreparedSeries, read},
        signals::SignalFinder,
    },
};

/// The number of rows in a batch.
const BATCH_ROWS: usize = 1 << 16;

/// The name of the only column of values.
const VALUE: &str = "value";

/// A series with a name, which becomes a table: `yaw=deg(yaw(vehicle_attitude.q))`.
///
/// ```
/// use logtool::series::Derivation;
///
/// let derivation: Derivation = "yaw=deg(yaw(vehicle_attitude.q))".parse()?;
/// assert_eq!(derivation.name, "yaw");
/// assert!("deg(x)".parse::<Derivation>().is_err());
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Derivation {
    /// The name of the table: letters, digits, `_` and `-`.
    pub name: String,
    /// The expression.
    pub expression: String,
}

impl FromStr for Derivation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('=');
        let is_name = |name: &str| {
            let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            !name.is_empty() && name.chars().all(is_of_name)
        };
        match parts.map(|(name, expression)| (name.trim(), expression.trim())) {
            Some((name, expression)) if is_name(name) && !expression.is_empty() => {
                Ok(Self { name: name.to_owned(), expression: expression.to_owned() })
            }
            _ => {
                let message = format!("`{text}` is not a name and an expression");
                Err(Error::invalid_request(message)
                    .with_hint("as in yaw='deg(yaw(vehicle_attitude.q))'"))
            }
        }
    }
}

/// Tables of derived series, whose fields were found in a log.
pub struct DerivedTables {
    tables: Vec<DerivedTable>,
}

struct DerivedTable {
    topic: Topic,
    series: PreparedSeries,
}

/// Returns those of `patterns` of topics that are not the names of `derived` tables, which are
/// always selected. Returns `None` if there are only such names, so that no topic of the log is
/// selected.
pub fn patterns_of_topics(
    patterns: &[String],
    derived: &[Derivation],
) -> Option<Vec<String>> {
    let is_derived = |pattern: &&String| {
        derived.iter().any(|derivation| derivation.name == **pattern)
    };
    let others: Vec<String> =
        patterns.iter().filter(|pattern| !is_derived(pattern)).cloned().collect();
    (patterns.is_empty() || !others.is_empty()).then_some(others)
}

impl DerivedTables {
    /// Finds the fields of `derivations` in `log`.
    ///
    /// # Errors
    /// `InvalidRequest` if an expression is wrong, or a name is used twice; `NotFound` if a field
    /// does not exist.
    pub fn new(log: &dyn Log, derivations: &[Derivation]) -> Result<Self> {
        let manifest = log.manifest();
        let mut tables: Vec<DerivedTable> = Vec::new();
        let names = manifest.topics.iter().map(|topic| topic.name.as_str());
        let mut used_names: HashSet<&str> = names.collect();
        let finder = SignalFinder::new(log);
        for derivation in derivations {
            let name = &derivation.name;
            if !used_names.insert(name) {
                let message = format!("there is a topic `{name}` already");
                return Err(
                    Error::invalid_request(message).with_hint("choose another name")
                );
            }
            let series = PreparedSeries::with_finder(&finder, &derivation.expression)?;
            let schema = schema(log, &series)?;
            let topic = Topic {
                origin: TopicOrigin::Derived,
                encoding: manifest.format.clone(),
                ..Topic::new(name, schema)
            };
            tables.push(DerivedTable { topic, series });
        }
        Ok(Self { tables })
    }

    /// Returns the topics of the tables, with the names and columns. They are not in the log.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.tables.iter().map(|table| &table.topic)
    }

    /// Returns the topics of the log with the fields.
    pub fn source_topics(&self, manifest: &Manifest) -> TopicSet {
        let mut sources = TopicSet::EMPTY;
        self.tables.iter().for_each(|table| sources.extend(&table.series.topics()));
        manifest.topics().map(|(id, _)| id).filter(|id| sources.contains(*id)).collect()
    }

    /// Computes the tables from the records within `time`, with times on the clock `base`.
    /// Returns their batches, in the order of the tables, and the damage.
    ///
    /// # Errors
    /// If reading fails, or an argument of an expression does not suit the values.
    pub fn read(
        &self,
        log: &dyn Log,
        time: TimeRange,
        base: TimeBase,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Vec<Vec<RecordBatch>>, Vec<Damage>)> {
        let all_series: Vec<PreparedSeries> =
            self.tables.iter().map(|table| table.series.clone()).collect();
        let computed = read(log, &all_series, time, progress)?;
        let tables = self.tables.iter().zip(computed.series);
        let batches = tables.map(|(table, computed)| {
            batches(&computed.series, &table.topic.schema, base)
        });
        Ok((batches.collect::<Result<_>>()?, computed.damage))
    }
}

/// Returns the columns of the table of `series`: the time as in the table of its first field, and
/// a column for each component.
fn schema(log: &dyn Log, series: &PreparedSeries) -> Result<SchemaRef> {
    let first = series.first_field().map(|signal| signal.topic).unwrap_or_default();
    let of_first = log.decoder(first, &Columns::new(View::Flat))?;
    let time = of_first.schema().fields().first().cloned();
    let mut fields: Vec<Arc<Field>> = time.into_iter().collect();
    for (name, unit) in series.components() {
        let name = if name.is_empty() { VALUE } else { name };
        let mut field = Field::new(name, DataType::Float64, true);
        if !unit.is_empty() {
            field.set_metadata([("unit".to_owned(), unit.to_owned())].into());
        }
        fields.push(Arc::new(field));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Returns `series` as batches with the columns `schema`. Missing values are null.
fn batches(
    series: &Series,
    schema: &SchemaRef,
    base: TimeBase,
) -> Result<Vec<RecordBatch>> {
    let shown = base.schema(schema);
    let mut batches = Vec::new();
    for start in (0..series.times.len()).step_by(BATCH_ROWS) {
        let end = series.times.len().min(start + BATCH_ROWS);
        let times = series.times.get(start..end).unwrap_or_default();
        let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(times.to_vec()));
        let mut columns = vec![times];
        for component in &series.components {
            let values = component.values.get(start..end).unwrap_or_default();
            let known = values.iter().map(|value| Some(*value).filter(|v| !v.is_nan()));
            columns.push(Arc::new(Float64Array::from_iter(known)));
        }
        let batch = RecordBatch::try_new(schema.clone(), columns)?;
        batches.push(base.apply(batch, &shown)?);
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivation_is_a_name_and_an_expression() {
        let derivation: Derivation = "is_high = gps.alt >= 3".parse().unwrap();
        assert_eq!(
            (&*derivation.name, &*derivation.expression),
            ("is_high", "gps.alt >= 3")
        );
        for wrong in ["", "x", "x=", "=y", "a/b=c.d", "deg(x)=1"] {
            assert!(wrong.parse::<Derivation>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pattern_that_is_the_name_of_a_derived_table_selects_no_topic() {
        let derived: Vec<Derivation> = vec!["yaw=a.b".parse().unwrap()];
        let select = |patterns: &[&str]| {
            let patterns: Vec<String> =
                patterns.iter().map(|p| (*p).to_owned()).collect();
            patterns_of_topics(&patterns, &derived)
        };
        assert_eq!(select(&[]), Some(vec![]));
        assert_eq!(select(&["yaw"]), None);
        assert_eq!(select(&["yaw", "imu"]), Some(vec!["imu".to_owned()]));
    }
}
