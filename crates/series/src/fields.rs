//! The fields of expressions: their names, types and values.

use std::{ops::Range, sync::Arc};

/// A field of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldName {
    /// The name, without quotes.
    pub name: String,
    /// The byte range of its first occurrence in the text.
    pub span: Range<usize>,
}

/// The type of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldType {
    /// The components: one for a number, several for a vector.
    pub components: Vec<FieldComponent>,
    /// Whether a value lasts until the next one, e.g. the values of states.
    pub is_held: bool,
}

/// A component of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldComponent {
    /// The name, e.g. `x`, or the index, e.g. `0`; empty for the component of a number.
    pub name: String,
    /// The unit; empty if it is unknown.
    pub unit: String,
}

impl FieldType {
    /// Returns the type of a number with the unit `unit`; empty if the unit is unknown.
    pub fn number(unit: impl Into<String>) -> Self {
        Self::vector([("", unit)])
    }

    /// Returns the type of a vector, from the names and units of its components.
    pub fn vector<N: Into<String>, U: Into<String>>(
        components: impl IntoIterator<Item = (N, U)>,
    ) -> Self {
        let component = |(name, unit): (N, U)| FieldComponent {
            name: name.into(),
            unit: unit.into(),
        };
        Self {
            components: components.into_iter().map(component).collect(),
            is_held: false,
        }
    }

    /// Declares that a value lasts until the next one.
    #[must_use]
    pub fn held(self) -> Self {
        Self { is_held: true, ..self }
    }
}

/// The values of a field.
#[derive(Clone, Debug)]
pub struct FieldValues {
    pub(crate) times: Arc<[i64]>,
    pub(crate) columns: Vec<Arc<[f64]>>,
}

impl FieldValues {
    /// Creates the values of a field. `times` are in nanoseconds, and `columns` are the values of
    /// each component at these times. The rows are sorted by time; rows with equal times keep their
    /// order. Returns `None` if a column does not have one value for each time.
    pub fn new(times: Vec<i64>, columns: Vec<Vec<f64>>) -> Option<Self> {
        if columns.iter().any(|column| column.len() != times.len()) {
            return None;
        }
        if times.is_sorted() {
            let columns = columns.into_iter().map(Into::into).collect();
            return Some(Self { times: times.into(), columns });
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|row| times.get(*row));
        let sorted = |column: Vec<f64>| {
            let value = |row: &usize| column.get(*row).copied().unwrap_or(f64::NAN);
            order.iter().map(value).collect()
        };
        let columns = columns.into_iter().map(sorted).collect();
        let time = |row: &usize| times.get(*row).copied().unwrap_or_default();
        Some(Self { times: order.iter().map(time).collect(), columns })
    }
}
