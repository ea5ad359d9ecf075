//! The columns of points.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, Float32Array, RecordBatch, UInt8Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{Error, ErrorKind, Result, time_array, time_field};

use crate::{
    packet::{BLOCKS, CHANNELS},
    points::lasers::{Bank, Roomy},
};

/// The [return type](schema) of the strongest return.
pub const STRONGEST: u8 = 1;
/// The [return type](schema) of the last return.
pub const LAST: u8 = 2;
/// The [return type](schema) of a return that is both, of a lidar that sends two.
pub const BOTH: u8 = 3;

/// The key of the field metadata that says the unit of a column.
pub const UNIT: &str = "unit";

/// The key of the metadata of the column `scan` that says which scans are partial:
/// numbers and ranges of them, `0,7-9,31`. Those are scans of which something was before
/// the recording, or after it, or was lost.
pub const PARTIAL: &str = "partial_scans";

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

/// The firings of a block, and all that is known of them.
#[derive(Clone, Debug)]
#[repr(align(32))] // so that wide loads need no check
pub(super) struct Hits {
    /// Those that came back: a bit for each channel, the lowest for the first.
    pub(super) back: u32,
    pub(super) nanos: Roomy<i64>,
    pub(super) x: Roomy<f32>,
    pub(super) y: Roomy<f32>,
    pub(super) z: Roomy<f32>,
    pub(super) sent: Roomy<u8>,
    pub(super) corrected: Roomy<f32>,
    pub(super) distance: Roomy<f32>,
    pub(super) degrees: Few<f32>,
    pub(super) kind: Few<u8>,
    pub(super) scan: Few<u32>,
}

/// Values that mostly are one and the same.
#[derive(Clone, Debug)]
pub(super) struct Few<T> {
    /// The value of all channels, if they have the same.
    pub(super) same: Option<T>,
    /// That of each, if not.
    pub(super) each: Roomy<T>,
}

impl Hits {
    pub(super) fn new() -> Self {
        const ROOM: usize = 2 * CHANNELS;
        Self {
            back: 0,
            nanos: [0; ROOM],
            x: [0.0; ROOM],
            y: [0.0; ROOM],
            z: [0.0; ROOM],
            sent: [0; ROOM],
            corrected: [0.0; ROOM],
            distance: [0.0; ROOM],
            degrees: Few { same: None, each: [0.0; ROOM] },
            kind: Few { same: None, each: [0; ROOM] },
            scan: Few { same: None, each: [0; ROOM] },
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

    /// Whether the calibrated intensity is wanted.
    pub(super) fn wants_corrected(&self) -> bool {
        self.wanted[5]
    }

    /// Whether the place of points is wanted.
    pub(super) fn wants_place(&self) -> bool {
        self.wanted[1] || self.wanted[2] || self.wanted[3]
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Makes room for the points of a packet.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.time.len() >= self.rows + ROOM {
            return;
        }
        let len = (self.rows + ROOM) * 2;
        let [
            _,
            x,
            y,
            z,
            intensity,
            corrected,
            laser,
            ring,
            azimuth,
            distance,
            kind,
            scan,
        ] = self.wanted;
        self.time.resize(len, 0);
        grow(&mut self.x, len, x);
        grow(&mut self.y, len, y);
        grow(&mut self.z, len, z);
        grow(&mut self.intensity, len, intensity);
        grow(&mut self.corrected, len, corrected);
        grow(&mut self.laser, len, laser);
        grow(&mut self.ring, len, ring);
        grow(&mut self.azimuth, len, azimuth);
        grow(&mut self.distance, len, distance);
        grow(&mut self.kind, len, kind);
        grow(&mut self.scan, len, scan);
    }

    /// Adds the points of a block, for which there is room.
    #[inline]
    pub(super) fn add(&mut self, bank: &Bank, hits: &Hits) {
        let runs = Runs::of(hits.back);
        let (at, runs) = (self.rows, runs.all());
        put(&mut self.time, at, runs, &hits.nanos);
        put(&mut self.x, at, runs, &hits.x);
        put(&mut self.y, at, runs, &hits.y);
        put(&mut self.z, at, runs, &hits.z);
        put(&mut self.intensity, at, runs, &hits.sent);
        put(&mut self.corrected, at, runs, &hits.corrected);
        put(&mut self.laser, at, runs, &bank.laser);
        put(&mut self.ring, at, runs, &bank.ring);
        put_few(&mut self.azimuth, at, runs, &hits.degrees);
        put(&mut self.distance, at, runs, &hits.distance);
        put_few(&mut self.kind, at, runs, &hits.kind);
        put_few(&mut self.scan, at, runs, &hits.scan);
        self.rows += hits.back.count_ones() as usize;
    }

    /// Takes the points, and leaves room for as many.
    pub(super) fn take(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let times = time_array(fresh(&mut self.time, rows));
        let columns: [ArrayRef; COLUMNS] = [
            times,
            Arc::new(Float32Array::from(fresh(&mut self.x, rows))),
            Arc::new(Float32Array::from(fresh(&mut self.y, rows))),
            Arc::new(Float32Array::from(fresh(&mut self.z, rows))),
            Arc::new(UInt8Array::from(fresh(&mut self.intensity, rows))),
            Arc::new(Float32Array::from(fresh(&mut self.corrected, rows))),
            Arc::new(UInt8Array::from(fresh(&mut self.laser, rows))),
            Arc::new(UInt8Array::from(fresh(&mut self.ring, rows))),
            Arc::new(Float32Array::from(fresh(&mut self.azimuth, rows))),
            Arc::new(Float32Array::from(fresh(&mut self.distance, rows))),
            Arc::new(UInt8Array::from(fresh(&mut self.kind, rows))),
            Arc::new(UInt32Array::from(fresh(&mut self.scan, rows))),
        ];
        let columns = columns.into_iter().zip(self.wanted);
        let columns = columns.filter(|(_, wanted)| *wanted).map(|(column, _)| column);
        RecordBatch::try_new(self.schema.clone(), columns.collect()).map_err(|err| {
            Error::new(ErrorKind::Malformed, "points that make no table")
                .from_source(err)
        })
    }
}

/// The room that the points of a packet need: two returns of each firing are two blocks,
/// and a block is copied whole.
const ROOM: usize = (BLOCKS + 1) * CHANNELS;

/// The stretches of channels that came back, one behind the other: where each begins, and
/// how many channels are before it.
///
/// A stretch is copied as if it was 32 long, into room that the next one, or the next
/// block, then takes: a copy of a fixed length is a few instructions.
#[derive(Clone, Copy, Debug)]
struct Runs {
    runs: [(u8, u8); CHANNELS / 2],
    count: usize,
}

impl Runs {
    #[inline]
    fn of(back: u32) -> Self {
        let mut own = Self { runs: [(0, 0); CHANNELS / 2], count: 0 };
        let (mut left, mut start, mut before) = (back, 0, 0);
        while left != 0 {
            let gap = left.trailing_zeros();
            start += gap;
            left >>= gap;
            own.runs[own.count % (CHANNELS / 2)] = (start as u8, before as u8);
            own.count += 1;
            let len = left.trailing_ones();
            (start, before) = (start + len, before + len);
            left = left.checked_shr(len).unwrap_or(0);
        }
        own
    }

    #[inline]
    fn all(&self) -> &[(u8, u8)] {
        self.runs.get(..self.count).unwrap_or_default()
    }
}

/// Gives a column room for `len` values, if it is wanted.
fn grow<T: Copy + Default>(column: &mut Vec<T>, len: usize, wanted: bool) {
    if wanted {
        column.resize(len, T::default());
    }
}

/// Puts the values of these stretches into a column from `at` on; into none if it has no
/// room, not being wanted.
#[inline]
fn put<T: Copy>(column: &mut [T], at: usize, runs: &[(u8, u8)], values: &Roomy<T>) {
    let Some(room) = column.get_mut(at..).and_then(|room| room.first_chunk_mut())
    else {
        return;
    };
    let room: &mut Roomy<T> = room;
    for (start, before) in runs {
        let (from, to) =
            (usize::from(*start) % CHANNELS, usize::from(*before) % CHANNELS);
        if let (Some(from), Some(to)) = (
            values[from..].first_chunk::<CHANNELS>(),
            room[to..].first_chunk_mut::<CHANNELS>(),
        ) {
            *to = *from;
        }
    }
}

/// The same, of values that mostly are one.
#[inline]
fn put_few<T: Copy>(column: &mut [T], at: usize, runs: &[(u8, u8)], few: &Few<T>) {
    let Some(same) = few.same else { return put(column, at, runs, &few.each) };
    let room = column.get_mut(at..).and_then(|room| room.first_chunk_mut());
    if let Some(room) = room {
        *room = [same; CHANNELS];
    }
}

/// Takes the first values of a column, and leaves room for as many and some more.
fn fresh<T: Copy + Default>(column: &mut Vec<T>, rows: usize) -> Vec<T> {
    let room = if column.is_empty() { 0 } else { rows + rows / 8 + 2 * ROOM };
    let mut full = std::mem::replace(column, vec![T::default(); room]);
    full.truncate(rows);
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_begin_after_each_gap() {
        assert_eq!(Runs::of(0).all(), []);
        assert_eq!(Runs::of(u32::MAX).all(), [(0, 0)]);
        assert_eq!(Runs::of(0b1101_1000).all(), [(3, 0), (6, 2)]);
        assert_eq!(Runs::of(1 << 31).all(), [(31, 0)]);
        assert_eq!(Runs::of(0x5555_5555).all().len(), 16);
        assert_eq!(Runs::of(0xaaaa_aaaa).all()[15], (31, 15));
    }
}
