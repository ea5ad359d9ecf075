//! Expressions: text that is parsed, checked with the types of its fields, and evaluated.

use std::sync::Arc;

use crate::{
    check,
    error::{ExpressionError, Result},
    evaluate,
    fields::{FieldName, FieldType, FieldValues},
    parser::parse,
    plan::{Component, Plan},
    syntax::Node,
};

/// An expression whose syntax is correct.
///
/// ```
/// use logtool_series::{Expression, FieldType, FieldValues};
///
/// let expression = Expression::parse("derivative(position.x)")?;
/// let checked = expression.check(&[FieldType::number("m")])?;
/// let times = vec![0, 1_000_000_000, 3_000_000_000];
/// let x = FieldValues::new(times, vec![vec![1.0, 3.0, 3.0]]).unwrap();
/// let series = checked.evaluate(&[x])?;
/// assert_eq!(series.components[0].unit, "m/s");
/// assert_eq!(series.components[0].values[1..], [2.0, 0.0]);
/// # Ok::<(), logtool_series::ExpressionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    node: Node,
    fields: Vec<FieldName>,
}

/// An expression whose arguments have suitable types.
#[derive(Clone, Debug)]
pub struct CheckedExpression {
    pub(crate) plan: Plan,
    pub(crate) components: Vec<Component>,
    is_held: bool,
    field_components: Vec<usize>,
}

/// The values of an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Series {
    /// The times in nanoseconds, in ascending order: the times of the first field, unless a
    /// function changes them.
    pub times: Arc<[i64]>,
    /// The components: one for a number, several for a vector.
    pub components: Vec<SeriesComponent>,
    /// Whether a value lasts until the next one, e.g. the values of states.
    pub is_held: bool,
}

/// A component of a series.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeriesComponent {
    /// The name, e.g. `x`, or the index, e.g. `0`; empty for the component of a number.
    pub name: String,
    /// The unit; empty if it is unknown, or if the values have no unit.
    pub unit: String,
    /// The values, as many as there are times. A missing value is NaN.
    pub values: Arc<[f64]>,
}

impl Expression {
    /// Parses `text`.
    ///
    /// # Errors
    /// If the syntax is wrong, or there is no such function.
    pub fn parse(text: &str) -> Result<Self> {
        let (node, fields) = parse(text)?;
        Ok(Self { node, fields })
    }

    /// Returns the fields of the expression, without repetitions.
    pub fn fields(&self) -> &[FieldName] {
        &self.fields
    }

    /// Checks the arguments of functions. `types` are the types of the [`fields`](Self::fields), in
    /// the same order.
    ///
    /// # Errors
    /// If a function is called with the wrong arguments, or the expression is a constant.
    pub fn check(&self, types: &[FieldType]) -> Result<CheckedExpression> {
        let typed = check::check(&self.node, types)?;
        if typed.is_constant {
            let error = ExpressionError::new(
                "the expression has no field",
                self.node.span.clone(),
            );
            return Err(error.with_hint("a field is a topic and a name: `topic.field`"));
        }
        Ok(CheckedExpression {
            plan: typed.plan,
            components: typed.components,
            is_held: typed.is_held,
            field_components: types
                .iter()
                .map(|field_type| field_type.components.len())
                .collect(),
        })
    }
}

impl CheckedExpression {
    /// Returns the names and units of the components of the result.
    pub fn components(&self) -> impl Iterator<Item = (&str, &str)> {
        self.components
            .iter()
            .map(|component| (&*component.name, component.unit.name()))
    }

    /// Returns whether a value lasts until the next one, e.g. the values of states.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Computes the series. `fields` are the values of the [`fields`](Expression::fields), in the
    /// same order.
    ///
    /// For n values and an expression of length m, this needs O(n m) time and memory, and
    /// O(n m log n) time with `moving_median` or with unsorted times.
    ///
    /// # Errors
    /// If a constant argument does not suit the values, e.g. if the cutoff of a filter is too high
    /// for their rate, or if `fields` do not have the types that were checked.
    pub fn evaluate(&self, fields: &[FieldValues]) -> Result<Series> {
        let counts = fields.iter().map(|field| field.columns.len());
        if !counts.eq(self.field_components.iter().copied()) {
            let message = "the fields are not those that were checked";
            return Err(ExpressionError::new(message, 0..0));
        }
        let values = evaluate::evaluate(&self.plan, fields)?;
        let times = values.times.unwrap_or_default();
        let components = self.components.iter().zip(values.columns);
        let components = components.map(|(component, values)| SeriesComponent {
            name: component.name.clone(),
            unit: component.unit.name().to_owned(),
            values,
        });
        Ok(Series { times, components: components.collect(), is_held: self.is_held })
    }
}
