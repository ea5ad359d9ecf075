//! Functions that change the times of values.

use std::sync::Arc;

use crate::{
    functions::{
        Function, Group, Kernel, Kind, Output, Parameter, TimesKernel, constant, nanos,
        number, parameter, time_series::positive,
    },
    values::Values,
};

/// The maximum number of resampled times.
const MAX_TIMES: f64 = (1_u32 << 24) as f64;

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    kernel: TimesKernel,
) -> Function {
    Function {
        name,
        group: Group::Time,
        parameters,
        summary,
        source: "",
        is_variadic: false,
        output: Output::First,
        kernel: Kernel::Times(kernel),
    }
}

const X_AND_CLOCK: &[Parameter] =
    &[parameter("x", Kind::Series), parameter("clock", Kind::Series)];

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        source: "FlightPlot's Delay",
        ..function(
            "delay",
            &[parameter("x", Kind::Series), constant("seconds")],
            "`x` with all times delayed by `seconds`",
            delay,
        )
    },
    function(
        "hold",
        X_AND_CLOCK,
        "the last value of `x` at each time of `clock`",
        |arguments, _| {
            let (x, clock) = x_and_clock(arguments)?;
            Ok(x.held_at(&clock))
        },
    ),
    function(
        "interpolate",
        X_AND_CLOCK,
        "`x` at each time of `clock`, on a straight line between the values before and after",
        |arguments, _| {
            let (x, clock) = x_and_clock(arguments)?;
            Ok(x.interpolated_at(clock))
        },
    ),
    function(
        "resample",
        &[parameter("x", Kind::Series), constant("rate")],
        "`x` at `rate` times per second from the first to the last time, on a straight line \
         between the values before and after",
        resample,
    ),
];

/// Returns the first argument, and the times of the second one. Arguments of the kind `Series`
/// always have times.
fn x_and_clock(arguments: &[Values]) -> Result<(&Values, Arc<[i64]>), String> {
    let times = |values: &Values| values.times.clone();
    match arguments {
        [x, clock] => times(clock).map(|clock| (x, clock)),
        _ => None,
    }
    .ok_or_else(|| "a series is needed".to_owned())
}

fn delay(arguments: &[Values], numbers: &[f64]) -> Result<Values, String> {
    let seconds = number(numbers, 0);
    if !seconds.is_finite() {
        return Err(format!("`seconds` must be a number, and is {seconds}"));
    }
    let x = arguments.first().ok_or("a series is needed")?;
    let delayed = |times: &Arc<[i64]>| -> Arc<[i64]> {
        times.iter().map(|time| time.saturating_add(nanos(seconds))).collect()
    };
    Ok(Values { times: x.times.as_ref().map(delayed), columns: x.columns.clone() })
}

fn resample(arguments: &[Values], numbers: &[f64]) -> Result<Values, String> {
    let rate = positive(numbers, "rate")?;
    let x = arguments.first().ok_or("a series is needed")?;
    let Some([first, .., last]) = x.times.as_deref() else {
        return Ok(x.clone());
    };
    let span = i128::from(*last) - i128::from(*first);
    let count = (span as f64 / 1e9 * rate).floor() + 1.0;
    if count > MAX_TIMES {
        return Err(format!("{rate} values per second are too many: {count}"));
    }
    let time_of_index = |index: usize| first.saturating_add(nanos(index as f64 / rate));
    let clock = (0..count as usize).map(time_of_index).map(|time| time.min(*last));
    Ok(x.interpolated_at(clock.collect()))
}
