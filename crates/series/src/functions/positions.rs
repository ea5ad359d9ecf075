//! Positions on the Earth.

use crate::functions::{
    Function, Group, Kernel, Kind, Output, Parameter, Table, TableKernel, UnitRule,
    optional, parameter,
};

/// The radius of the Earth in PX4, in metres.
const EARTH_RADIUS: f64 = 6_371_000.0;

const PARAMETERS: &[Parameter] = &[
    parameter("lat", Kind::Degrees),
    parameter("lon", Kind::Degrees),
    optional("lat0", f64::NAN),
    optional("lon0", f64::NAN),
];

const fn function(
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    kernel: TableKernel,
) -> Function {
    Function {
        name,
        group: Group::Positions,
        parameters: PARAMETERS,
        summary,
        source,
        is_variadic: false,
        output: Output::Components(&[("", UnitRule::Known("m"))]),
        kernel: Kernel::Table(kernel),
    }
}

const PROJECTION: &str =
    "azimuthal equidistant projection of PX4's MapProjection, sphere of 6371 km";

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "project_north",
        "the metres to the north of (`lat0`, `lon0`), or of the first position",
        PROJECTION,
        |table| Ok(vec![each_position(table, |from, to| project(from, to).0)]),
    ),
    function(
        "project_east",
        "the metres to the east of (`lat0`, `lon0`), or of the first position",
        PROJECTION,
        |table| Ok(vec![each_position(table, |from, to| project(from, to).1)]),
    ),
    function(
        "distance",
        "the metres along a great circle from (`lat0`, `lon0`), or from the first position",
        "haversine formula, as PX4's get_distance_to_next_waypoint",
        |table| Ok(vec![each_position(table, great_circle)]),
    ),
];

/// A latitude and a longitude in radians.
type Position = (f64, f64);

/// Returns the position at the index `row` from the columns `lat` and `lon`, which are in degrees.
/// Returns `None` if it is missing, or if both are 0, which receivers report without a fix.
pub(super) fn position(
    table: &Table<'_>,
    (lat, lon): (usize, usize),
    row: usize,
) -> Option<Position> {
    let (lat, lon) = (table.value(lat, row), table.value(lon, row));
    let is_known = lat.is_finite() && lon.is_finite() && (lat, lon) != (0.0, 0.0);
    is_known.then(|| (lat.to_radians(), lon.to_radians()))
}

fn each_position(
    table: &Table<'_>,
    compute: impl Fn(Position, Position) -> f64,
) -> Vec<f64> {
    let rows = || (0..table.times.len()).map(|row| position(table, (0, 1), row));
    let given_reference = (table.number(0).to_radians(), table.number(1).to_radians());
    let first = rows().flatten().next().unwrap_or((f64::NAN, f64::NAN));
    let or_first = |given_reference: f64, first: f64| {
        if given_reference.is_nan() { first } else { given_reference }
    };
    let reference =
        (or_first(given_reference.0, first.0), or_first(given_reference.1, first.1));
    let distance = |position| compute(reference, position);
    rows().map(|position| position.map_or(f64::NAN, distance)).collect()
}

/// Projects a position; returns the metres to the north and to the east of `reference`.
pub(super) fn project(reference: Position, (lat, lon): Position) -> (f64, f64) {
    let (sin_reference, cos_reference) = reference.0.sin_cos();
    let (sin, cos) = lat.sin_cos();
    let (sin_east, cos_east) = (lon - reference.1).sin_cos();
    let cos_angle =
        (sin_reference * sin + cos_reference * cos * cos_east).clamp(-1.0, 1.0);
    let angle = cos_angle.acos();
    let scale = if angle > 0.0 { angle / angle.sin() } else { 1.0 };
    let north = cos_reference * sin - sin_reference * cos * cos_east;
    (scale * north * EARTH_RADIUS, scale * cos * sin_east * EARTH_RADIUS)
}

fn great_circle(from: Position, to: Position) -> f64 {
    let half_sine = |from: f64, to: f64| ((to - from) / 2.0).sin();
    let (north, east) = (half_sine(from.0, to.0), half_sine(from.1, to.1));
    let square = north * north + east * east * from.0.cos() * to.0.cos();
    2.0 * EARTH_RADIUS * square.sqrt().atan2((1.0 - square).max(0.0).sqrt())
}
