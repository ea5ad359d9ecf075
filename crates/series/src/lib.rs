//! A small language for series that are computed from the fields of logs.
//!
//! An expression consists of fields, numbers, operators and functions:
//! `deg(yaw(vehicle_attitude.q))`, `derivative(vehicle_local_position.vx)`,
//! `norm(/imu/data.linear_acceleration) - 9.81`. This crate does not read logs. The caller provides
//! the type and then the values of each field of an expression.
//!
//! Fields with different times are combined at the times of the first field; the others keep their
//! last value until the next one. Missing values are NaN.
//!
//! Errors contain the byte range of the text that they refer to; [`excerpt`] draws carets below it.
//! See [`Expression`] for an example, and [`functions`] for the list of functions.

// In order of dependency: each module uses only those above it, except that the parser uses
// the names of functions.
mod error;
mod fields;
mod units;

mod lexer;
mod parser;
mod syntax;

mod functions;
mod values;

mod check;
mod plan;

mod evaluate;
mod expression;

mod reference;

pub use crate::{
    error::{ExpressionError, Result, excerpt},
    expression::{CheckedExpression, Expression, Series, SeriesComponent},
    fields::{FieldComponent, FieldName, FieldType, FieldValues},
    functions::{Function, Group, Parameter, public as functions},
    reference::{markdown_reference, text_reference},
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
