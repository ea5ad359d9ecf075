//! A limit on the columns of all topics of a log.

use arrow_schema::{Schema, SchemaRef};

use crate::{
    decode::columns::LayoutDecoder,
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder as _},
    model::layout::Layout,
};

/// The maximum number of columns in all topics, and the maximum size of their names in
/// bytes.
const MAX_COLUMNS: usize = 1 << 20;
const MAX_NAME_BYTES: usize = 64 << 20;

/// The number of columns to count for a type that has too many for one table. Detecting
/// this takes as long as creating that many columns.
const REFUSED_TYPE_COLUMNS: usize = 1 << 16;

/// The columns of a log's topics so far, which must not exceed a budget. A definition of a few lines
/// can have as many columns as a table may have, and a log can contain tens of thousands
/// of definitions. Topics that exceed the budget are only available as [raw
/// bytes](crate::raw_schema).
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnBudget {
    /// The number of columns so far, and the size of their names in bytes.
    columns: usize,
    name_bytes: usize,
}

impl ColumnBudget {
    /// Returns the columns of `layout`, and counts them.
    ///
    /// # Errors
    /// `Limit` if they are too many for one table, or exceed the budget.
    pub fn schema(&mut self, layout: &Layout) -> Result<SchemaRef> {
        self.check()?;
        match LayoutDecoder::new(layout, &Columns::default()) {
            Ok(decoder) => {
                let schema = decoder.schema().clone();
                self.admit(&schema)?;
                Ok(schema)
            }
            Err(err) => {
                self.refuse();
                Err(err)
            }
        }
    }

    /// Counts the columns of another topic.
    ///
    /// # Errors
    /// `Limit` if they exceed the budget.
    pub fn admit(&mut self, schema: &Schema) -> Result<()> {
        self.check()?;
        let columns = schema.flattened_fields();
        self.columns += columns.len();
        let name_lengths = columns.iter().map(|field| field.name().len());
        self.name_bytes += name_lengths.sum::<usize>();
        self.check()
    }

    /// Counts a type that has too many columns for one table, because detecting this
    /// takes time.
    pub fn refuse(&mut self) {
        self.columns += REFUSED_TYPE_COLUMNS;
    }

    /// Checks that the budget is not exhausted.
    ///
    /// # Errors
    /// `Limit` if it is.
    pub fn check(&self) -> Result<()> {
        if self.columns > MAX_COLUMNS || self.name_bytes > MAX_NAME_BYTES {
            let message = "the topics have over a million columns";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::layout::{FieldRole, LayoutField, LayoutKind, Primitive};

    fn layout(columns: usize) -> Layout {
        let field = |index| LayoutField {
            name: format!("x{index}"),
            kind: LayoutKind::Primitive(Primitive::U8),
            count: None,
            offset: 0,
            role: FieldRole::Plain,
        };
        Layout::from_fields("wide".to_owned(), (0..columns).map(field).collect())
            .unwrap()
    }

    #[test]
    fn columns_above_the_budget_are_refused() {
        let (mut budget, wide) = (ColumnBudget::default(), layout(60_000));
        let admitted = (0..100).take_while(|_| budget.schema(&wide).is_ok()).count();
        assert_eq!(admitted, 17); // 17 × 60,001 < 1,048,576 < 18 × 60,001
        assert_eq!(budget.schema(&layout(1)).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn types_that_are_too_wide_use_up_the_budget() {
        let (mut budget, wide) = (ColumnBudget::default(), layout(70_000));
        (0..17).for_each(|_| assert!(budget.schema(&wide).is_err()));
        assert!(budget.schema(&layout(1)).is_err());
    }
}
