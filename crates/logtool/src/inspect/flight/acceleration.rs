//! The spectrogram of an acceleration, built while its records are read.

use arrow_array::{
    Array as _, RecordBatch, TimestampNanosecondArray, cast::AsArray as _, types::*,
};
use arrow_schema::SchemaRef;
use logtool_flight::{
    ACCELERATION, MIN_SPECTRUM_RATE_HZ, Spectrogram, SpectrogramBuilder,
};

use crate::{
    inspect::flight::sample_intervals::SampleIntervals, records::signals::numbers_of,
};

/// Builds the spectrogram of [`ACCELERATION`], which has more samples than all other signals,
/// without keeping them.
pub(super) struct AccelerationReader {
    builder: SpectrogramBuilder,
    intervals: SampleIntervals,
}

impl AccelerationReader {
    /// Returns the columns of the flat view to read, in the order of the axes, and their reader;
    /// `None` if the topic does not have them in this order.
    pub(super) fn new(schema: &SchemaRef) -> Option<(Vec<usize>, Self)> {
        let columns = ACCELERATION.fields.map(|field| schema.index_of(field).ok());
        let indices = columns.into_iter().collect::<Option<Vec<usize>>>()?;
        let reader = Self {
            builder: SpectrogramBuilder::new(),
            intervals: SampleIntervals::new(),
        };
        indices.is_sorted().then_some((indices, reader))
    }

    /// Adds the records of `batch`, whose first column is the time.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        let [times, x, y, z] = batch.columns() else { return };
        let Some(times) = times.as_primitive_opt::<TimestampNanosecondType>() else {
            return;
        };
        let [x, y, z] = [x, y, z].map(numbers_of);
        for (row, ((x, y), z)) in x.into_iter().zip(y).zip(z).enumerate() {
            if let Some(time) = time_of(times, row) {
                self.intervals.add(time);
                self.builder.add(time, [x, y, z].map(|value| value as f32));
            }
        }
    }

    /// Returns the spectrogram, if there were enough samples at a sufficient rate.
    pub(super) fn finish(self) -> Option<Spectrogram> {
        let rate_hz = 1e9 / self.intervals.into_mean()?;
        if rate_hz < MIN_SPECTRUM_RATE_HZ {
            return None;
        }
        self.builder.finish(ACCELERATION.title, ACCELERATION.topic, rate_hz)
    }
}

fn time_of(times: &TimestampNanosecondArray, row: usize) -> Option<i64> {
    times.is_valid(row).then(|| times.value(row))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array};

    use super::*;

    /// Returns samples of `x` at this interval; the other axes are 0.
    fn samples(rows: std::ops::Range<i64>, interval: i64) -> RecordBatch {
        let times = rows.clone().map(|n| n * interval);
        let times: ArrayRef =
            Arc::new(TimestampNanosecondArray::from_iter_values(times));
        let angle = |n| std::f32::consts::TAU * 50.0 * n as f32 / 250.0;
        let x = rows.clone().map(|n| 3.0 * angle(n).sin());
        let x: ArrayRef = Arc::new(Float32Array::from_iter_values(x));
        let zero: ArrayRef = Arc::new(Float32Array::from(vec![0.0; rows.count()]));
        let [a, b, c] = ACCELERATION.fields;
        let columns = [("timestamp", times), (a, x), (b, zero.clone()), (c, zero)];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn spectrogram_of_batches_has_the_sine() {
        let batches = [samples(0..700, 4_000_000), samples(700..1000, 4_000_000)];
        let (indices, mut reader) =
            AccelerationReader::new(&batches[0].schema()).unwrap();
        assert_eq!(indices, [1, 2, 3]);
        batches.iter().for_each(|batch| reader.add(batch));
        let found = reader.finish().unwrap();
        // 1 + (1000 - 256) / 128 windows.
        assert_eq!((found.sample_rate_hz, found.times_ns.len()), (250.0, 6));
        assert_eq!(found.times_ns[0], 128 * 4_000_000);
        for column in &found.density {
            let highest =
                (0..column.len()).max_by(|a, b| column[*a].total_cmp(&column[*b]));
            // 50 Hz in steps of 250 / 256 Hz.
            assert_eq!(highest, Some(51));
        }
    }

    #[test]
    fn slow_acceleration_has_no_spectrogram() {
        let batch = samples(0..1000, 26_000_000);
        let (_, mut reader) = AccelerationReader::new(&batch.schema()).unwrap();
        reader.add(&batch);
        assert_eq!(reader.finish(), None);
    }
}
