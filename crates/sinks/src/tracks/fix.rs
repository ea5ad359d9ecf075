//! A position fix.

/// A position on the earth at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// The time in nanoseconds of the clock of the table.
    pub nanos: Option<i64>,
    /// The latitude in degrees, -90 to 90; positive is north.
    pub latitude: f64,
    /// The longitude in degrees, -180 to 180; positive is east.
    pub longitude: f64,
    /// The altitude in metres, a finite number. Its reference, e.g. mean sea level or the
    /// ellipsoid, is that of the topic.
    pub altitude: Option<f64>,
}
