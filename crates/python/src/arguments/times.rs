//! Times in arguments and results.

use logtool::time::{
    clock::{ShownClock, TimeChoice},
    typed_time::TypedTime,
};
use logtool_core::{ClockZero, TimeRange, Timestamp};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyFloat, PyInt, PyString},
};

use crate::error::invalid;

/// A time in the arguments of a function: a text of the command line, seconds since the start
/// of the log, a `datetime`, a `timedelta`, or NumPy's `datetime64` and `timedelta64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeArgument(pub(crate) TypedTime);

impl<'py> FromPyObject<'_, 'py> for TimeArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        typed_time(&object).map(Self)
    }
}

/// Returns the range of times on the clock of `log`.
pub(crate) fn range(
    log: &logtool::Log,
    start: Option<TimeArgument>,
    end: Option<TimeArgument>,
) -> logtool::Result<TimeRange> {
    let clock = ShownClock::new(log.manifest(), TimeChoice::Boot)?;
    clock.range(start.map(|time| time.0), end.map(|time| time.0))
}

/// Converts `object` to a time.
fn typed_time(object: &Bound<'_, PyAny>) -> PyResult<TypedTime> {
    if object.cast::<PyString>().is_ok() {
        let text: String = object.extract()?;
        return text.parse().map_err(invalid);
    }
    if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        let seconds: f64 = object.extract()?;
        return format!("{seconds}").parse().map_err(invalid);
    }
    let type_name = object.get_type().name()?.to_string();
    match type_name.as_str() {
        "datetime64" => Ok(TypedTime::Utc(numpy_nanos(object, "datetime64[ns]")?)),
        "timedelta64" => {
            Ok(TypedTime::Relative(numpy_nanos(object, "timedelta64[ns]")?))
        }
        _ if object.hasattr("total_seconds")? => {
            Ok(TypedTime::Relative(nanos(object)?))
        }
        _ if object.hasattr("tzinfo")? => {
            let text = utc_text(object)?;
            text.parse().map_err(invalid)
        }
        _ => {
            let message = format!("a time cannot be {}", object.repr()?);
            Err(PyTypeError::new_err(message))
        }
    }
}

/// Returns the nanoseconds of a NumPy scalar.
fn numpy_nanos(object: &Bound<'_, PyAny>, unit: &str) -> PyResult<i64> {
    let nanos = object.call_method1("astype", (unit,))?;
    nanos.call_method1("astype", ("int64",))?.call_method0("item")?.extract()
}

/// Returns the nanoseconds of a `timedelta`, exactly.
fn nanos(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    let attribute = |name: &str| object.getattr(name)?.extract::<i64>();
    let (days, seconds) = (attribute("days")?, attribute("seconds")?);
    let mut subsecond_nanos = attribute("microseconds")? * 1_000;
    // A Timedelta of pandas also has nanoseconds.
    if let Some(nanos) = object.getattr_opt("nanoseconds")? {
        subsecond_nanos += nanos.extract::<i64>()?;
    }
    let seconds = days.checked_mul(86_400).and_then(|sum| sum.checked_add(seconds));
    let nanos = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    let nanos = nanos.and_then(|nanos| nanos.checked_add(subsecond_nanos));
    nanos.ok_or_else(|| {
        invalid("a time is at most 292 years from the zero of its clock")
    })
}

/// Returns a time in UTC as text: that of a `datetime` with a time zone, or the text itself.
pub(crate) fn utc_text(object: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = object.extract::<String>() {
        return Ok(text);
    }
    if object.getattr("tzinfo")?.is_none() {
        return Err(invalid(
            "a datetime needs a time zone, e.g. datetime.timezone.utc",
        ));
    }
    object.call_method0("isoformat")?.extract()
}

/// Returns `time` on a clock with this `zero` as a `datetime` in UTC, or as a `timedelta` if the
/// clock does not start in 1970. Both are rounded down to microseconds.
pub(crate) fn to_datetime<'py>(
    py: Python<'py>,
    time: Timestamp,
    zero: ClockZero,
) -> PyResult<Bound<'py, PyAny>> {
    let datetime = py.import("datetime")?;
    let micros = time.as_nanos().div_euclid(1_000);
    let duration = datetime.getattr("timedelta")?.call1((0, 0, micros))?;
    if zero != ClockZero::Unix {
        return Ok(duration);
    }
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    epoch.add(duration)
}
