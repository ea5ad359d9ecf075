//! The arguments that several functions have: the session, lidars, lists of names.

pub(crate) mod options;
pub(crate) mod times;

use std::{sync::Arc, time::Duration};

use logtool::{Session, formats::LogFormat, input::events, lidar, time::typed_time};
use logtool_rosbag::Key;
use logtool_ulog::PrivateKey;
use logtool_velodyne::{
    lidar::{ClockChoice, LidarOptions},
    points::Axes,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString},
};

use crate::{
    arguments::times::utc_text,
    error::{invalid, to_python},
};

/// One name, or several.
pub(crate) struct Names(pub(crate) Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyString>().is_ok() {
            return Ok(Self(vec![object.extract()?]));
        }
        let names = object.try_iter()?.map(|name| name?.extract::<String>());
        Ok(Self(names.collect::<PyResult<_>>()?))
    }
}

/// Returns the names in `names`, or an empty list.
pub(crate) fn names(names: Option<Names>) -> Vec<String> {
    names.map(|names| names.0).unwrap_or_default()
}

/// The options of the session and of lidars, which functions take as keywords.
#[derive(Clone, Default)]
pub(crate) struct OpenArguments {
    session: Session,
    pub(crate) lidar: LidarOptions,
}

impl OpenArguments {
    /// Reads the keywords of `options`.
    pub(crate) fn new(
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut arguments = Self::default();
        for (name, value) in options.into_iter().flatten() {
            if !value.is_none() {
                let name: String = name.extract()?;
                arguments.set(py, &name, &value)?;
            }
        }
        Ok(arguments)
    }

    /// Returns the session.
    pub(crate) fn session(&self) -> Session {
        self.session.clone()
    }

    fn set(
        &mut self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let session = self.session.clone();
        let lidar = &mut self.lidar;
        self.session = match name {
            "key" => with_key(session, value)?,
            "events" => {
                let path: std::path::PathBuf = value.extract()?;
                let events = events::read(&path);
                let path = path.display().to_string();
                session.with_events(
                    events.map_err(|err| to_python(py, &err, Some(&path)))?,
                )
            }
            "strict_index" if value.is_truthy()? => session.with_strict_index(),
            "read_anyway" if value.is_truthy()? => session.with_incompatible_logs(),
            "strict_index" | "read_anyway" => session,
            "record_limit" => session.with_max_record_bytes(value.extract()?),
            "utc_start" => {
                let text = utc_text(value)?;
                session.with_utc_start(typed_time::utc(&text).map_err(invalid)?)
            }
            "input_format" => {
                let text: String = value.extract()?;
                let mut formats = LogFormat::ALL.iter();
                let format = formats.find(|format| format.name() == text);
                let unknown = || invalid(format!("unknown format {text:?}"));
                session.with_input_format(*format.ok_or_else(unknown)?)
            }
            "time_column" => {
                let text: String = value.extract()?;
                session.with_time_column(text.parse().map_err(invalid)?)
            }
            "remote_timeout" => {
                let seconds = Duration::try_from_secs_f64(value.extract()?);
                session.with_remote_timeout(seconds.map_err(invalid)?)
            }
            "remote_min_rate" => session.with_remote_min_rate(value.extract()?),
            "calibration" => {
                let path: std::path::PathBuf = value.extract()?;
                let calibration = lidar::calibration(&path);
                let path = path.display().to_string();
                let calibration =
                    calibration.map_err(|err| to_python(py, &err, Some(&path)))?;
                lidar.calibration = Some(Arc::new(calibration));
                session
            }
            "model" => {
                let name: String = value.extract()?;
                lidar.model = Some(name.parse().map_err(invalid)?);
                session
            }
            "formula" => {
                let name: String = value.extract()?;
                lidar.points.formula = name.parse().map_err(invalid)?;
                session
            }
            "axes" => {
                let name: String = value.extract()?;
                lidar.points.axes = match name.as_str() {
                    "ros" => Axes::Ros,
                    "manual" => Axes::Manual,
                    _ => return Err(invalid("axes are \"ros\" or \"manual\"")),
                };
                session
            }
            "cut" => {
                lidar.points.scan_start = azimuth(value.extract()?)?;
                lidar.keep_scan_start = true;
                session
            }
            "lidar_clock" => {
                let name: String = value.extract()?;
                lidar.clock = match name.as_str() {
                    "log" => ClockChoice::Log,
                    "lidar" => ClockChoice::Lidar,
                    _ => return Err(invalid("lidar_clock is \"log\" or \"lidar\"")),
                };
                session
            }
            _ => {
                let message = format!("unexpected keyword argument {name:?}");
                return Err(PyTypeError::new_err(message));
            }
        };
        Ok(())
    }
}

/// Returns an azimuth in hundredths of a degree.
fn azimuth(degrees: f64) -> PyResult<u16> {
    if (0.0..360.0).contains(&degrees) {
        Ok((degrees * 100.0).round() as u16 % 36_000)
    } else {
        Err(invalid("an azimuth is at least 0 and less than 360 degrees"))
    }
}

/// Returns `session` with the key of encrypted logs: a private key in PEM format for ULogs; 16
/// bytes or 32 hexadecimal digits for bags.
fn with_key(session: Session, value: &Bound<'_, PyAny>) -> PyResult<Session> {
    let text = value.extract::<String>().ok();
    let bytes = match &text {
        Some(text) => text.clone().into_bytes(),
        None => value.extract()?,
    };
    if PrivateKey::is_pem(&bytes) {
        let key = PrivateKey::from_pem(&bytes).map_err(invalid)?;
        return Ok(session.with_private_key(key));
    }
    let key = match text {
        Some(digits) => Key::from_hex(&digits).map_err(invalid)?,
        None => Key::new(bytes.try_into().map_err(|_| {
            invalid("a key is a text in PEM format, 16 bytes, or 32 hexadecimal digits")
        })?),
    };
    Ok(session.with_key(key))
}
