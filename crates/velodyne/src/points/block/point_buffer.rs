//! The columns of points.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch,
    TimestampNanosecondArray,
    types::{Float32Type, UInt8Type, UInt32Type},
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{
    Error, ErrorKind, Result, TimeRange, Timestamp, discard_times, time_array,
    time_field,
};

use crate::{
    packet::CHANNELS,
    points::block::{
        laser_bank::{BankCoefficients, PaddedPerChannel},
        return_runs::{
            ChannelValues, ReturnRuns, append_runs, append_times, append_values,
        },
    },
};

/// The [return type](schema) of the strongest return.
pub const STRONGEST: u8 = 1;
/// The [return type](schema) of the last return.
pub const LAST: u8 = 2;
/// The [return type](schema) of a return that is both the strongest and the last, in dual
/// return mode.
pub const BOTH: u8 = 3;

/// The key of the field metadata with the unit of a column.
pub const UNIT: &str = "unit";

/// The key of the field metadata of `scan` with the list of partial scans, as numbers and
/// ranges: `0,7-9,31`. A scan is partial if a part of it is outside the recording or was
/// lost.
pub const PARTIAL_SCANS: &str = "partial_scans";

/// The number of columns of points.
const COLUMNS: usize = 12;

/// Returns the schema of points.
///
/// | column | type | unit | |
/// |---|---|---|---|
/// | `time` | timestamp | ns | time of the firing; null if the packet has no time |
/// | `x` `y` `z` | float32 | m | position in the frame of the sensor |
/// | `intensity` | uint8 | | as sent by the lidar |
/// | `intensity_calibrated` | float32 | | as corrected by the formula |
/// | `laser` | uint8 | | index of the laser in packets |
/// | `ring` | uint8 | | index of the laser by elevation, lowest first |
/// | `azimuth` | float32 | deg | azimuth of the head, clockwise from the front |
/// | `distance` | float32 | m | distance along the laser, with the far correction |
/// | `return_type` | uint8 | | 1 strongest, 2 last, 3 both |
/// | `scan` | uint32 | | number of the rotation, from 0 |
pub fn schema() -> SchemaRef {
    let field = |name: &str, kind: DataType, unit: &str| {
        let field = Field::new(name, kind, false);
        match unit {
            "" => field,
            _ => {
                let unit = (UNIT.to_owned(), unit.to_owned());
                field.with_metadata(HashMap::from([unit]))
            }
        }
    };
    let fields: [Field; COLUMNS] = [
        time_field("time", "ns"),
        field("x", DataType::Float32, "m"),
        field("y", DataType::Float32, "m"),
        field("z", DataType::Float32, "m"),
        field("intensity", DataType::UInt8, ""),
        field("intensity_calibrated", DataType::Float32, ""),
        field("laser", DataType::UInt8, ""),
        field("ring", DataType::UInt8, ""),
        field("azimuth", DataType::Float32, "deg"),
        field("distance", DataType::Float32, "m"),
        field("return_type", DataType::UInt8, ""),
        field("scan", DataType::UInt32, ""),
    ];
    Arc::new(Schema::new(fields.to_vec()))
}

/// The returns of a block.
#[derive(Clone, Debug)]
#[repr(align(32))] // for aligned vector loads
pub(crate) struct BlockReturns {
    /// A bit mask of the channels with a return, with the first channel in the lowest
    /// bit.
    pub(crate) return_mask: u32,
    pub(crate) x: PaddedPerChannel<f32>,
    pub(crate) y: PaddedPerChannel<f32>,
    pub(crate) z: PaddedPerChannel<f32>,
    pub(crate) intensity: PaddedPerChannel<u8>,
    pub(crate) calibrated_intensity: PaddedPerChannel<f32>,
    pub(crate) distance: PaddedPerChannel<f32>,
    pub(crate) azimuth_deg: ChannelValues<f32>,
    pub(crate) return_type: ChannelValues<u8>,
    pub(crate) scan: ChannelValues<u32>,
}

impl BlockReturns {
    pub(crate) fn new() -> Self {
        const PADDED: usize = 2 * CHANNELS;
        Self {
            return_mask: 0,
            x: [0.0; PADDED],
            y: [0.0; PADDED],
            z: [0.0; PADDED],
            intensity: [0; PADDED],
            calibrated_intensity: [0.0; PADDED],
            distance: [0.0; PADDED],
            azimuth_deg: ChannelValues { common: None, per_channel: [0.0; PADDED] },
            return_type: ChannelValues { common: None, per_channel: [0; PADDED] },
            scan: ChannelValues { common: None, per_channel: [0; PADDED] },
        }
    }
}

/// The columns of points that were not yet returned. Columns that are not selected are
/// `None`.
#[derive(Clone, Debug)]
pub(crate) struct PointBuffer {
    schema: SchemaRef,
    /// The capacity to reserve when the next points are appended.
    capacity: usize,
    time: Vec<i64>,
    /// Whether some of the times are unknown.
    has_unknown_times: bool,
    x: Option<Vec<f32>>,
    y: Option<Vec<f32>>,
    z: Option<Vec<f32>>,
    intensity: Option<Vec<u8>>,
    calibrated_intensity: Option<Vec<f32>>,
    laser: Option<Vec<u8>>,
    ring: Option<Vec<u8>>,
    azimuth: Option<Vec<f32>>,
    distance: Option<Vec<f32>>,
    return_type: Option<Vec<u8>>,
    scan: Option<Vec<u32>>,
}

impl PointBuffer {
    /// Creates a buffer of the time and the columns with these indices, or of all columns.
    ///
    /// # Errors
    /// `NoSuch` if there is no column with one of the indices.
    pub(crate) fn new(indices: Option<&[usize]>) -> Result<Self> {
        let all = schema();
        let mut is_selected = [indices.is_none(); COLUMNS];
        is_selected[0] = true;
        for index in indices.unwrap_or_default() {
            *is_selected.get_mut(*index).ok_or_else(|| {
                Error::new(ErrorKind::NoSuch, format!("points have no column {index}"))
            })? = true;
        }
        let indices: Vec<usize> = (0..COLUMNS).filter(|i| is_selected[*i]).collect();
        let schema = all.project(&indices).map(Arc::new);
        let schema = schema.map_err(|err| {
            Error::new(ErrorKind::NoSuch, "points do not have these columns")
                .with_source(err)
        })?;
        let [
            _,
            x,
            y,
            z,
            intensity,
            calibrated_intensity,
            laser,
            ring,
            azimuth,
            distance,
            return_type,
            scan,
        ] = is_selected;
        Ok(Self {
            schema,
            capacity: 0,
            time: vec![],
            has_unknown_times: false,
            x: x.then(Vec::new),
            y: y.then(Vec::new),
            z: z.then(Vec::new),
            intensity: intensity.then(Vec::new),
            calibrated_intensity: calibrated_intensity.then(Vec::new),
            laser: laser.then(Vec::new),
            ring: ring.then(Vec::new),
            azimuth: azimuth.then(Vec::new),
            distance: distance.then(Vec::new),
            return_type: return_type.then(Vec::new),
            scan: scan.then(Vec::new),
        })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns whether the calibrated intensity is selected.
    pub(crate) fn has_calibrated_intensity(&self) -> bool {
        self.calibrated_intensity.is_some()
    }

    /// Returns whether at least one coordinate is selected.
    pub(crate) fn has_coordinates(&self) -> bool {
        self.x.is_some() || self.y.is_some() || self.z.is_some()
    }

    pub(crate) fn rows(&self) -> usize {
        self.time.len()
    }

    /// Returns the selected columns of floats.
    fn floats(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        let coordinates = [&mut self.x, &mut self.y, &mut self.z];
        let other_columns =
            [&mut self.calibrated_intensity, &mut self.azimuth, &mut self.distance];
        coordinates.into_iter().chain(other_columns).flatten()
    }

    /// Returns the selected columns of bytes.
    fn bytes(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        let all = [
            &mut self.intensity,
            &mut self.laser,
            &mut self.ring,
            &mut self.return_type,
        ];
        all.into_iter().flatten()
    }

    /// Reserves capacity for the number of points that were last returned, if the buffer is
    /// empty. Call this before points are appended: memory is then only allocated for points
    /// that follow, not when a batch is returned.
    pub(crate) fn reserve(&mut self) {
        if !self.time.is_empty() {
            return;
        }
        let capacity = std::mem::take(&mut self.capacity);
        self.time.reserve(capacity);
        self.floats().for_each(|column| column.reserve(capacity));
        self.bytes().for_each(|column| column.reserve(capacity));
        if let Some(column) = &mut self.scan {
            column.reserve(capacity);
        }
    }

    /// Appends the points of a block. The times of its firings are `nanos` plus
    /// `time_offsets`.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        bank: &BankCoefficients,
        block_returns: &BlockReturns,
        nanos: i64,
        time_offsets: &PaddedPerChannel<i64>,
    ) {
        let runs = ReturnRuns::from_mask(block_returns.return_mask);
        append_times(&mut self.time, &runs, nanos, time_offsets);
        append_runs(&mut self.x, &runs, &block_returns.x);
        append_runs(&mut self.y, &runs, &block_returns.y);
        append_runs(&mut self.z, &runs, &block_returns.z);
        append_runs(&mut self.intensity, &runs, &block_returns.intensity);
        append_runs(
            &mut self.calibrated_intensity,
            &runs,
            &block_returns.calibrated_intensity,
        );
        append_runs(&mut self.laser, &runs, &bank.laser);
        append_runs(&mut self.ring, &runs, &bank.ring);
        append_values(&mut self.azimuth, &runs, &block_returns.azimuth_deg);
        append_runs(&mut self.distance, &runs, &block_returns.distance);
        append_values(&mut self.return_type, &runs, &block_returns.return_type);
        append_values(&mut self.scan, &runs, &block_returns.scan);
    }

    /// Marks the times of the points from `start_row` on as unknown.
    pub(crate) fn discard_times(&mut self, start_row: usize) {
        let times = self.time.get_mut(start_row..).unwrap_or_default();
        times.fill(Timestamp::MAX.as_nanos());
        self.has_unknown_times = true;
    }

    /// Drops the points from `start_row` on that are outside of `range`.
    pub(crate) fn retain_times(&mut self, start_row: usize, range: TimeRange) {
        let times = self.time.get(start_row..).unwrap_or_default();
        let is_retained: Vec<bool> = times
            .iter()
            .map(|nanos| range.contains(Timestamp::from_nanos(*nanos)))
            .collect();
        if is_retained.iter().all(|flag| *flag) {
            return;
        }
        retain(&mut self.time, start_row, &is_retained);
        self.floats().for_each(|column| retain(column, start_row, &is_retained));
        self.bytes().for_each(|column| retain(column, start_row, &is_retained));
        if let Some(column) = &mut self.scan {
            retain(column, start_row, &is_retained);
        }
    }

    /// Drops all points and returns true if only the time is selected. Otherwise, returns
    /// false.
    pub(crate) fn discard_if_only_times(&mut self) -> bool {
        let has_only_times = self.schema.fields().len() == 1;
        if has_only_times {
            (self.capacity, self.has_unknown_times) = (0, false);
            discard_times(&mut self.time);
        }
        has_only_times
    }

    /// Returns all points, and resets the buffer.
    pub(crate) fn take(&mut self) -> Result<RecordBatch> {
        // A little more than the current number, because the number varies.
        self.capacity = self.rows() + self.rows() / 8 + CHANNELS;
        let times = std::mem::take(&mut self.time);
        let times = if std::mem::take(&mut self.has_unknown_times) {
            time_array(times)
        } else {
            Arc::new(TimestampNanosecondArray::new(times.into(), None))
        };
        let columns: [Option<ArrayRef>; COLUMNS] = [
            Some(times),
            array::<Float32Type>(&mut self.x),
            array::<Float32Type>(&mut self.y),
            array::<Float32Type>(&mut self.z),
            array::<UInt8Type>(&mut self.intensity),
            array::<Float32Type>(&mut self.calibrated_intensity),
            array::<UInt8Type>(&mut self.laser),
            array::<UInt8Type>(&mut self.ring),
            array::<Float32Type>(&mut self.azimuth),
            array::<Float32Type>(&mut self.distance),
            array::<UInt8Type>(&mut self.return_type),
            array::<UInt32Type>(&mut self.scan),
        ];
        let columns = columns.into_iter().flatten().collect();
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }
}

/// Drops the values from `start_row` on whose flag is not set.
fn retain<T: Copy>(column: &mut Vec<T>, start_row: usize, is_retained: &[bool]) {
    let values = column.split_off(start_row.min(column.len()));
    let retained = values.into_iter().zip(is_retained).filter(|(_, flag)| **flag);
    column.extend(retained.map(|(value, _)| value));
}

/// Returns a column if it is selected, and resets it.
fn array<P: ArrowPrimitiveType>(
    column: &mut Option<Vec<P::Native>>,
) -> Option<ArrayRef> {
    let values = ScalarBuffer::from(std::mem::take(column.as_mut()?));
    Some(Arc::new(PrimitiveArray::<P>::new(values, None)))
}
