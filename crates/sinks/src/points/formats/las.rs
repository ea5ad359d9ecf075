//! LAS 1.2 and LAZ, written with the crate `las`.

mod extra_bytes;
mod gps_time;
mod return_numbers;

use std::collections::BTreeMap;

use ::las::{
    Builder, GpsTimeType, Header, Point, Transform, Vector, Vlr, Writer, point::Format,
};
use logtool_core::{Error, ErrorKind, Result};

use crate::{
    files::deferred_error_writer::{DeferredErrorWriter, WriteFailure},
    points::{
        attributes::{PointAttributes, array_at, first_integers, positions},
        column::{PointColumn, time_values},
        file::{CloudFile, PointOutput, Points, finish_file},
        formats::las::{extra_bytes::ExtraBytesColumn, return_numbers::PendingReturns},
    },
    provenance::CREATED_BY,
};

/// The resolution of coordinates.
const RESOLUTION_METRES: f64 = 1e-4;
/// The maximum distance of a coordinate from that of the origin, because coordinates are 32-bit
/// integers.
const MAX_OFFSET_METRES: f64 = 2e5;

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
    writer: Writer<DeferredErrorWriter<PointOutput>>,
    failure: WriteFailure,
    attributes: PointAttributes,
    options: LasOptions,
    /// The position that is stored as 0, 0, 0.
    origin: [f64; 3],
    extra_columns: Vec<ExtraBytesColumn>,
    pending_returns: PendingReturns,
}

impl LasFile {
    /// Starts a file of points with `columns` in `output`, whose first points are `first_points`.
    pub(crate) fn new(
        output: PointOutput,
        columns: &[PointColumn],
        options: LasOptions,
        metadata: &BTreeMap<String, String>,
        first_points: &Points,
    ) -> Result<Self> {
        // Coordinates near the sensor have the origin 0. Large ones, e.g. of a map projection, are
        // relative to the coordinates of the first point, rounded to kilometres.
        let first_position =
            positions(first_points).into_iter().flatten().next().unwrap_or_default();
        let origin = first_position.map(|coordinate| {
            if coordinate.abs() < 1e5 { 0.0 } else { (coordinate / 1e3).round() * 1e3 }
        });
        let extra_columns = extra_bytes::find(columns);
        let header = header(origin, options, metadata, &extra_columns)?;
        let (output, failure) = DeferredErrorWriter::new(output);
        let writer = Writer::new(output, header).map_err(from_las_error)?;
        Ok(Self {
            writer,
            failure,
            attributes: PointAttributes::find(columns),
            options,
            origin,
            extra_columns,
            pending_returns: PendingReturns::default(),
        })
    }

    /// Returns the time of each point in seconds, NaN if it is missing.
    fn seconds(&self, points: &Points) -> Vec<f64> {
        let Some(times) = array_at(points, self.attributes.time).and_then(time_values)
        else {
            return vec![f64::NAN; points.count];
        };
        let to_seconds = |nanos: i64| {
            if self.options.is_unix {
                gps_time::adjusted_standard_time(nanos)
            } else {
                nanos as f64 / 1e9
            }
        };
        times.iter().map(|nanos| nanos.map_or(f64::NAN, to_seconds)).collect()
    }

    /// Returns the positions of the points, or `None` for those that cannot be stored.
    fn storable_positions(&self, points: &Points) -> Vec<Option<[f64; 3]>> {
        let is_storable = |position: &[f64; 3]| {
            position
                .iter()
                .zip(self.origin)
                .all(|(value, origin)| (value - origin).abs() < MAX_OFFSET_METRES)
        };
        positions(points)
            .into_iter()
            .map(|position| position.filter(is_storable))
            .collect()
    }

    /// Writes points. `returns` has the return number and the number of returns of each.
    fn write_points(&mut self, points: &Points, returns: Vec<(u8, u8)>) -> Result<()> {
        let lasers = first_integers(points, &self.attributes.laser);
        let rings = first_integers(points, &self.attributes.ring);
        let intensities = self.attributes.intensities(points);
        let seconds = self.seconds(points);
        let extra_values: Vec<Vec<[u8; 4]>> =
            self.extra_columns.iter().map(|column| column.values(points)).collect();
        let positions = self.storable_positions(points).into_iter().zip(returns);
        for (index, (position, returns)) in positions.enumerate() {
            let Some([x, y, z]) = position else { continue };
            let (return_number, number_of_returns) = returns;
            let point = Point {
                x,
                y,
                z,
                // `as` saturates.
                intensity: (intensities[index] * 65_535.0).round() as u16,
                return_number,
                number_of_returns,
                user_data: u8::try_from(rings[index]).unwrap_or(u8::MAX),
                point_source_id: u16::try_from(lasers[index]).unwrap_or(u16::MAX),
                gps_time: Some(seconds[index]),
                extra_bytes: extra_values
                    .iter()
                    .flat_map(|values| values.get(index).copied().unwrap_or_default())
                    .collect(),
                ..Point::default()
            };
            self.writer.write_point(point).map_err(from_las_error)?;
        }
        self.failure.check()
    }
}

impl CloudFile for LasFile {
    fn write(&mut self, points: &Points) -> Result<u64> {
        let dropped_points = self
            .storable_positions(points)
            .iter()
            .filter(|position| position.is_none())
            .count();
        if let Some((complete_points, returns)) =
            self.pending_returns.next(&self.attributes, Some(points))?
        {
            self.write_points(&complete_points, returns)?;
        }
        Ok(dropped_points as u64)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if let Some((last_points, returns)) =
            self.pending_returns.next(&self.attributes, None)?
        {
            self.write_points(&last_points, returns)?;
        }
        self.writer.close().map_err(from_las_error)?;
        self.failure.check()?;
        finish_file(self.writer.into_inner().map_err(from_las_error)?.into_inner())
    }
}

fn header(
    origin: [f64; 3],
    options: LasOptions,
    metadata: &BTreeMap<String, String>,
    extra_columns: &[ExtraBytesColumn],
) -> Result<Header> {
    let mut builder = Builder::from((1, 2));
    builder.generating_software = CREATED_BY.to_owned();
    builder.system_identifier = "logtool".to_owned();
    builder.gps_time_type =
        if options.is_unix { GpsTimeType::Standard } else { GpsTimeType::Week };
    let [x, y, z] = origin.map(|offset| Transform { scale: RESOLUTION_METRES, offset });
    builder.transforms = Vector { x, y, z };
    builder.point_format = Format::new(1).map_err(from_las_error)?;
    builder.point_format.is_compressed = options.is_compressed;
    builder.point_format.extra_bytes =
        (extra_columns.len() * extra_bytes::EXTRA_VALUE_BYTES) as u16;
    builder.vlrs.extend(extra_bytes::extra_bytes_record(extra_columns));
    // A map of strings can always be serialized.
    let data = serde_json::to_vec(metadata).unwrap_or_default();
    // The length of a record has 16 bits.
    if u16::try_from(data.len()).is_ok() {
        builder.vlrs.push(Vlr {
            user_id: "logtool".to_owned(),
            record_id: 1,
            description: "origin of the points, JSON".to_owned(),
            data,
        });
    }
    builder.into_header().map_err(from_las_error)
}

/// Converts an error of the crate `las` that occurred while a file was written.
fn from_las_error(err: ::las::Error) -> Error {
    match err {
        ::las::Error::Io(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "cannot write LAS").with_source(err),
    }
}
