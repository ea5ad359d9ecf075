//! The ULogs in `testdata/`; see the README there.

mod damaged_logs;
mod flight;
mod hostile_types;
mod pasta;
mod portable_math;
mod quad;
mod row;

use logtool_core::Result;

/// Returns all logs with their file names.
pub(crate) fn all_logs() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let flight = quad::log(quad::WHOLE_FLIGHT)?;
    Ok(vec![
        ("hostile_types.ulg", hostile_types::log()?),
        ("pasta.ulg", pasta::log()?),
        (
            "damaged/crashed.ulg",
            damaged_logs::append_crash_dump(quad::log(quad::UNTIL_CRASH)?)?,
        ),
        ("damaged/lost_sector.ulg", damaged_logs::without_a_sector(flight.clone())),
        ("quad_flight.ulg", flight),
    ])
}
