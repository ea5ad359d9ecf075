//! Merging the columns of messages with different fields.
//!
//! Fields of two messages form one column if they have the same name and number of values, and are
//! both floats or both integers: the column has the narrowest type for both. If a field is a float
//! in one message and an integer in another, it forms two columns, because the quantities most
//! likely differ: e.g. an intensity up to 1 and one up to 255, or colors as bits of a float and as
//! a number.

use logtool_core::Primitive;

use crate::points::{PointColumn, PointColumnType, PointSchema};

impl PointSchema {
    /// Adds the columns of `other`, unless the result would exceed a limit.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut merged = self.clone();
        // Each column receives at most one column of `other`.
        let mut is_used = vec![false; merged.columns.len()];
        for (index, column) in other.columns.iter().enumerate() {
            let key = (column.name.as_bytes(), column.kind, column.count);
            let is_free = |index: usize| is_used.get(index) == Some(&false);
            let same = merged.find_column(key, index, is_free).and_then(|index| {
                Some((merged.columns.get_mut(index)?, is_used.get_mut(index)?))
            });
            match same {
                Some((same, is_used)) => {
                    same.kind = same.kind.common_type(column.kind).unwrap_or(same.kind);
                    *is_used = true;
                }
                None => {
                    merged.columns.push(column.clone());
                    is_used.push(true);
                }
            }
        }
        let has_rows = self.has_rows || other.has_rows;
        if let Some(merged) = Self::new(merged.columns, has_rows) {
            *self = merged;
        }
    }

    /// Returns the index of the column for values with this name, type and count: the first free
    /// column that matches. The column `index` is tried first, because nearly all messages have the
    /// same fields in the same order.
    pub(crate) fn find_column(
        &self,
        (name, kind, count): (&[u8], PointColumnType, u32),
        index: usize,
        is_free: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let is_named = |column: &PointColumn| {
            column.name.as_bytes() == name
                || column.name == logtool_core::decode_text(name)
        };
        let matches = |index: &usize| {
            let column = self.columns.get(*index).filter(|_| is_free(*index));
            column.is_some_and(|column| {
                column.count == count
                    && column.kind.common_type(kind).is_some()
                    && is_named(column)
            })
        };
        [index].into_iter().chain(0..self.columns.len()).find(matches)
    }
}

impl PointColumnType {
    /// Returns whether a column of this type can store numbers of the type `other`.
    pub(crate) fn can_store(self, other: Primitive) -> bool {
        self.common_type(Self::Number(other)) == Some(self)
    }

    /// Returns the type of a column for values of both types, or `None` if they need two columns.
    fn common_type(self, other: Self) -> Option<Self> {
        match (self, other) {
            (one, other) if one == other => Some(one),
            (Self::Number(one), Self::Number(other)) => {
                common_number_type(one, other).map(Self::Number)
            }
            _ => None,
        }
    }
}

/// Returns the narrowest type for numbers of both types, or `None` if one is a float and the other
/// an integer.
fn common_number_type(first: Primitive, other: Primitive) -> Option<Primitive> {
    use Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32};
    const INTEGERS: [Primitive; 7] = [U8, I8, U16, I16, U32, I32, I64];
    if matches!((first, other), (F32 | F64, F32 | F64)) {
        return Some(F64);
    }
    let can_store = |wider: Primitive, narrower: Primitive| {
        let is_signed = |primitive| matches!(primitive, I8 | I16 | I32 | I64);
        let fits = match (is_signed(wider), is_signed(narrower)) {
            (false, true) => false,
            (true, false) => narrower.size() < wider.size(),
            _ => narrower.size() <= wider.size(),
        };
        fits && INTEGERS.contains(&narrower)
    };
    INTEGERS
        .into_iter()
        .find(|wider| can_store(*wider, first) && can_store(*wider, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_type_is_the_narrowest_for_both() {
        use Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32};
        for (first, other, expected) in [
            (F32, F64, Some(F64)),
            (U8, U16, Some(U16)),
            (U8, I8, Some(I16)),
            (U16, I16, Some(I32)),
            (U32, I8, Some(I64)),
            (I32, U8, Some(I32)),
            (I64, U32, Some(I64)),
            (U8, F32, None),
            (F64, I32, None),
        ] {
            assert_eq!(
                common_number_type(first, other),
                expected,
                "{first:?} {other:?}"
            );
            assert_eq!(
                common_number_type(other, first),
                expected,
                "{other:?} {first:?}"
            );
        }
    }
}
