//! Functions over time: derivatives, integrals, intervals.

use crate::functions::ColumnKernel;
use crate::functions::{
    Function, Group, Kernel, Kind, Output, Parameter, UnitRule, number, optional,
    parameter, seconds_between,
};

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    unit: UnitRule,
    kernel: ColumnKernel,
) -> Function {
    Function {
        name,
        group: Group::Time,
        parameters,
        summary,
        source: "",
        is_variadic: false,
        output: Output::Each(unit),
        kernel: Kernel::Column(kernel),
    }
}

const X: &[Parameter] = &[parameter("x", Kind::Series)];

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "derivative",
        X,
        "the difference to the previous value, divided by the seconds between them; the first \
         has none",
        UnitRule::Derivative,
        |times, values, _| {
            Ok(with_previous(times, values, |seconds, before, value| {
                if seconds > 0.0 { (value - before) / seconds } else { f64::NAN }
            }))
        },
    ),
    Function {
        source: "trapezoidal rule",
        ..function(
            "integral",
            X,
            "the sum, since the first value, of the mean of each value and the previous one times \
             the seconds between them. Missing values add nothing",
            UnitRule::Integral,
            integral,
        )
    },
    function(
        "difference",
        X,
        "the difference to the previous value; the first has none",
        UnitRule::Same,
        |times, values, _| {
            Ok(with_previous(times, values, |_, before, value| value - before))
        },
    ),
    function(
        "interval",
        X,
        "the seconds since the previous value; the first has none",
        UnitRule::Known("s"),
        |times, values, _| Ok(with_previous(times, values, |seconds, _, _| seconds)),
    ),
    function(
        "samples_per_second",
        &[parameter("x", Kind::Series), optional("seconds", 1.0)],
        "the number of values in the last `seconds`, divided by `seconds`",
        UnitRule::Known("Hz"),
        samples_per_second,
    ),
    function(
        "time",
        X,
        "the seconds since the first value",
        UnitRule::Known("s"),
        |times, _, _| {
            let first = times.first().copied().unwrap_or_default();
            Ok(times.iter().map(|time| seconds_between(first, *time)).collect())
        },
    ),
    function(
        "first",
        X,
        "the first value, at all times: `x - first(x)` starts at 0",
        UnitRule::Same,
        |_, values, _| {
            let first = values.iter().find(|value| !value.is_nan());
            Ok(vec![first.copied().unwrap_or(f64::NAN); values.len()])
        },
    ),
    function(
        "mean",
        X,
        "the mean of all values, at all times",
        UnitRule::Same,
        |_, values, _| {
            let known = values.iter().filter(|value| value.is_finite());
            let (sum, count) = known
                .fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
            Ok(vec![sum / count as f64; values.len()])
        },
    ),
    Function {
        source: "numpy.unwrap",
        ..function(
            "unwrap",
            &[parameter("x", Kind::Series), optional("period", f64::NAN)],
            "an angle without jumps: multiples of `period` are added, so that no step is longer \
             than half of it; the period is 360 if the unit is °, else 2π",
            UnitRule::Same,
            unwrap,
        )
    },
];

/// Computes each value with `compute`, from the seconds since the previous value, the previous
/// value, and the value itself. The first result is NaN.
fn with_previous(
    times: &[i64],
    values: &[f64],
    compute: impl Fn(f64, f64, f64) -> f64,
) -> Vec<f64> {
    let pairs = times.windows(2).zip(values.windows(2));
    let results = pairs.map(|(times, values)| match (times, values) {
        ([start, end], [previous, value]) => {
            compute(seconds_between(*start, *end), *previous, *value)
        }
        _ => f64::NAN,
    });
    let first = values.first().map(|_| f64::NAN);
    first.into_iter().chain(results).collect()
}

fn integral(times: &[i64], values: &[f64], _: &[f64]) -> Result<Vec<f64>, String> {
    let mut sum = 0.0;
    let mut last: Option<(i64, f64)> = None;
    let rows = times.iter().zip(values).map(|(time, value)| {
        let previous = last.replace((*time, *value));
        if !value.is_finite() {
            return f64::NAN;
        }
        if let Some((last_time, last)) = previous.filter(|(_, last)| last.is_finite()) {
            sum += (last + value) / 2.0 * seconds_between(last_time, *time);
        }
        sum
    });
    Ok(rows.collect())
}

fn samples_per_second(
    times: &[i64],
    _: &[f64],
    numbers: &[f64],
) -> Result<Vec<f64>, String> {
    let seconds = positive(numbers, "seconds")?;
    let mut oldest = 0;
    let mut counts = Vec::with_capacity(times.len());
    for (row, time) in times.iter().enumerate() {
        let is_old = |old: &i64| seconds_between(*old, *time) >= seconds;
        while times.get(oldest).is_some_and(is_old) {
            oldest += 1;
        }
        counts.push((row + 1).saturating_sub(oldest) as f64 / seconds);
    }
    Ok(counts)
}

fn unwrap(_: &[i64], values: &[f64], numbers: &[f64]) -> Result<Vec<f64>, String> {
    let period = match number(numbers, 0) {
        period if period.is_nan() => std::f64::consts::TAU,
        _ => positive(numbers, "period")?,
    };
    let (mut last, mut offset) = (f64::NAN, 0.0);
    let rows = values.iter().map(|value| {
        let step = value - last;
        if !value.is_finite() {
            return f64::NAN;
        }
        last = *value;
        if step.abs() >= period / 2.0 {
            let wrapped = step - period * ((step + period / 2.0) / period).floor();
            // A step of exactly half a period keeps its direction.
            let is_kept = wrapped == -period / 2.0 && step > 0.0;
            offset += if is_kept { period / 2.0 } else { wrapped } - step;
        }
        value + offset
    });
    Ok(rows.collect())
}

/// Returns the first constant argument.
///
/// # Errors
/// It is not positive.
pub(super) fn positive(numbers: &[f64], name: &str) -> Result<f64, String> {
    let value = number(numbers, 0);
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(format!("`{name}` must be positive, and is {value}"))
}
