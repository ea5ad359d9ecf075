//! The functions of the language: their names, parameters, formulas and kernels.

mod elementwise;
mod estimators;
mod filters;
mod kalman_filter;
mod positions;
mod resampling;
mod rotations;
mod simulations;
mod sliding_window;
mod time_series;

use std::sync::Arc;

use crate::values::Values;

/// A function of the language.
#[derive(Debug)]
pub struct Function {
    /// The name. The name of an operator is its symbol.
    pub name: &'static str,
    /// The group in the documentation.
    pub group: Group,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// A description of the result with its formula.
    pub summary: &'static str,
    /// The source of the formula; empty if it is common knowledge.
    pub source: &'static str,
    /// Whether the last parameter may be repeated.
    pub(crate) is_variadic: bool,
    pub(crate) output: Output,
    pub(crate) kernel: Kernel,
}

/// A group of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// Operators.
    Operators,
    /// Functions of single values.
    Values,
    /// Derivatives, integrals and other functions over time.
    Time,
    /// Filters and moving statistics.
    Filters,
    /// Vectors and rotations.
    Vectors,
    /// Positions on the Earth.
    Positions,
    /// Detectors, estimators and simulations.
    Models,
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Parameter {
    /// The name, which may precede an argument: `cutoff=2`.
    pub name: &'static str,
    pub(crate) kind: Kind,
    /// The default value; `NaN` if the function chooses it; `None` if the argument is required.
    pub default: Option<f64>,
}

/// The kind of arguments that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers or vectors. The function is applied to each component of a vector.
    Each,
    /// Like `Each`, but not a constant.
    Series,
    /// A number or a series of numbers, but not a vector.
    Scalar,
    /// Like `Scalar`, for an angle. Angles with another known unit are converted to degrees.
    Degrees,
    /// A constant number.
    Number,
    /// A vector with any number of components.
    Vector,
    /// A vector with three components.
    Vector3,
    /// A quaternion with the components w, x, y and z.
    Quaternion,
}

/// The components of a result, and their units.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// The components of the arguments of the kind `Each`.
    Each(UnitRule),
    /// The components of the first argument.
    First,
    /// The components with these names. The unit rules are applied to the first component of each
    /// argument. A single component is a number.
    Components(&'static [(&'static str, UnitRule)]),
    /// A component for each argument.
    Arguments,
}

/// The rule that determines the unit of a result from the units of the arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitRule {
    Unknown,
    Same,
    Common,
    /// The common unit of all arguments but the first.
    CommonRest,
    Product,
    Quotient,
    Derivative,
    Integral,
    Degrees,
    Radians,
    SquareRoot,
    Known(&'static str),
    /// A state, which lasts until the next value.
    State,
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    /// Computes a value from the values of the arguments at the same time.
    Map(fn(&[f64]) -> f64),
    /// Computes a series from times in nanoseconds, values and constant numbers.
    Column(ColumnKernel),
    /// Computes all components at a time from the components of all arguments at this time.
    Row(fn(&[f64], &mut [f64])),
    /// Computes all components over the whole time.
    Table(TableKernel),
    /// Computes values with other times.
    Times(TimesKernel),
}

pub(crate) type ColumnKernel =
    fn(times: &[i64], values: &[f64], numbers: &[f64]) -> Result<Vec<f64>, String>;
pub(crate) type TableKernel = fn(&Table<'_>) -> Result<Vec<Vec<f64>>, String>;
pub(crate) type TimesKernel =
    fn(arguments: &[Values], numbers: &[f64]) -> Result<Values, String>;

/// The arguments of a function over the whole time.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// The times in nanoseconds.
    pub(crate) times: &'a [i64],
    /// The components of all arguments, as long as the times.
    pub(crate) columns: Vec<Arc<[f64]>>,
    /// The constant arguments.
    pub(crate) numbers: &'a [f64],
}

impl Table<'_> {
    /// Returns the value of the component `column` at the index `row`.
    fn value(&self, column: usize, row: usize) -> f64 {
        let value = self.columns.get(column).and_then(|values| values.get(row));
        value.copied().unwrap_or(f64::NAN)
    }

    /// Returns the constant argument `index`.
    fn number(&self, index: usize) -> f64 {
        number(self.numbers, index)
    }
}

/// Returns the constant argument `index`, which exists in a checked expression.
fn number(numbers: &[f64], index: usize) -> f64 {
    numbers.get(index).copied().unwrap_or(f64::NAN)
}

/// Returns the time from `start` to `end`, both in nanoseconds, in seconds.
fn seconds_between(start: i64, end: i64) -> f64 {
    (i128::from(end) - i128::from(start)) as f64 / 1e9
}

/// Converts seconds to nanoseconds. The result saturates.
fn nanos(seconds: f64) -> i64 {
    // `as` saturates.
    (seconds * 1e9).round() as i64
}

/// Creates a required parameter of the kind `Each`.
const fn each_parameter(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Each, default: None }
}

/// Creates a required parameter.
const fn parameter(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind, default: None }
}

/// Creates a required parameter for a constant number.
const fn constant(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Number, default: None }
}

/// Creates an optional parameter for a constant number.
const fn optional(name: &'static str, default: f64) -> Parameter {
    Parameter { name, kind: Kind::Number, default: Some(default) }
}

/// The functions, in the order of the documentation.
const ALL: [&[Function]; 8] = [
    elementwise::OPERATORS,
    elementwise::FUNCTIONS,
    time_series::FUNCTIONS,
    resampling::FUNCTIONS,
    filters::FUNCTIONS,
    rotations::FUNCTIONS,
    positions::FUNCTIONS,
    MODELS,
];

const MODELS: &[Function] = &[
    estimators::LAND_DETECTOR,
    estimators::BATTERY_REMAINING,
    estimators::POSITION_ESTIMATE,
    kalman_filter::POSITION_KALMAN,
    simulations::POSITION_PID,
    simulations::POSITION_RATE_PID,
];

fn all_functions() -> impl Iterator<Item = &'static Function> {
    static TABLE: [&[Function]; 8] = ALL;
    TABLE.iter().flat_map(|functions| functions.iter())
}

/// Returns the function or operator with this name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    all_functions().find(|function| function.name == name)
}

/// Returns the functions that have names, in the order of the documentation.
pub fn public() -> impl Iterator<Item = &'static Function> {
    all_functions().filter(|function| function.group != Group::Operators)
}

impl Function {
    /// Returns the name with the parameters: `low_pass(x, cutoff)`.
    pub fn signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| match parameter.default {
                None => parameter.name.to_owned(),
                Some(default) if default.is_nan() => format!("[{}]", parameter.name),
                Some(default) => format!("{}={default}", parameter.name),
            })
            .collect();
        let ellipsis = if self.is_variadic { ", ..." } else { "" };
        format!("{}({}{ellipsis})", self.name, parameters.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_function_is_described() {
        let mut names = BTreeSet::new();
        for function in all_functions() {
            assert!(names.insert(function.name), "{}", function.name);
            assert!(function.summary.len() > 5, "{}", function.name);
            let mut parameters = BTreeSet::new();
            assert!(function.parameters.iter().all(|p| parameters.insert(p.name)));
        }
    }

    #[test]
    fn constants_follow_values_and_defaults_come_last() {
        for function in all_functions() {
            let is_number = |p: &Parameter| p.kind == Kind::Number;
            let numbers: Vec<bool> =
                function.parameters.iter().map(is_number).collect();
            assert!(numbers.is_sorted(), "{}", function.name);
            let defaults: Vec<bool> =
                function.parameters.iter().map(|p| p.default.is_some()).collect();
            assert!(defaults.is_sorted(), "{}", function.name);
        }
    }

    #[test]
    fn signature_states_defaults() {
        let signature = |name| find(name).unwrap().signature();
        assert_eq!(signature("low_pass"), "low_pass(x, cutoff)");
        assert_eq!(signature("remove_outliers"), "remove_outliers(x, factor=100)");
        assert_eq!(signature("wrap"), "wrap(x, [period])");
        assert_eq!(signature("max"), "max(a, b, ...)");
    }
}
