//! Planning columns of variable size: strings, lists, and types that contain them.

use arrow_schema::DataType;

use crate::{
    decode::columns::{
        fixed_size_columns::{arrow_field, fixed_list, struct_array},
        leaf::Leaf,
        node::Node,
        plan::{FieldArray, LayoutPlanner},
        program::RepeatCount,
    },
    error::Result,
    model::layout::{FieldRole, Layout, LayoutField, LayoutKind},
};

impl LayoutPlanner<'_> {
    /// Returns the array of `field` and that of its labels, if `is_selected`. The field
    /// starts at the current position of the program, which moves to its end.
    pub(super) fn field_array(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        is_selected: bool,
    ) -> Result<FieldArray> {
        self.count_field()?;
        if field.is_fixed() {
            let start = self.builder.offset();
            let fields = if is_selected {
                self.fixed_size_array(layout, field, name, vec![start])?
            } else {
                vec![]
            };
            self.builder.skip(field.size().unwrap_or(0));
            return Ok(fields);
        }
        self.count_name(name)?;
        let Some(count) = field.count else {
            let values = self.variable_size_values(&field.kind, is_selected)?;
            return Ok(match values {
                Some((data_type, node)) => vec![(arrow_field(name, data_type), node)],
                None => vec![],
            });
        };
        self.builder.open();
        let elements = self.variable_size_values(&field.kind, is_selected)?;
        self.builder.close(RepeatCount::Fixed(count), field.kind.size());
        Ok(match elements {
            Some(elements) => vec![fixed_list(name, count, elements)],
            None => vec![],
        })
    }

    /// Returns the array of values of the variable-size type `kind`, if
    /// `is_selected`. The first starts at the current position of the program, which moves to
    /// its end. Fixed-size types are planned elsewhere.
    pub(super) fn variable_size_values(
        &mut self,
        kind: &LayoutKind,
        is_selected: bool,
    ) -> Result<Option<(DataType, Node)>> {
        match kind {
            LayoutKind::Primitive(_)
            | LayoutKind::Timestamp
            | LayoutKind::SignedTimestamp
            | LayoutKind::Duration => Ok(None),
            LayoutKind::Nested(layout) => {
                let mut fields = FieldArray::new();
                for field in &layout.fields {
                    let is_selected = is_selected && field.has_columns();
                    fields.extend(self.field_array(
                        layout,
                        field,
                        &field.name,
                        is_selected,
                    )?);
                }
                Ok(is_selected.then(|| struct_array(fields)))
            }
            LayoutKind::Text => {
                let table = is_selected.then(|| self.builder.table());
                self.builder.text(table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.add_leaf(Leaf::strings(table))?;
                Ok(Some((DataType::Utf8, Node::Leaf(leaf))))
            }
            LayoutKind::Bytes => {
                let table = is_selected.then(|| self.builder.table());
                self.builder.elements(1, table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.add_leaf(Leaf::bytes(table))?;
                Ok(Some((DataType::Binary, Node::Leaf(leaf))))
            }
            LayoutKind::List(element) => self.list(element, is_selected),
        }
    }

    /// Returns the array of lists of the type `element`, if `is_selected`.
    fn list(
        &mut self,
        element: &LayoutKind,
        is_selected: bool,
    ) -> Result<Option<(DataType, Node)>> {
        let table = is_selected.then(|| self.builder.table());
        let size = element.size();
        let (ends, elements) = if element.is_fixed() {
            self.builder.elements(size, table);
            let Some(table) = table else { return Ok(None) };
            let ends = self.add_leaf(Leaf::list_ends_by_size(table, size as usize))?;
            let outer_elements = self.elements.replace((table, size));
            let elements = self.values(element, 1, vec![0]);
            self.elements = outer_elements;
            (ends, elements?)
        } else {
            self.builder.open();
            let elements = self.variable_size_values(element, is_selected)?;
            self.builder.close(RepeatCount::Counted { table }, size);
            let (Some(table), Some(elements)) = (table, elements) else {
                return Ok(None);
            };
            (self.add_leaf(Leaf::list_ends_by_count(table))?, elements)
        };
        let (data_type, node) = elements;
        let item = arrow_field("item", data_type);
        let data_type = DataType::List(item.clone());
        Ok(Some((data_type, Node::List(item, ends, Box::new(node)))))
    }

    /// Moves the position of the program to the end of `field`.
    pub(super) fn skip(&mut self, layout: &Layout, field: &LayoutField) -> Result<()> {
        self.field_array(layout, field, "", false).map(|_| ())
    }

    /// Returns whether `field` is a column. The time field of a record is not, because
    /// there already is a time column.
    pub(super) fn is_visible(field: &LayoutField, is_outermost: bool) -> bool {
        field.has_columns() && !(is_outermost && field.role == FieldRole::Time)
    }
}
