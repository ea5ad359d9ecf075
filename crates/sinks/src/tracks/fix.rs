//! Where something was.

/// Where something was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Nanoseconds of the clock of the table.
    pub nanos: Option<i64>,
    /// Degrees to the north, from -90 to 90.
    pub latitude: f64,
    /// Degrees to the east, from -180 to 180.
    pub longitude: f64,
    /// Metres, as the topic counts them; a finite number.
    pub altitude: Option<f64>,
}
