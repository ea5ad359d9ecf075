//! The samples of the FIFOs of gyroscopes and accelerometers.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::TimeRange;
use logtool_flight::{Spectrogram, SpectrogramBuilder};
use logtool_plot::{Sampler, Signal};

use crate::records::signals::numbers_of;

/// The maximum number of samples in a record (uORB, `SensorGyroFifo.msg`).
const MAX_SAMPLES: usize = 32;

/// The number of columns of a plot of the samples.
const COLUMNS: usize = 450;

/// The samples of a FIFO as a plot can show them, in rad/s or m/s², and their spectrogram.
pub(crate) struct FifoSamples {
    pub(crate) topic: &'static str,
    /// The signals of the axes x, y and z.
    pub(crate) signals: [Signal; 3],
    /// The spectrogram, if there are enough samples.
    pub(crate) spectrogram: Option<Spectrogram>,
}

/// Unrolls the records of a FIFO into samples, and builds their plot and their spectrogram.
///
/// A record has the time of its last sample (`timestamp_sample`, in microseconds), the interval
/// (`dt`), the number of samples, and a factor for their numbers (Flight Review,
/// `add_virtual_fifo_topic_data`).
pub(super) struct FifoReader {
    topic: &'static str,
    /// The places of `timestamp_sample`, `dt`, `scale` and `samples` in the table.
    header: [usize; 4],
    /// The places of the samples of each axis.
    axes: [Vec<usize>; 3],
    builder: SpectrogramBuilder,
    samplers: [Sampler; 3],
    /// The sum of the intervals in microseconds, and their number.
    intervals: (f64, u64),
}

impl FifoReader {
    /// The topics.
    pub(super) const TOPICS: [&'static str; 2] =
        ["sensor_accel_fifo", "sensor_gyro_fifo"];

    /// Returns the columns of the flat view to read, and their reader; `None` if the topic has
    /// other columns than PX4's. The log has this `time`.
    pub(super) fn new(
        topic: &'static str,
        schema: &SchemaRef,
        time: TimeRange,
    ) -> Option<(Vec<usize>, Self)> {
        let index = |name: &str| schema.index_of(name).ok();
        let header = ["timestamp_sample", "dt", "scale", "samples"].map(index);
        let header = [header[0]?, header[1]?, header[2]?, header[3]?];
        let axis = |axis: &str| -> Vec<usize> {
            (0..MAX_SAMPLES).map_while(|n| index(&format!("{axis}[{n}]"))).collect()
        };
        let axes = [axis("x"), axis("y"), axis("z")];
        let mut indices: Vec<usize> =
            axes.iter().flatten().chain(&header).copied().collect();
        indices.sort_unstable();
        // In the table, the first column is the time.
        let position =
            |column: usize| indices.binary_search(&column).map_or(0, |index| index + 1);
        let reader = Self {
            topic,
            header: header.map(position),
            axes: axes.map(|axis| axis.into_iter().map(position).collect()),
            builder: SpectrogramBuilder::new(),
            samplers: std::array::from_fn(|_| {
                Sampler::new(time.start.as_nanos(), time.end.as_nanos(), COLUMNS)
            }),
            intervals: (0.0, 0),
        };
        Some((indices, reader))
    }

    /// Adds the records of `batch`.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        let numbers = |position: usize| {
            batch.columns().get(position).map(numbers_of).unwrap_or_default()
        };
        let [times, intervals, scales, counts] = self.header.map(numbers);
        let axes: [Vec<Vec<f64>>; 3] = std::array::from_fn(|axis| {
            self.axes
                .get(axis)
                .map(|positions| {
                    positions.iter().map(|position| numbers(*position)).collect()
                })
                .unwrap_or_default()
        });
        let rows = times.iter().zip(&intervals).zip(&scales).zip(&counts).enumerate();
        for (row, (((time, interval), scale), count)) in rows {
            if !(time.is_finite() && interval.is_finite() && *interval > 0.0) {
                continue;
            }
            self.intervals.0 += interval;
            self.intervals.1 += 1;
            let count = (*count as usize).min(MAX_SAMPLES);
            for sample in 0..count {
                let before = (count - sample - 1) as f64 * interval;
                let time = (time - before) * 1e3;
                let value = |axis: &Vec<Vec<f64>>| {
                    let raw = axis.get(sample).and_then(|column| column.get(row));
                    raw.map_or(f64::NAN, |raw| raw * scale)
                };
                let values = axes.each_ref().map(value);
                for (sampler, value) in self.samplers.iter_mut().zip(values) {
                    sampler.add(time as i64, value);
                }
                self.builder.add(time as i64, values.map(|value| value as f32));
            }
        }
    }

    /// Returns the samples.
    pub(super) fn finish(self) -> FifoSamples {
        let (sum, count) = self.intervals;
        let rate = 1e6 * count as f64 / sum;
        let title = match self.topic {
            "sensor_gyro_fifo" => "angular velocity before filters",
            _ => "acceleration before filters",
        };
        FifoSamples {
            topic: self.topic,
            signals: self.samplers.each_ref().map(Sampler::signal),
            spectrogram: self.builder.finish(title, self.topic, rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Float32Array, Int16Array, TimestampNanosecondArray, UInt8Array,
        UInt64Array,
    };
    use logtool_core::Timestamp;

    use super::*;

    #[test]
    fn samples_of_records_are_one_signal() {
        // Eight samples a record, at 4000 Hz; a sine of 500 Hz with an amplitude of 100 steps of
        // 0.5.
        let records = 200_u64;
        let value = |sample: u64| {
            let angle = std::f64::consts::TAU * 500.0 * sample as f64 / 4000.0;
            (100.0 * angle.sin()).round() as i16
        };
        let mut columns: Vec<(String, ArrayRef)> = vec![
            (
                "timestamp".into(),
                Arc::new(TimestampNanosecondArray::from_iter_values(
                    (0..records).map(|n| n as i64 * 2_000_000),
                )),
            ),
            (
                "timestamp_sample".into(),
                Arc::new(UInt64Array::from_iter_values((0..records).map(|n| n * 2000))),
            ),
            ("dt".into(), Arc::new(Float32Array::from(vec![250.0; 200]))),
            ("scale".into(), Arc::new(Float32Array::from(vec![0.5; 200]))),
            ("samples".into(), Arc::new(UInt8Array::from(vec![8; 200]))),
        ];
        for axis in ["x", "y", "z"] {
            for place in 0..32 {
                let of = |n: u64| if axis == "x" { value(n * 8 + place) } else { 0 };
                let samples = Int16Array::from_iter_values((0..records).map(of));
                columns.push((format!("{axis}[{place}]"), Arc::new(samples)));
            }
        }
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let [start, end] = [0, 400_000_000].map(Timestamp::from_nanos);
        let time = TimeRange { start, end };
        let (indices, mut reader) =
            FifoReader::new("sensor_gyro_fifo", &batch.schema(), time).unwrap();
        assert_eq!(indices, (1..=100).collect::<Vec<_>>());
        reader.add(&batch);
        let FifoSamples { signals: [x, y, z], spectrogram, .. } = reader.finish();
        // The first record has samples from before the start.
        assert_eq!((x.values + x.out_of_range, y.span()), (1600, Some((0.0, 0.0))));
        assert_eq!((x.span(), z.span()), (Some((-50.0, 50.0)), y.span()));
        let found = spectrogram.unwrap();
        assert_eq!((found.sample_rate_hz, found.times_ns.len()), (4000.0, 11));
        let column = &found.density[5];
        let highest =
            (0..column.len()).max_by(|a, b| column[*a].total_cmp(&column[*b]));
        assert_eq!(
            highest.map(|bin| bin as f64 * found.frequency_step_hz),
            Some(500.0)
        );
        let power: f64 =
            column.iter().map(|d| f64::from(*d) * found.frequency_step_hz).sum();
        assert!((power - 50.0 * 50.0 / 2.0).abs() < 25.0, "{power}");
    }

    #[test]
    fn topic_with_other_columns_is_left_alone() {
        let times: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("dt", times)]).unwrap();
        assert!(
            FifoReader::new("sensor_gyro_fifo", &batch.schema(), TimeRange::ALL)
                .is_none()
        );
    }
}
