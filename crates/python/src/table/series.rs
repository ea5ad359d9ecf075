//! Derived series as arrays of NumPy.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, DurationNanosecondArray, Float64Array, RecordBatch,
    TimestampNanosecondArray,
};
use logtool::{
    Result,
    series::language::{Series, SeriesComponent},
    time::clock::ShownClock,
};
use pyo3::{prelude::*, types::PyDict};

use crate::table::numpy;

/// A series as a table, with the names and units of its components.
pub(crate) struct SeriesBatch {
    batch: RecordBatch,
    /// The names of the components; empty for a single component.
    names: Vec<String>,
    units: Vec<String>,
}

/// Returns `series` with times on `clock`.
pub(crate) fn batch(series: &Series, clock: &ShownClock) -> Result<SeriesBatch> {
    let offset = clock.base().offset_nanos;
    let times = series.times.iter().map(|time| time.checked_add(offset));
    let times: ArrayRef = if clock.is_unix() {
        Arc::new(TimestampNanosecondArray::from_iter(times))
    } else {
        Arc::new(DurationNanosecondArray::from_iter(times))
    };
    let mut columns = vec![("time".to_owned(), times)];
    for (index, component) in series.components.iter().enumerate() {
        let values = Float64Array::from(component.values.to_vec());
        columns.push((index.to_string(), Arc::new(values) as ArrayRef));
    }
    let name = |component: &SeriesComponent| component.name.clone();
    let is_vector = series.components.len() > 1;
    let named = series.components.iter().filter(|_| is_vector);
    Ok(SeriesBatch {
        batch: RecordBatch::try_from_iter(columns)?,
        names: named.map(name).collect(),
        units: series
            .components
            .iter()
            .map(|component| component.unit.clone())
            .collect(),
    })
}

/// Returns the times, the values, the names and the units as a named tuple.
pub(crate) fn to_python(
    py: Python<'_>,
    series: SeriesBatch,
) -> PyResult<Bound<'_, PyAny>> {
    let columns: Bound<'_, PyDict> = numpy::of_batch(py, &series.batch)?;
    let create = py.import("logtool._series")?.getattr("from_columns")?;
    create.call1((columns, series.names, series.units))
}
