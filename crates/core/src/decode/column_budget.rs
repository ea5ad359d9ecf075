//! How much the columns of all topics of a log may take together.

use arrow_schema::{Schema, SchemaRef};

use crate::{
    decode::columns::LayoutDecoder,
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder as _},
    model::layout::Layout,
};

/// How many columns all topics may have together, and how many bytes of names for them.
const MAX_COLUMNS: usize = 1 << 20;
const MAX_NAMES: usize = 64 << 20;

/// A type with too many columns for one table counts as so many: to find that out took
/// as long as to make them.
const REFUSED: usize = 1 << 16;

/// Room for the columns of the topics of a log. A definition of a few lines can have as
/// many columns as a table is given, and a log tens of thousands of definitions; topics
/// for which there is no room left are to have only [raw bytes](crate::raw_schema).
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnBudget {
    columns: usize,
    names: usize,
}

impl ColumnBudget {
    /// The columns of records that look like `layout`, counted.
    ///
    /// # Errors
    /// `Limit` if they are too many for a table, or with those before.
    pub fn schema(&mut self, layout: &Layout) -> Result<SchemaRef> {
        self.check()?;
        match LayoutDecoder::new(layout, &Columns::default()) {
            Ok(decoder) => {
                let schema = decoder.schema().clone();
                self.admit(&schema)?;
                Ok(schema)
            }
            Err(why) => {
                self.refuse();
                Err(why)
            }
        }
    }

    /// Counts the columns of another topic.
    ///
    /// # Errors
    /// `Limit` if they are too many with those before.
    pub fn admit(&mut self, schema: &Schema) -> Result<()> {
        self.check()?;
        let columns = schema.flattened_fields();
        self.columns += columns.len();
        self.names += columns.iter().map(|field| field.name().len()).sum::<usize>();
        self.check()
    }

    /// Counts the time that it took to find out that a type has too many columns.
    pub fn refuse(&mut self) {
        self.columns += REFUSED;
    }

    /// Whether there is some room left.
    ///
    /// # Errors
    /// `Limit` if there is none.
    pub fn check(&self) -> Result<()> {
        if self.columns > MAX_COLUMNS || self.names > MAX_NAMES {
            let what = "the topics have over a million columns";
            return Err(Error::new(ErrorKind::Limit, what));
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
        Layout::packed("wide".to_owned(), (0..columns).map(field).collect()).unwrap()
    }

    #[test]
    fn a_million_columns_are_the_end() {
        let (mut room, wide) = (ColumnBudget::default(), layout(60_000));
        let fit = (0..100).take_while(|_| room.schema(&wide).is_ok()).count();
        assert_eq!(fit, 17); // 17 × 60,001 < 1,048,576 < 18 × 60,001
        assert_eq!(room.schema(&layout(1)).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn types_that_are_too_wide_are_not_looked_at_for_ever() {
        let (mut room, wide) = (ColumnBudget::default(), layout(70_000));
        (0..17).for_each(|_| assert!(room.schema(&wide).is_err()));
        assert!(room.schema(&layout(1)).is_err());
    }
}
