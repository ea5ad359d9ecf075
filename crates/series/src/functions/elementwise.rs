//! Operators, and functions of single values.

use std::f64::consts::TAU;

use crate::functions::{
    Function, Group, Kernel, Kind, Output, Parameter, UnitRule, each_parameter,
    optional,
};

const fn operator(
    name: &'static str,
    summary: &'static str,
    unit: UnitRule,
    kernel: fn(&[f64]) -> f64,
) -> Function {
    Function {
        name,
        group: Group::Operators,
        parameters: A_AND_B,
        summary,
        source: "",
        is_variadic: false,
        output: Output::Each(unit),
        kernel: Kernel::Map(kernel),
    }
}

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    unit: UnitRule,
    kernel: fn(&[f64]) -> f64,
) -> Function {
    Function {
        name,
        group: Group::Values,
        parameters,
        summary,
        source: "",
        is_variadic: false,
        output: Output::Each(unit),
        kernel: Kernel::Map(kernel),
    }
}

const X: &[Parameter] = &[each_parameter("x")];
const A_AND_B: &[Parameter] = &[each_parameter("a"), each_parameter("b")];
const NUMBER: UnitRule = UnitRule::Known("");
const RADIANS: UnitRule = UnitRule::Known("rad");

pub(super) const OPERATORS: &[Function] = &[
    operator("or", "1 if a or b is true, else 0", UnitRule::State, |x| {
        pair(x, |a, b| condition(condition(a) + condition(b)))
    }),
    operator("and", "1 if a and b are true, else 0", UnitRule::State, |x| {
        pair(x, |a, b| condition(a) * condition(b))
    }),
    operator("==", "1 if they are equal, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a == b)
    }),
    operator("!=", "1 if they differ, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a != b)
    }),
    operator("<", "1 if a is less, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a < b)
    }),
    operator("<=", "1 if a is not greater, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a <= b)
    }),
    operator(">", "1 if a is greater, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a > b)
    }),
    operator(">=", "1 if a is not less, else 0", UnitRule::State, |x| {
        compare(x, |a, b| a >= b)
    }),
    operator("+", "the sum", UnitRule::Common, |x| pair(x, |a, b| a + b)),
    operator("-", "the difference", UnitRule::Common, |x| pair(x, |a, b| a - b)),
    operator("*", "the product", UnitRule::Product, |x| pair(x, |a, b| a * b)),
    operator("/", "the quotient", UnitRule::Quotient, |x| pair(x, |a, b| a / b)),
    operator("^", "a to the power of b", UnitRule::Unknown, |x| pair(x, f64::powf)),
    Function {
        parameters: X,
        ..operator("negate", "minus the value", UnitRule::Same, |x| single(x, |x| -x))
    },
];

pub(super) const FUNCTIONS: &[Function] = &[
    function("abs", X, "the absolute value of `x`", UnitRule::Same, |x| {
        single(x, f64::abs)
    }),
    function("sign", X, "-1, 0 or 1: the sign of `x`", UnitRule::State, |x| {
        single(x, |x| if x == 0.0 { 0.0 } else { x.signum() })
    }),
    function(
        "floor",
        X,
        "the largest integer that is not above `x`",
        UnitRule::Same,
        |x| single(x, f64::floor),
    ),
    function(
        "ceil",
        X,
        "the smallest integer that is not below `x`",
        UnitRule::Same,
        |x| single(x, f64::ceil),
    ),
    function(
        "round",
        X,
        "the nearest integer; halves are rounded to even",
        UnitRule::Same,
        |x| single(x, f64::round_ties_even),
    ),
    function("sqrt", X, "the square root of `x`", UnitRule::SquareRoot, |x| {
        single(x, f64::sqrt)
    }),
    function("exp", X, "e to the power of `x`", NUMBER, |x| single(x, f64::exp)),
    function("log", X, "the natural logarithm of `x`", NUMBER, |x| single(x, f64::ln)),
    function("log10", X, "the decimal logarithm of `x`", NUMBER, |x| {
        single(x, f64::log10)
    }),
    function("sin", X, "the sine of `x` in radians", NUMBER, |x| single(x, f64::sin)),
    function("cos", X, "the cosine of `x` in radians", NUMBER, |x| single(x, f64::cos)),
    function("tan", X, "the tangent of `x` in radians", NUMBER, |x| {
        single(x, f64::tan)
    }),
    function("asin", X, "the arc sine of `x` in radians", RADIANS, |x| {
        single(x, f64::asin)
    }),
    function("acos", X, "the arc cosine of `x` in radians", RADIANS, |x| {
        single(x, f64::acos)
    }),
    function("atan", X, "the arc tangent of `x` in radians", RADIANS, |x| {
        single(x, f64::atan)
    }),
    function(
        "atan2",
        &[each_parameter("y"), each_parameter("x")],
        "the angle of the point (`x`, `y`) in radians, from -π to π",
        RADIANS,
        |x| pair(x, f64::atan2),
    ),
    function("deg", X, "radians in degrees: `x` · 180 / π", UnitRule::Degrees, |x| {
        single(x, |x| x * (180.0 / std::f64::consts::PI))
    }),
    function("rad", X, "degrees in radians: `x` · π / 180", UnitRule::Radians, |x| {
        single(x, |x| x * (std::f64::consts::PI / 180.0))
    }),
    function(
        "mod",
        &[each_parameter("a"), each_parameter("b")],
        "the remainder `a` - `b` · floor(`a` / `b`), also written `a % b`",
        UnitRule::Same,
        |x| pair(x, |a, b| a - b * (a / b).floor()),
    ),
    Function {
        is_variadic: true,
        ..function(
            "min",
            &[each_parameter("a"), each_parameter("b")],
            "the smallest of the values",
            UnitRule::Common,
            |x| fold(x, f64::min),
        )
    },
    Function {
        is_variadic: true,
        ..function(
            "max",
            &[each_parameter("a"), each_parameter("b")],
            "the largest of the values",
            UnitRule::Common,
            |x| fold(x, f64::max),
        )
    },
    function(
        "clamp",
        &[each_parameter("x"), each_parameter("low"), each_parameter("high")],
        "`x`, but at least `low` and at most `high`",
        UnitRule::Same,
        |x| match x {
            [x, low, high] if x.is_nan() || low.is_nan() || high.is_nan() => f64::NAN,
            [x, low, high] => x.max(*low).min(*high),
            _ => f64::NAN,
        },
    ),
    function(
        "where",
        &[each_parameter("condition"), each_parameter("a"), each_parameter("b")],
        "`a` where the condition is true (not 0), else `b`",
        UnitRule::CommonRest,
        |x| match x {
            [condition, ..] if condition.is_nan() => f64::NAN,
            [condition, a, b] => {
                if *condition == 0.0 {
                    *b
                } else {
                    *a
                }
            }
            _ => f64::NAN,
        },
    ),
    function("not", X, "1 if `x` is 0, else 0", UnitRule::State, |x| {
        single(x, |x| 1.0 - condition(x))
    }),
    function(
        "scale",
        &[
            each_parameter("x"),
            each_parameter("factor"),
            Parameter { kind: Kind::Each, ..optional("offset", 0.0) },
        ],
        "`x` · `factor` + `offset`",
        UnitRule::Same,
        |x| match x {
            [x, factor, offset] => x * factor + offset,
            _ => f64::NAN,
        },
    ),
    function(
        "offset",
        &[each_parameter("x"), each_parameter("amount")],
        "`x` + `amount`",
        UnitRule::Same,
        |x| pair(x, |a, b| a + b),
    ),
    function(
        "wrap",
        &[each_parameter("x"), optional("period", f64::NAN)],
        "an angle from -`period` / 2 up to `period` / 2; the period is 360 if the unit is °, \
         else 2π",
        UnitRule::Same,
        |x| {
            pair(x, |x, period| {
                let period = if period.is_nan() { TAU } else { period };
                x - period * ((x + period / 2.0) / period).floor()
            })
        },
    ),
];

fn single(values: &[f64], compute: impl Fn(f64) -> f64) -> f64 {
    values.first().map_or(f64::NAN, |x| compute(*x))
}

fn pair(values: &[f64], compute: impl Fn(f64, f64) -> f64) -> f64 {
    match values {
        [a, b] => compute(*a, *b),
        _ => f64::NAN,
    }
}

fn fold(values: &[f64], choose: fn(f64, f64) -> f64) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    values.iter().copied().reduce(choose).unwrap_or(f64::NAN)
}

/// Converts a value to a condition: 0 if it is 0, NaN if it is missing, 1 otherwise.
fn condition(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { f64::from(u8::from(value != 0.0)) }
}

fn compare(values: &[f64], holds: fn(f64, f64) -> bool) -> f64 {
    pair(values, |a, b| {
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        f64::from(u8::from(holds(a, b)))
    })
}
