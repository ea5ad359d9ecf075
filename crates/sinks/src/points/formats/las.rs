//! LAS 1.2 and LAZ.
//!
//! ```text
//! header | variable length records | records of points
//!
//!  0  x, y, z             i32 × 3, in units of 0.1 mm from the origin of the file
//! 12  intensity           u16
//! 14  return number       3 bits, then the number of returns, 3 bits
//! 15  classification and scan angle, which are 0
//! 17  user data           u8
//! 18  point source        u16
//! 20  GPS time            f64
//! 28  red, green, blue    u16 × 3, in point format 3
//!     extra bytes
//! ```
//! (LAS 1.2, tables 6 and 8: point formats 1 and 3.)

mod extra_bytes;
mod gps_time;
mod header;
mod point_data;
mod return_numbers;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::BooleanArray;
use arrow_select::filter::filter;
use logtool_core::{Error, ErrorKind, Result};

use crate::points::{
    attributes::{PointAttributes, first_integers, positions},
    colors::scaled,
    column::{PointColumn, floats},
    file::{CloudFile, PointOutput, Points, array_at, finish_file},
    formats::{
        las::{
            extra_bytes::ExtraBytes,
            gps_time::GpsClock,
            header::{Header, PointStatistics},
            point_data::PointData,
            return_numbers::{Firing, MAX_DISTANCE, ReturnNumbers},
        },
        point_rows::write_column,
    },
    losses::PointLosses,
};

/// The number of units of a coordinate in a metre.
const UNITS_PER_METRE: f64 = 1e4;
/// The maximum distance of a coordinate from that of the origin, because coordinates are 32-bit
/// integers.
const MAX_OFFSET_METRES: f64 = 2e5;

/// The positions of the fields in a record.
const INTENSITY: usize = 12;
const RETURNS: usize = 14;
const USER_DATA: usize = 17;
const POINT_SOURCE: usize = 18;
const GPS_TIME: usize = 20;
const COLORS: usize = 28;

/// The greatest intensity, and the greatest number of a colour.
const MAX_VALUE: u16 = u16::MAX;

/// The number of points whose records are filled at once: they fit into the caches of a processor.
const BLOCK_POINTS: usize = 8_192;

/// The byte of the return numbers of a point that is the only return.
const ONLY_RETURN: u8 = returns(1, 1);

/// Options of a LAS file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LasOptions {
    /// Whether the file is LAZ.
    pub(crate) is_compressed: bool,
    /// Whether times are Unix time.
    pub(crate) is_unix: bool,
}

/// A LAS file.
pub(crate) struct LasFile {
    header: Header,
    /// Whether the header has the metadata of the topic.
    has_metadata: bool,
    point_data: PointData,
    attributes: PointAttributes,
    options: LasOptions,
    extra_bytes: ExtraBytes,
    /// The position of the extra bytes in a record.
    extra_offset: usize,
    record_len: usize,
    return_numbers: ReturnNumbers,
    /// The last records, whose firings may have another return in the next points.
    pending_records: Vec<u8>,
    statistics: PointStatistics,
}

impl LasFile {
    /// Starts a file of points with `columns` and `attributes` in `output`. Their coordinates are
    /// stored relative to `origin`.
    pub(crate) fn new(
        mut output: PointOutput,
        columns: &[PointColumn],
        attributes: PointAttributes,
        options: LasOptions,
        metadata: &BTreeMap<String, String>,
        origin: [f64; 3],
    ) -> Result<Self> {
        let extra_bytes = ExtraBytes::new(columns, &attributes);
        let has_colors = attributes.colors.is_some();
        let extra_offset = COLORS + if has_colors { 6 } else { 0 };
        let record_len = extra_offset + extra_bytes.len();
        let point_format = if has_colors { 3 } else { 1 };
        let laz_record = options
            .is_compressed
            .then(|| point_data::laz_record(point_format, extra_bytes.len()))
            .transpose()?;
        let mut header = Header::new(origin, point_format, record_len, options);
        header.add_record("LASF_Spec", 4, "", &extra_bytes.descriptions());
        let mut metadata = metadata.clone();
        if !attributes.full_scales.is_empty() {
            let scales = attributes.full_scales.iter().map(f64::to_string);
            let scales = scales.collect::<Vec<_>>().join(", ");
            metadata.insert("logtool.intensity_full_scale".to_owned(), scales);
        }
        // A map of strings can always be serialized.
        let metadata = serde_json::to_vec(&metadata).unwrap_or_default();
        let has_metadata =
            header.add_record("logtool", 1, "origin of the points, JSON", &metadata);
        if let Some(record) = &laz_record {
            header.add_laz_record(record)?;
        }
        let statistics = PointStatistics::default();
        header.write(&mut output, &statistics)?;
        Ok(Self {
            header,
            has_metadata,
            point_data: PointData::new(output, laz_record, record_len)?,
            attributes,
            options,
            extra_bytes,
            extra_offset,
            record_len,
            return_numbers: ReturnNumbers::default(),
            pending_records: Vec::new(),
            statistics,
        })
    }

    /// Returns the names of the columns of `topic` that are not in the file, and of its metadata if
    /// that is too long.
    pub(crate) fn left_out(&self, topic: &str) -> BTreeSet<String> {
        let metadata = (!self.has_metadata).then_some("the metadata");
        let names = self.extra_bytes.left_out.iter().map(String::as_str);
        names.chain(metadata).map(|name| format!("{name} of {topic}")).collect()
    }

    /// Returns the names of the columns of `topic` with times whose meaning is not known.
    pub(crate) fn unknown_times(&self, topic: &str) -> BTreeSet<String> {
        let names = self.attributes.times.unknown.iter();
        names.map(|name| format!("{name} of {topic}")).collect()
    }

    /// Appends the records of `points`, which have these `coordinates` and `times`, to the pending
    /// records. Their firings have one return each.
    fn add_records(
        &mut self,
        points: &Points,
        coordinates: &[Vec<f64>; 3],
        times: &[Option<i64>],
        losses: &mut PointLosses,
    ) {
        let (record_len, attributes) = (self.record_len, &self.attributes);
        let mut records = vec![0; points.count * record_len];
        for (axis, values) in coordinates.iter().enumerate() {
            let units = values.iter().map(|value| rounded(value * UNITS_PER_METRE));
            fill(&mut records, record_len, 4 * axis, units.map(i32::to_le_bytes));
        }
        let intensities = attributes.intensities(points).into_iter().map(|fraction| {
            let (value, is_changed) = scaled(fraction.unwrap_or(0.0), MAX_VALUE);
            losses.intensities += u64::from(is_changed);
            value
        });
        fill(&mut records, record_len, INTENSITY, intensities.map(u16::to_le_bytes));
        let returns = std::iter::repeat([ONLY_RETURN]);
        fill(&mut records, record_len, RETURNS, returns);
        let rings = first_integers(points, &attributes.ring).into_iter();
        let rings = rings.map(|ring| [u8::try_from(ring).unwrap_or(u8::MAX)]);
        fill(&mut records, record_len, USER_DATA, rings);
        let lasers = first_integers(points, &attributes.laser).into_iter();
        let lasers = lasers.map(|laser| u16::try_from(laser).unwrap_or(u16::MAX));
        fill(&mut records, record_len, POINT_SOURCE, lasers.map(u16::to_le_bytes));
        let mut clock = GpsClock::default();
        let seconds = times.iter().map(|nanos| match nanos {
            None => f64::NAN,
            Some(nanos) if self.options.is_unix => clock.adjusted_standard_time(*nanos),
            Some(nanos) => *nanos as f64 / 1e9,
        });
        fill(&mut records, record_len, GPS_TIME, seconds.map(f64::to_le_bytes));
        if let Some(colors) = &attributes.colors {
            for (channel, fractions) in colors.fractions(points).iter().enumerate() {
                let values = fractions.iter().map(|fraction| {
                    let (value, is_changed) = scaled(*fraction, MAX_VALUE);
                    losses.colors += u64::from(is_changed);
                    value.to_le_bytes()
                });
                fill(&mut records, record_len, COLORS + 2 * channel, values);
            }
        }
        let mut offset = self.extra_offset;
        for column in &self.extra_bytes.columns {
            if let Some(array) = array_at(points, Some(column.index)) {
                write_column(&mut records, record_len, offset, array);
            }
            offset += column.number_type.bytes();
        }
        self.pending_records.extend_from_slice(&records);
    }

    /// Sets the return numbers in the last records of `pending_records`, which are those of
    /// `points` with these `times`, and in those of their firings.
    fn set_return_numbers(&mut self, points: &Points, times: &[Option<i64>]) {
        let (len, record_len) = (self.pending_records.len(), self.record_len);
        let first_new = len / record_len - points.count;
        let lasers = first_integers(points, &self.attributes.laser).into_iter();
        let types = first_integers(points, &self.attributes.return_type).into_iter();
        let firings = times.iter().zip(lasers).zip(types).enumerate();
        for (index, ((time, laser), return_type)) in firings {
            let firing = time.map(|time| Firing { time, laser, return_type });
            let Some(pair) = self.return_numbers.add(firing) else { continue };
            let new = (first_new + index) * record_len + RETURNS;
            let other = new.checked_sub(pair.distance * record_len);
            for (position, number) in
                [(Some(new), pair.number), (other, 3 - pair.number)]
            {
                let byte = position.and_then(|at| self.pending_records.get_mut(at));
                if let Some(byte) = byte {
                    *byte = returns(number, 2);
                }
            }
        }
    }

    /// Writes the pending records except the last `kept_count`.
    fn write_records(&mut self, kept_count: usize) -> Result<()> {
        let count = self.pending_records.len() / self.record_len;
        let complete_len = count.saturating_sub(kept_count) * self.record_len;
        let (complete, _) = self.pending_records.split_at(complete_len);
        self.statistics.add(complete, self.record_len)?;
        self.point_data.write(complete)?;
        self.pending_records.drain(..complete_len);
        Ok(())
    }
}

impl CloudFile for LasFile {
    fn write(&mut self, points: &Points, losses: &mut PointLosses) -> Result<()> {
        let has_returns = !self.attributes.return_type.is_empty();
        let kept_count = if has_returns { MAX_DISTANCE } else { 0 };
        for start in (0..points.count).step_by(BLOCK_POINTS) {
            let block = points.slice(start, BLOCK_POINTS.min(points.count - start));
            let (points, coordinates) = storable(&block, self.header.origin)?;
            losses.points += (block.count - points.count) as u64;
            let is_unix = self.options.is_unix;
            let (times, missing) = self.attributes.times.nanos(&points, is_unix);
            losses.times += missing;
            self.add_records(&points, &coordinates, &times, losses);
            if has_returns {
                self.set_return_numbers(&points, &times);
            }
            self.write_records(kept_count)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_records(0)?;
        let mut output = self.point_data.finish()?;
        self.header.write(&mut output, &self.statistics)?;
        finish_file(output)
    }
}

/// Returns the position that is stored as 0, 0, 0. Coordinates near the sensor have the origin 0.
/// Large ones, e.g. of a map projection, are relative to the coordinates of the first point,
/// rounded to kilometres.
pub(crate) fn origin(first_points: &Points) -> [f64; 3] {
    let first_position =
        positions(first_points).into_iter().flatten().next().unwrap_or_default();
    first_position.map(|coordinate| {
        if coordinate.abs() < 1e5 { 0.0 } else { (coordinate / 1e3).round() * 1e3 }
    })
}

/// Returns those of `points` that can be stored, and their coordinates relative to `origin`.
fn storable(points: &Points, origin: [f64; 3]) -> Result<(Points, [Vec<f64>; 3])> {
    // The first three columns are x, y and z.
    let coordinates = |points: &Points| {
        [0, 1, 2].map(|axis| {
            let mut values =
                array_at(points, Some(axis)).map(floats).unwrap_or_default();
            values.iter_mut().for_each(|value| *value -= origin[axis]);
            values
        })
    };
    let [x, y, z] = coordinates(points);
    let is_storable = |value: f64| value.abs() < MAX_OFFSET_METRES;
    let values = x.iter().zip(&y).zip(&z);
    let is_kept: Vec<bool> = values
        .map(|((x, y), z)| is_storable(*x) && is_storable(*y) && is_storable(*z))
        .collect();
    let kept_count = is_kept.iter().filter(|is_kept| **is_kept).count();
    if kept_count == points.count {
        return Ok((points.clone(), [x, y, z]));
    }
    let is_kept = BooleanArray::from(is_kept);
    let arrays = points.arrays.iter().map(|array| filter(array, &is_kept));
    let arrays = arrays.collect::<std::result::Result<_, _>>().map_err(|err| {
        Error::new(ErrorKind::Unsupported, "cannot select points").with_source(err)
    })?;
    let points = Points { arrays, count: kept_count };
    let coordinates = coordinates(&points);
    Ok((points, coordinates))
}

/// Writes `values` to the bytes from `offset` on of each of `records`.
fn fill<const LEN: usize>(
    records: &mut [u8],
    record_len: usize,
    offset: usize,
    values: impl Iterator<Item = [u8; LEN]>,
) {
    for (record, value) in records.chunks_exact_mut(record_len).zip(values) {
        if let Some(target) =
            record.get_mut(offset..).and_then(|rest| rest.first_chunk_mut())
        {
            *target = value;
        }
    }
}

/// Returns the nearest integer. (`f64::round` is a call of a function for many processors.)
fn rounded(value: f64) -> i32 {
    (value + 0.5_f64.copysign(value)) as i32
}

/// Returns the byte of a return number and the number of returns.
const fn returns(number: u8, count: u8) -> u8 {
    number | count << 3
}
