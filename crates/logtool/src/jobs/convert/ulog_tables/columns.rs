//! The columns of a table as the fields of a ULog format.
//!
//! Nested fields become names such as `header_frame_id`. Lists of numbers that have one length are
//! arrays; others are arrays of the longest one, filled with zeros, after a field with the number of
//! elements. Strings are arrays of characters, filled with zeros.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};

use crate::jobs::convert::ulog_tables::{
    fields::{FieldKind, Number, Step, TableField, Values},
    names::UniqueNames,
};

/// The maximum length of a string in bytes, and of a list in elements.
pub(super) const MAX_LEN: usize = 4_096;

/// The maximum number of structs in an array that becomes fields.
const MAX_STRUCTS: usize = 64;

/// The maximum length of a record: a message has 65,535 bytes, 2 of them for the topic.
const MAX_RECORD_BYTES: usize = u16::MAX as usize - 2;

/// The fields of a table.
pub(super) struct TableColumns {
    pub(super) fields: Vec<TableField>,
    /// The columns that a ULog cannot hold, and why.
    pub(super) dropped: Vec<(String, &'static str)>,
}

impl TableColumns {
    /// Returns the fields for the columns of `schema` after the first one, which is the time.
    pub(super) fn new(schema: &Schema) -> Self {
        let mut names = UniqueNames::new("field");
        names.add("timestamp");
        let mut columns = Self { fields: Vec::new(), dropped: Vec::new() };
        for (index, field) in schema.fields().iter().enumerate().skip(1) {
            columns.add(field, field.name(), &mut vec![Step::Child(index)], &mut names);
        }
        columns
    }

    fn add(
        &mut self,
        field: &FieldRef,
        column: &str,
        path: &mut Vec<Step>,
        names: &mut UniqueNames,
    ) {
        let kind = match field.data_type() {
            DataType::Struct(children) => {
                for (index, child) in children.iter().enumerate() {
                    path.push(Step::Child(index));
                    self.add(child, &format!("{column}.{}", child.name()), path, names);
                    path.pop();
                }
                return;
            }
            DataType::FixedSizeList(item, len) => {
                let len = usize::try_from(*len).unwrap_or_default();
                match Number::new(item.data_type()) {
                    Some(_) if len == 0 => return,
                    Some(number) => Ok(FieldKind::Array(number, len)),
                    None if len <= MAX_STRUCTS => {
                        for index in 0..len {
                            path.push(Step::Element(index));
                            self.add(item, &format!("{column}[{index}]"), path, names);
                            path.pop();
                        }
                        return;
                    }
                    None => Err("an array of too many values that are no numbers"),
                }
            }
            DataType::List(item) => match Number::new(item.data_type()) {
                Some(number) => Ok(FieldKind::List(number, 0)),
                None => Err("a list of values that are no numbers"),
            },
            DataType::Utf8 => Ok(FieldKind::Text(0)),
            DataType::Dictionary(_, value) if **value == DataType::Utf8 => {
                Ok(FieldKind::Text(0))
            }
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                Err("binary data")
            }
            other => Number::new(other).map(FieldKind::Number).ok_or("no type of ULog"),
        };
        match kind {
            Ok(kind) => {
                let count_name = matches!(kind, FieldKind::List(..))
                    .then(|| names.add(&format!("{column}_count")));
                self.fields.push(TableField {
                    name: names.add(column),
                    count_name,
                    column: column.to_owned(),
                    path: path.clone(),
                    kind,
                });
            }
            Err(reason) => self.dropped.push((column.to_owned(), reason)),
        }
    }

    /// Returns whether there are strings or lists.
    pub(super) fn has_varying_lengths(&self) -> bool {
        let varies = |field: &TableField| {
            matches!(field.kind, FieldKind::List(..) | FieldKind::Text(_))
        };
        self.fields.iter().any(varies)
    }

    /// Extends the lengths of strings and lists to those of `batch`.
    pub(super) fn measure(&mut self, batch: &RecordBatch) {
        for field in &mut self.fields {
            let Some(values) = Values::new(field, batch) else { continue };
            let (FieldKind::List(_, longest) | FieldKind::Text(longest)) =
                &mut field.kind
            else {
                continue;
            };
            let lens = (0..batch.num_rows()).filter_map(|row| values.len(row));
            *longest = lens.max().unwrap_or_default().min(MAX_LEN).max(*longest);
        }
    }

    /// Leaves out fields that do not fit into a record, or into `max_format` bytes of the format.
    pub(super) fn fit(&mut self, max_format: usize) {
        let (mut record, mut format) = (8, "uint64_t timestamp;".len());
        let mut kept = Vec::new();
        for field in self.fields.drain(..) {
            let (bytes, text) = (field.bytes(), field.format().len());
            if matches!(field.kind, FieldKind::List(_, 0) | FieldKind::Text(0)) {
                let reason = "all values are empty";
                self.dropped.push((field.column, reason));
            } else if record + bytes <= MAX_RECORD_BYTES && format + text <= max_format
            {
                record += bytes;
                format += text;
                kept.push(field);
            } else {
                let reason = "the records would be too long for a ULog";
                self.dropped.push((field.column, reason));
            }
        }
        self.fields = kept;
    }

    /// Returns the fields of the format.
    pub(super) fn format(&self) -> String {
        let fields = self.fields.iter().map(TableField::format);
        format!("uint64_t timestamp;{}", fields.collect::<String>())
    }
}
