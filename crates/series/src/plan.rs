//! The operations of a checked expression.

use std::ops::Range;

use crate::{
    functions::{ColumnKernel, TableKernel, TimesKernel},
    units::Unit,
};

/// An operation and its inputs.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Number(f64),
    /// The field with this index.
    Field(usize),
    /// Some components of a vector.
    Select {
        input: Box<Plan>,
        columns: Vec<usize>,
    },
    /// A function of the values at the same time, for each of `width` components.
    Map {
        compute: fn(&[f64]) -> f64,
        inputs: Vec<Plan>,
        width: usize,
    },
    /// A function of each component over the whole time.
    Column {
        compute: ColumnKernel,
        input: Box<Plan>,
        numbers: Vec<f64>,
        span: Range<usize>,
    },
    /// A function of all components at the same time, with `width` results.
    Row {
        compute: fn(&[f64], &mut [f64]),
        inputs: Vec<Plan>,
        width: usize,
    },
    /// A function of all components over the whole time.
    Table {
        compute: TableKernel,
        inputs: Vec<Plan>,
        numbers: Vec<f64>,
        span: Range<usize>,
    },
    /// A function that changes the times.
    Times {
        compute: TimesKernel,
        inputs: Vec<Plan>,
        numbers: Vec<f64>,
        span: Range<usize>,
    },
}

/// A component of a result.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) unit: Unit,
}
