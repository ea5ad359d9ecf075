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
        time(&object).map(Self)
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

fn time(object: &Bound<'_, PyAny>) -> PyResult<TypedTime> {
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
            let what = format!("a time cannot be {}", object.repr()?);
            Err(PyTypeError::new_err(what))
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
    let part = |name: &str| object.getattr(name)?.extract::<i64>();
    let seconds = part("days")?.checked_mul(86_400);
    let seconds =
        seconds.zip(Some(part("seconds")?)).and_then(|(a, b)| a.checked_add(b));
    let nanos = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    let more = part("microseconds")? * 1_000;
    // A Timestamp of pandas is exact to nanoseconds.
    let more =
        more + object.getattr_opt("nanoseconds")?.map_or(Ok(0), |n| n.extract())?;
    let nanos = nanos.and_then(|nanos| nanos.checked_add(more));
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

/// Returns `time`, which is on a clock with this `zero`, as a `datetime` in UTC or a
/// `timedelta`, with microseconds.
pub(crate) fn shown<'py>(
    py: Python<'py>,
    time: Timestamp,
    zero: ClockZero,
) -> PyResult<Bound<'py, PyAny>> {
    let datetime = py.import("datetime")?;
    let micros = time.as_nanos().div_euclid(1_000);
    let since = datetime.getattr("timedelta")?.call1((0, 0, micros))?;
    if zero != ClockZero::Unix {
        return Ok(since);
    }
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    epoch.add(since)
}
