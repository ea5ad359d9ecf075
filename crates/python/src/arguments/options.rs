//! Keyword arguments that are taken one by one.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;
use logtool::{Strictness, time::typed_time::TypedTime};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arguments::{Names, OpenArguments, times::TimeArgument},
    error::invalid,
};

/// The keyword arguments of a function that were not taken yet.
pub(crate) struct Options<'py>(Bound<'py, PyDict>);

impl<'py> Options<'py> {
    pub(crate) fn new(options: &Bound<'py, PyDict>) -> PyResult<Self> {
        options.copy().map(Self)
    }

    /// Takes the argument `name`; `None` if it is not given.
    pub(crate) fn take<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        value.extract().map(Some).map_err(Into::into)
    }

    /// Takes an argument that is true or false.
    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.take::<bool>(name)?.unwrap_or(false))
    }

    /// Takes an argument that is one name, or several.
    pub(crate) fn names(&self, name: &str) -> PyResult<Vec<String>> {
        Ok(self.take::<Names>(name)?.map(|names| names.0).unwrap_or_default())
    }

    /// Takes an argument that is a path.
    pub(crate) fn path(&self, name: &str) -> PyResult<Option<PathBuf>> {
        self.take(name)
    }

    /// Takes an argument that is a time.
    pub(crate) fn time(&self, name: &str) -> PyResult<Option<TypedTime>> {
        Ok(self.take::<TimeArgument>(name)?.map(|time| time.0))
    }

    /// Takes an argument whose values have the same names as in the command.
    pub(crate) fn choice<T: ValueEnum>(&self, name: &str) -> PyResult<Option<T>> {
        choice(name, self.take::<String>(name)?.as_deref())
    }

    /// Takes `strict`.
    pub(crate) fn strictness(&self) -> PyResult<Strictness> {
        let is_strict = self.flag("strict")?;
        Ok(if is_strict { Strictness::Strict } else { Strictness::Tolerant })
    }

    /// Takes the remaining arguments, which are those of `open`.
    pub(crate) fn finish(self, py: Python<'py>) -> PyResult<OpenArguments> {
        OpenArguments::new(py, Some(&self.0))
    }
}

/// Parses `text`, the argument `name`, as one of the values that the command has for `T`.
pub(crate) fn choice<T: ValueEnum>(
    name: &str,
    text: Option<&str>,
) -> PyResult<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    T::from_str(text, true).map(Some).map_err(|_| {
        let known = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> =
            known.map(|value| format!("{:?}", value.get_name())).collect();
        invalid(format!("{name}={text:?}: known values are {}", known.join(", ")))
    })
}

/// Returns the period of a rate in Hz: from once a day to a million times a second.
pub(crate) fn period(hz: f64) -> PyResult<Duration> {
    if (1.0 / 86_400.0..=1e6).contains(&hz) {
        Ok(Duration::from_nanos((1e9 / hz).round() as u64))
    } else {
        Err(invalid("a rate is from once a day to a million times a second"))
    }
}

/// Returns `time` as an age: a duration that is not negative.
pub(crate) fn age(time: TypedTime) -> PyResult<Duration> {
    match time {
        TypedTime::Relative(nanos) => u64::try_from(nanos)
            .map(Duration::from_nanos)
            .map_err(|_| invalid("an age is not negative")),
        _ => Err(invalid("an age is a duration")),
    }
}
