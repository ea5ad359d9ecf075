//! The ULogs in `testdata/`; see the README there.

mod broken;
mod flight;
mod hostile;
mod pasta;
mod quad;
mod row;
mod smooth;

use logtool_core::Result;

/// Returns all logs with their file names.
pub(crate) fn all() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let flight = quad::log(quad::WHOLE_FLIGHT)?;
    Ok(vec![
        ("hostile_types.ulg", hostile::log()?),
        ("pasta.ulg", pasta::log()?),
        ("damaged/crashed.ulg", broken::crashed(quad::log(quad::UNTIL_CRASH)?)?),
        ("damaged/lost_sector.ulg", broken::without_a_sector(flight.clone())),
        ("quad_flight.ulg", flight),
    ])
}
