//! The columns of points.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, Float32Array, RecordBatch, TimestampNanosecondArray, UInt8Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{Error, ErrorKind, Result, time_field};

use crate::{
    packet::CHANNELS,
    points::lasers::{Bank, Lane},
};

/// The [return type](schema) of the strongest return.
pub const STRONGEST: u8 = 1;
/// The [return type](schema) of the last return.
pub const LAST: u8 = 2;
/// The [return type](schema) of a return that is both, of a lidar that sends two.
pub const BOTH: u8 = 3;

/// The key of the field metadata that says the unit of a column.
pub const UNIT: &str = "unit";

/// How many columns there are.
const COLUMNS: usize = 12;

/// The columns of points, in their order.
///
/// | column | type | unit | |
/// |---|---|---|---|
/// | `time` | timestamp | ns | when the laser fired |
/// | `x` `y` `z` | float32 | m | where it hit, in the frame of the sensor |
/// | `intensity` | uint8 | | as it was sent |
/// | `intensity_calibrated` | float32 | | as the formula corrects it |
/// | `laser` | uint8 | | its number in the packets |
/// | `ring` | uint8 | | its number from the lowest up |
/// | `azimuth` | float32 | deg | of the head, clockwise from ahead |
/// | `distance` | float32 | m | along the laser, with its far correction |
/// | `return_type` | uint8 | | 1 strongest, 2 last, 3 both |
/// | `scan` | uint32 | | which turn of the head, from 0 |
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

/// The firings of a block that came back, and all that is known of them.
#[derive(Clone, Debug)]
pub(super) struct Hits {
    /// The channels that came back, as many as `count`.
    pub(super) channels: Lane<u8>,
    pub(super) count: usize,
    pub(super) nanos: Lane<i64>,
    pub(super) x: Lane<f32>,
    pub(super) y: Lane<f32>,
    pub(super) z: Lane<f32>,
    pub(super) sent: Lane<u8>,
    pub(super) corrected: Lane<f32>,
    pub(super) degrees: Lane<f32>,
    pub(super) distance: Lane<f32>,
    pub(super) kind: Lane<u8>,
    pub(super) scan: Lane<u32>,
}

impl Hits {
    pub(super) fn new() -> Self {
        Self {
            channels: [0; CHANNELS],
            count: 0,
            nanos: [0; CHANNELS],
            x: [0.0; CHANNELS],
            y: [0.0; CHANNELS],
            z: [0.0; CHANNELS],
            sent: [0; CHANNELS],
            corrected: [0.0; CHANNELS],
            degrees: [0.0; CHANNELS],
            distance: [0.0; CHANNELS],
            kind: [0; CHANNELS],
            scan: [0; CHANNELS],
        }
    }
}

/// The points that were not yet taken.
#[derive(Clone, Debug)]
pub(super) struct Table {
    schema: SchemaRef,
    wanted: [bool; COLUMNS],
    rows: usize,
    time: Vec<i64>,
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    intensity: Vec<u8>,
    corrected: Vec<f32>,
    laser: Vec<u8>,
    ring: Vec<u8>,
    azimuth: Vec<f32>,
    distance: Vec<f32>,
    kind: Vec<u8>,
    scan: Vec<u32>,
}

impl Table {
    /// A table of the columns with these indices, and the time, or of all.
    pub(super) fn new(only: Option<&[usize]>) -> Result<Self> {
        let all = schema();
        let mut wanted = [only.is_none(); COLUMNS];
        wanted[0] = true;
        for index in only.unwrap_or_default() {
            *wanted.get_mut(*index).ok_or_else(|| {
                Error::new(ErrorKind::NoSuch, format!("points have no column {index}"))
            })? = true;
        }
        let those: Vec<usize> = (0..COLUMNS).filter(|i| wanted[*i]).collect();
        let schema = all.project(&those).map(Arc::new);
        let schema = schema.map_err(|err| {
            Error::new(ErrorKind::NoSuch, "these columns of points").from_source(err)
        })?;
        Ok(Self {
            schema,
            wanted,
            rows: 0,
            time: vec![],
            x: vec![],
            y: vec![],
            z: vec![],
            intensity: vec![],
            corrected: vec![],
            laser: vec![],
            ring: vec![],
            azimuth: vec![],
            distance: vec![],
            kind: vec![],
            scan: vec![],
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the points of a block.
    #[inline]
    pub(super) fn add(&mut self, bank: &Bank, hits: &Hits) {
        let Some(channels) = hits.channels.get(..hits.count) else { return };
        let [_, x, y, z, intensity, corrected, laser, ring, azimuth, distance, kind, scan] =
            self.wanted;
        self.rows += channels.len();
        put(&mut self.time, channels, &hits.nanos, true);
        put(&mut self.x, channels, &hits.x, x);
        put(&mut self.y, channels, &hits.y, y);
        put(&mut self.z, channels, &hits.z, z);
        put(&mut self.intensity, channels, &hits.sent, intensity);
        put(&mut self.corrected, channels, &hits.corrected, corrected);
        put(&mut self.laser, channels, &bank.laser, laser);
        put(&mut self.ring, channels, &bank.ring, ring);
        put(&mut self.azimuth, channels, &hits.degrees, azimuth);
        put(&mut self.distance, channels, &hits.distance, distance);
        put(&mut self.kind, channels, &hits.kind, kind);
        put(&mut self.scan, channels, &hits.scan, scan);
    }

    /// Takes the points, and leaves room for as many.
    pub(super) fn take(&mut self) -> Result<RecordBatch> {
        let times = TimestampNanosecondArray::from(fresh(&mut self.time));
        let columns: [ArrayRef; COLUMNS] = [
            Arc::new(times),
            Arc::new(Float32Array::from(fresh(&mut self.x))),
            Arc::new(Float32Array::from(fresh(&mut self.y))),
            Arc::new(Float32Array::from(fresh(&mut self.z))),
            Arc::new(UInt8Array::from(fresh(&mut self.intensity))),
            Arc::new(Float32Array::from(fresh(&mut self.corrected))),
            Arc::new(UInt8Array::from(fresh(&mut self.laser))),
            Arc::new(UInt8Array::from(fresh(&mut self.ring))),
            Arc::new(Float32Array::from(fresh(&mut self.azimuth))),
            Arc::new(Float32Array::from(fresh(&mut self.distance))),
            Arc::new(UInt8Array::from(fresh(&mut self.kind))),
            Arc::new(UInt32Array::from(fresh(&mut self.scan))),
        ];
        self.rows = 0;
        let columns = columns.into_iter().zip(self.wanted);
        let columns = columns.filter(|(_, wanted)| *wanted).map(|(column, _)| column);
        RecordBatch::try_new(self.schema.clone(), columns.collect()).map_err(|err| {
            Error::new(ErrorKind::Malformed, "points that make no table").from_source(err)
        })
    }
}

/// Adds the values of these channels, if the column is wanted.
#[inline]
fn put<T: Copy>(column: &mut Vec<T>, channels: &[u8], values: &Lane<T>, wanted: bool) {
    if !wanted {
        return;
    }
    if channels.len() == CHANNELS {
        column.extend_from_slice(values);
    } else {
        column.extend(channels.iter().map(|at| values[usize::from(*at) % CHANNELS]));
    }
}

/// Takes the values of a column, and leaves room for as many.
fn fresh<T>(column: &mut Vec<T>) -> Vec<T> {
    let room = column.len();
    std::mem::replace(column, Vec::with_capacity(room))
}
