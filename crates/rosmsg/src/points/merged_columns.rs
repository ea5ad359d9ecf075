//! The columns of messages with different fields.
//!
//! Fields form one column if they have the same name and number of values, and are all floats or
//! all integers: the column has the narrowest type for both. A name with a float in one message and
//! an integer in another forms two columns, because the quantities most likely differ: e.g. an
//! intensity up to 1 and one up to 255, or colors as bits of a float and as a number.

use logtool_core::Primitive;

use crate::points::{PointColumn, PointColumnType, PointSchema};

impl PointSchema {
    /// Adds the columns of `other`, unless there would be more than any sensor has.
    pub(crate) fn join(&mut self, other: &Self) {
        let mut joined = self.clone();
        let mut is_taken = vec![false; joined.columns.len()];
        for (index, column) in other.columns.iter().enumerate() {
            let key = (column.name.as_bytes(), column.kind, column.count);
            let is_free = |at: usize| is_taken.get(at) == Some(&false);
            let at = joined.find_column(key, index, is_free);
            match at.and_then(|at| {
                Some((joined.columns.get_mut(at)?, is_taken.get_mut(at)?))
            }) {
                Some((find_column, is_taken)) => {
                    find_column.kind = find_column
                        .kind
                        .common_type(column.kind)
                        .unwrap_or(find_column.kind);
                    *is_taken = true;
                }
                None => {
                    joined.columns.push(column.clone());
                    is_taken.push(true);
                }
            }
        }
        let has_rows = self.has_rows || other.has_rows;
        if let Some(joined) = Self::new(joined.columns, has_rows) {
            *self = joined;
        }
    }

    /// Returns the index of the column for values of this name, type and count: `index`, or the
    /// first that matches, among the free columns.
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
        let fits = |at: &usize| {
            let column = self.columns.get(*at).filter(|_| is_free(*at));
            column.is_some_and(|column| {
                column.count == count
                    && column.kind.common_type(kind).is_some()
                    && is_named(column)
            })
        };
        [index].into_iter().chain(0..self.columns.len()).find(fits)
    }
}

impl PointColumnType {
    /// Returns whether a column of this type can store numbers of the type `other`.
    pub(crate) fn can_store(self, other: Primitive) -> bool {
        self.common_type(Self::Number(other)) == Some(self)
    }

    /// Returns the type of a column for both.
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

/// Returns the narrowest type, among those of points, for numbers of both types.
fn common_number_type(first: Primitive, other: Primitive) -> Option<Primitive> {
    use Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32};
    const WHOLE: [Primitive; 7] = [U8, I8, U16, I16, U32, I32, I64];
    if matches!((first, other), (F32 | F64, F32 | F64)) {
        return Some(F64);
    }
    let holds = |wider: Primitive, narrower: Primitive| {
        let is_signed = |primitive| matches!(primitive, I8 | I16 | I32 | I64);
        let fits = match (is_signed(wider), is_signed(narrower)) {
            (false, true) => false,
            (true, false) => narrower.size() < wider.size(),
            _ => narrower.size() <= wider.size(),
        };
        fits && WHOLE.contains(&narrower)
    };
    WHOLE.into_iter().find(|wider| holds(*wider, first) && holds(*wider, other))
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
