//! The rotation of the vehicle, which is computed while the records are read.

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::SchemaRef;
use logtool_flight::{RotationMaxima, RotationSource, SamplingRegularity};

use crate::{
    inspect::flight::sample_intervals::SampleIntervals, records::signals::numbers_of,
};

/// Computes the rotation and the sampling regularity of a topic, which often has a high rate,
/// without keeping its rows.
pub(super) struct RotationReader {
    maxima: RotationMaxima,
    intervals: SampleIntervals,
    /// The positions of the fields in the table.
    quaternion: Option<[usize; 2]>,
    rates: Option<[usize; 3]>,
}

/// The result of a [`RotationReader`].
pub(super) struct Rotation {
    pub(super) maxima: RotationMaxima,
    pub(super) sampling: Option<SamplingRegularity>,
}

impl RotationReader {
    /// Returns the columns of the flat view to read, and their reader; `None` if the topic has
    /// neither an attitude nor angular rates.
    pub(super) fn new(
        source: RotationSource,
        schema: &SchemaRef,
    ) -> Option<(Vec<usize>, Self)> {
        let index = |field: &&str| schema.index_of(field).ok();
        let indices = |fields: &[&str]| {
            fields.iter().map(index).collect::<Option<Vec<usize>>>().unwrap_or_default()
        };
        let quaternion = indices(source.quaternion_fields.as_ref().map_or(&[], |f| f));
        let rates = indices(&source.rate_fields);
        let mut columns = [quaternion.as_slice(), rates.as_slice()].concat();
        columns.sort_unstable();
        if columns.is_empty() {
            return None;
        }
        // In the table, the first column is the time.
        let position =
            |column: usize| columns.binary_search(&column).map_or(0, |index| index + 1);
        let positions = |indices: &[usize]| {
            indices.iter().map(|index| position(*index)).collect::<Vec<usize>>()
        };
        let reader = Self {
            maxima: RotationMaxima::new(source),
            intervals: SampleIntervals::new(),
            quaternion: positions(&quaternion).try_into().ok(),
            rates: positions(&rates).try_into().ok(),
        };
        Some((columns, reader))
    }

    /// Adds the records of `batch`, whose first column is the time.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        let times = batch.columns().first();
        let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
        let Some(times) = times else { return };
        let numbers = |position: usize| {
            batch.columns().get(position).map(numbers_of).unwrap_or_default()
        };
        let quaternion = self.quaternion.map(|fields| fields.map(numbers));
        let rates = self.rates.map(|fields| fields.map(numbers));
        let value = |column: &Vec<f64>, row: usize| {
            column.get(row).copied().unwrap_or(f64::NAN)
        };
        for row in (0..batch.num_rows()).filter(|row| times.is_valid(*row)) {
            self.intervals.add(times.value(row));
            if let Some(columns) = &quaternion {
                self.maxima
                    .add_attitude(columns.each_ref().map(|column| value(column, row)));
            }
            if let Some(columns) = &rates {
                self.maxima
                    .add_rates(columns.each_ref().map(|column| value(column, row)));
            }
        }
    }

    /// Returns the rotation, and the sampling regularity of the topic called `label`.
    pub(super) fn finish(self, label: &str) -> Rotation {
        Rotation {
            maxima: self.maxima,
            sampling: self.intervals.into_regularity(label),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, TimestampNanosecondArray};
    use logtool_flight::ROTATION_SOURCES;

    use super::*;

    #[test]
    fn attitude_of_an_old_log_has_tilt_rates_and_regularity() {
        let times = [Some(10), None, Some(20), Some(40)];
        let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(times.to_vec()));
        let column = |values: [f32; 4]| -> ArrayRef {
            Arc::new(Float32Array::from(values.to_vec()))
        };
        // The row without a time is ignored. A tilt of 60° has sin(30°) in the quaternion.
        let batch = RecordBatch::try_from_iter([
            ("timestamp", times),
            ("rollspeed", column([0.0, 99.0, 2.0, 0.0])),
            ("pitchspeed", column([0.0, 99.0, -3.0, 1.0])),
            ("yawspeed", column([0.0, 99.0, 6.0, f32::NAN])),
            ("q[0]", column([1.0, 0.0, 0.75_f32.sqrt(), 1.0])),
            ("q[1]", column([0.0, 1.0, 0.5, 0.0])),
            ("q[2]", column([0.0, 0.0, 0.0, 0.0])),
        ])
        .unwrap();
        let (columns, mut reader) =
            RotationReader::new(ROTATION_SOURCES[0], &batch.schema()).unwrap();
        assert_eq!(columns, [1, 2, 3, 5, 6]);
        reader.add(&batch.project(&[0, 1, 2, 3, 5, 6]).unwrap());
        let rotation = reader.finish("vehicle_attitude");
        assert_eq!(rotation.maxima.rate(), Some(7.0));
        let tilt = rotation.maxima.tilt().unwrap().to_degrees();
        assert!((tilt - 60.0).abs() < 1e-5, "{tilt}");
        let sampling = rotation.sampling.unwrap();
        assert_eq!((sampling.intervals, sampling.max_s), (2, 20e-9));
    }

    #[test]
    fn topic_without_rotation_is_not_read() {
        let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("timestamp", times)]).unwrap();
        assert!(RotationReader::new(ROTATION_SOURCES[1], &batch.schema()).is_none());
    }
}
