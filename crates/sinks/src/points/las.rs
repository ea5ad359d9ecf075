//! LAS 1.2 and LAZ, by way of the crate `las`.

use std::collections::{BTreeMap, HashMap};

use ::las::point::Format;
use ::las::{Builder, GpsTimeType, Header, Point, Transform, Vector, Vlr, Writer};
use logtool_core::{Error, ErrorKind, Result};

use crate::{
    points::{
        column::{Column, moments},
        extra::{self, Extra},
        file::{CloudFile, Out, Points, close},
        gps,
        measures::{Measures, array, places, whole},
        unfailing::{Failure, Unfailing},
    },
    provenance::CREATED_BY,
};

/// Metres in one step of a coordinate.
const STEP: f64 = 1e-4;
/// How far from the first point a point may be, in metres: what 32 bits hold.
const REACH: f64 = 2e5;

/// The return types of points: strongest and last.
const STRONGEST: u32 = 1;
const LAST: u32 = 2;

/// How a LAS file is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct LasOptions {
    pub(super) is_packed: bool,
    /// Whether times are Unix time.
    pub(super) is_unix: bool,
}

/// A LAS file.
pub(super) struct Las {
    writer: Writer<Unfailing>,
    failure: Failure,
    measures: Measures,
    options: LasOptions,
    origin: [f64; 3],
    extra: Vec<Extra>,
}

impl Las {
    /// Begins a file of points with `columns` in `out`, of which `first` will be the
    /// first.
    pub(super) fn new(
        out: Out,
        columns: &[Column],
        options: LasOptions,
        about: &BTreeMap<String, String>,
        first: &Points,
    ) -> Result<Self> {
        // What is near the sensor is counted from there, all else from the kilometre
        // in which the first point lies.
        let first = places(first).into_iter().flatten().next().unwrap_or_default();
        let round = |v: f64| if v.abs() < 1e5 { 0.0 } else { (v / 1e3).round() * 1e3 };
        let origin = first.map(round);
        let extra = extra::of(columns);
        let header = header(origin, options, about, &extra)?;
        let (out, failure) = Unfailing::new(out);
        let writer = Writer::new(out, header).map_err(odd)?;
        let measures = Measures::of(columns);
        Ok(Self { writer, failure, measures, options, origin, extra })
    }

    fn moments(&self, points: &Points) -> Vec<Option<i64>> {
        let moments = array(points, self.measures.time).and_then(moments);
        moments.unwrap_or_else(|| vec![None; points.count])
    }

    fn seconds(&self, moments: &[Option<i64>]) -> Vec<f64> {
        let seconds = |nanos: i64| match self.options.is_unix {
            true => gps::adjusted(nanos),
            false => nanos as f64 / 1e9,
        };
        moments.iter().map(|moment| moment.map_or(f64::NAN, seconds)).collect()
    }
}

impl CloudFile for Las {
    fn write(&mut self, points: &Points) -> Result<u64> {
        let sources = whole(points, self.measures.laser.or(self.measures.ring));
        let rings = whole(points, self.measures.ring);
        let kinds = whole(points, self.measures.return_type);
        let moments = self.moments(points);
        let returns = returns(&moments, &sources, &kinds);
        let numbers = sources.into_iter().zip(rings).zip(returns);
        let intensities = self.measures.intensities(points);
        let measured = intensities.into_iter().zip(self.seconds(&moments));
        let extra: Vec<Vec<[u8; 4]>> =
            self.extra.iter().map(|extra| extra.values(points)).collect();
        let mut lost = 0;
        for (at, ((place, ((source, ring), returned)), (intensity, seconds))) in
            places(points).into_iter().zip(numbers).zip(measured).enumerate()
        {
            let is_near = |place: &[f64; 3]| {
                place.iter().zip(self.origin).all(|(v, o)| (v - o).abs() < REACH)
            };
            let Some([x, y, z]) = place.filter(is_near) else {
                lost += 1;
                continue;
            };
            let (return_number, number_of_returns) = returned;
            let point = Point {
                x,
                y,
                z,
                // From a float, `as` takes what is out of range to the end.
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
            self.writer.write_point(point).map_err(odd)?;
        }
        self.failure.check()?;
        Ok(lost)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.close().map_err(odd)?;
        self.failure.check()?;
        close(self.writer.into_inner().map_err(odd)?.into_inner())
    }
}

/// Of each point of a lidar that sends two returns, which of how many returns of its firing
/// it is: of a laser at a moment. Of a firing that came back once there is one.
fn returns(moments: &[Option<i64>], sources: &[u32], kinds: &[u32]) -> Vec<(u8, u8)> {
    if ![STRONGEST, LAST].iter().all(|kind| kinds.contains(kind)) {
        return vec![(1, 1); kinds.len()];
    }
    let firings = || moments.iter().zip(sources).zip(kinds);
    let mut seen: HashMap<(Option<i64>, u32), u32> = HashMap::new();
    for ((moment, source), kind) in firings() {
        *seen.entry((*moment, *source)).or_default() |= kind;
    }
    let both = STRONGEST | LAST;
    let returned = firings().map(|((moment, source), kind)| {
        let is_of_two = seen.get(&(*moment, *source)) == Some(&both);
        match (is_of_two, *kind) {
            (true, STRONGEST) => (1, 2),
            (true, LAST) => (2, 2),
            _ => (1, 1),
        }
    });
    returned.collect()
}

fn header(
    origin: [f64; 3],
    options: LasOptions,
    about: &BTreeMap<String, String>,
    extra: &[Extra],
) -> Result<Header> {
    let mut builder = Builder::from((1, 2));
    builder.generating_software = CREATED_BY.to_owned();
    builder.system_identifier = "logtool".to_owned();
    builder.gps_time_type = match options.is_unix {
        true => GpsTimeType::Standard,
        false => GpsTimeType::Week,
    };
    let [x, y, z] = origin.map(|offset| Transform { scale: STEP, offset });
    builder.transforms = Vector { x, y, z };
    builder.point_format = Format::new(1).map_err(odd)?;
    builder.point_format.is_compressed = options.is_packed;
    builder.point_format.extra_bytes = (extra.len() * extra::BYTES) as u16;
    builder.vlrs.extend(extra::described(extra));
    let data = serde_json::to_vec(about).unwrap_or_default(); // texts only
    if u16::try_from(data.len()).is_ok() {
        builder.vlrs.push(Vlr {
            user_id: "logtool".to_owned(),
            record_id: 1,
            description: "where the points are from, JSON".to_owned(),
            data,
        });
    }
    builder.into_header().map_err(odd)
}

fn odd(err: ::las::Error) -> Error {
    match err {
        ::las::Error::Io(err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "LAS cannot be written so")
            .from_source(err),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firing_that_came_back_once_has_one_return_also_of_a_lidar_that_sends_two() {
        // Laser 7 twice, laser 8 once, laser 7 again only as the last, laser 9 as both.
        let moments = [1, 1, 1, 2, 2].map(Some);
        let (lasers, kinds) = ([7, 8, 7, 7, 9], [LAST, STRONGEST, STRONGEST, LAST, 3]);
        let wanted = [(2, 2), (1, 1), (1, 2), (1, 1), (1, 1)];
        assert_eq!(returns(&moments, &lasers, &kinds), wanted);
    }
}
