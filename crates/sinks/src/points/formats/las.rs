//! LAS 1.2 and LAZ, written with the crate `las`.

mod deferred_error_writer;
mod extra_bytes;
mod gps_time;
mod return_numbers;

use std::collections::BTreeMap;

use ::las::{
    Builder, GpsTimeType, Header, Point, Transform, Vector, Vlr, Writer, point::Format,
};
use logtool_core::{Error, ErrorKind, Result};

use crate::{
    points::{
        attributes::{PointAttributes, array, integers_of_first, positions},
        column::{PointColumn, times_of_points},
        file::{CloudFile, PointOutput, Points, close},
        formats::las::{
            deferred_error_writer::{DeferredErrorWriter, WriteFailure},
            extra_bytes::ExtraBytesColumn,
            return_numbers::PendingReturns,
        },
    },
    provenance::CREATED_BY,
};

/// The resolution of coordinates in metres.
const STEP: f64 = 1e-4;
/// The maximum distance of a point from the first point in metres; 32 bits hold no more.
const REACH: f64 = 2e5;

/// Options of a LAS file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LasOptions {
    pub(crate) is_packed: bool,
    /// Whether times are Unix time.
    pub(crate) is_unix: bool,
}

/// A LAS file.
pub(crate) struct LasFile {
    writer: Writer<DeferredErrorWriter>,
    failure: WriteFailure,
    attributes: PointAttributes,
    options: LasOptions,
    origin: [f64; 3],
    extra: Vec<ExtraBytesColumn>,
    returns: PendingReturns,
}

impl LasFile {
    /// Starts a file of points with `columns` in `out`; `first` are its first points.
    pub(crate) fn new(
        out: PointOutput,
        columns: &[PointColumn],
        options: LasOptions,
        metadata: &BTreeMap<String, String>,
        first: &Points,
    ) -> Result<Self> {
        // The offset of coordinates is 0 near the sensor, otherwise the kilometre of the first
        // point.
        let first = positions(first).into_iter().flatten().next().unwrap_or_default();
        let round = |v: f64| if v.abs() < 1e5 { 0.0 } else { (v / 1e3).round() * 1e3 };
        let origin = first.map(round);
        let extra = extra_bytes::find(columns);
        let header = header(origin, options, metadata, &extra)?;
        let (out, failure) = DeferredErrorWriter::new(out);
        let writer = Writer::new(out, header).map_err(from_las_error)?;
        let attributes = PointAttributes::find(columns);
        let returns = PendingReturns::default();
        Ok(Self { writer, failure, attributes, options, origin, extra, returns })
    }

    fn seconds(&self, points: &Points) -> Vec<f64> {
        let times_of_points =
            array(points, self.attributes.time).and_then(times_of_points);
        let times_of_points =
            times_of_points.unwrap_or_else(|| vec![None; points.count]);
        let seconds = |nanos: i64| {
            if self.options.is_unix {
                gps_time::adjusted_standard_time(nanos)
            } else {
                nanos as f64 / 1e9
            }
        };
        times_of_points.iter().map(|moment| moment.map_or(f64::NAN, seconds)).collect()
    }
}

impl LasFile {
    /// Returns the positions of the points, or `None` for those that cannot be stored.
    fn storable_positions(&self, points: &Points) -> Vec<Option<[f64; 3]>> {
        let is_near = |position: &[f64; 3]| {
            position.iter().zip(self.origin).all(|(v, o)| (v - o).abs() < REACH)
        };
        positions(points).into_iter().map(|position| position.filter(is_near)).collect()
    }

    /// Writes points with their return numbers.
    fn write_points(&mut self, points: &Points, returns: Vec<(u8, u8)>) -> Result<()> {
        let sources = integers_of_first(points, &self.attributes.laser);
        let rings = integers_of_first(points, &self.attributes.ring);
        let numbers = sources.into_iter().zip(rings).zip(returns);
        let intensities = self.attributes.intensities(points);
        let measured = intensities.into_iter().zip(self.seconds(points));
        let extra: Vec<Vec<[u8; 4]>> =
            self.extra.iter().map(|extra| extra.values(points)).collect();
        for (at, ((position, ((source, ring), returned)), (intensity, seconds))) in self
            .storable_positions(points)
            .into_iter()
            .zip(numbers)
            .zip(measured)
            .enumerate()
        {
            let Some([x, y, z]) = position else { continue };
            let (return_number, number_of_returns) = returned;
            let point = Point {
                x,
                y,
                z,
                // `as` saturates.
                intensity: (intensity * 65_535.0).round() as u16,
                return_number,
                number_of_returns,
                user_data: u8::try_from(ring).unwrap_or(u8::MAX),
                point_source_id: u16::try_from(source).unwrap_or(u16::MAX),
                gps_time: Some(seconds),
                extra_bytes: extra
                    .iter()
                    .flat_map(|values| values.get(at).copied().unwrap_or_default())
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
        let lost = self
            .storable_positions(points)
            .iter()
            .filter(|position| position.is_none())
            .count();
        if let Some((ready, returns)) =
            self.returns.next(&self.attributes, Some(points))?
        {
            self.write_points(&ready, returns)?;
        }
        Ok(lost as u64)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if let Some((rest, returns)) = self.returns.next(&self.attributes, None)? {
            self.write_points(&rest, returns)?;
        }
        self.writer.close().map_err(from_las_error)?;
        self.failure.check()?;
        close(self.writer.into_inner().map_err(from_las_error)?.into_inner())
    }
}

fn header(
    origin: [f64; 3],
    options: LasOptions,
    metadata: &BTreeMap<String, String>,
    extra: &[ExtraBytesColumn],
) -> Result<Header> {
    let mut builder = Builder::from((1, 2));
    builder.generating_software = CREATED_BY.to_owned();
    builder.system_identifier = "logtool".to_owned();
    builder.gps_time_type =
        if options.is_unix { GpsTimeType::Standard } else { GpsTimeType::Week };
    let [x, y, z] = origin.map(|offset| Transform { scale: STEP, offset });
    builder.transforms = Vector { x, y, z };
    builder.point_format = Format::new(1).map_err(from_las_error)?;
    builder.point_format.is_compressed = options.is_packed;
    builder.point_format.extra_bytes = (extra.len() * extra_bytes::BYTES) as u16;
    builder.vlrs.extend(extra_bytes::extra_bytes_record(extra));
    // A map of strings can always be serialized.
    let data = serde_json::to_vec(metadata).unwrap_or_default();
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

fn from_las_error(err: ::las::Error) -> Error {
    match err {
        ::las::Error::Io(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "cannot write LAS").with_source(err),
    }
}
