//! Planning columns of variable size: strings, lists, and types that contain them.

use arrow_schema::DataType;

use crate::{
    decode::columns::{
        fixed_size_columns::{arrow_field, fixed_list, struct_of},
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
            let value = self.variable_size_values(&field.kind, is_selected)?;
            let named =
                value.map(|(data_type, node)| (arrow_field(name, data_type), node));
            return Ok(named.into_iter().collect());
        };
        self.builder.open();
        let item = self.variable_size_values(&field.kind, is_selected)?;
        self.builder.close(RepeatCount::Fixed(count), field.kind.size());
        Ok(item.map(|item| fixed_list(name, count, item)).into_iter().collect())
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
                Ok(is_selected.then(|| struct_of(fields)))
            }
            LayoutKind::Text => {
                let table = is_selected.then(|| self.builder.table());
                self.builder.text(table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.leaf(Leaf::strings(table))?;
                Ok(Some((DataType::Utf8, Node::Leaf(leaf))))
            }
            LayoutKind::Bytes => {
                let table = is_selected.then(|| self.builder.table());
                self.builder.elements(1, table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.leaf(Leaf::bytes(table))?;
                Ok(Some((DataType::Binary, Node::Leaf(leaf))))
            }
            LayoutKind::List(element) => self.list(element, is_selected),
        }
    }

    fn list(
        &mut self,
        element: &LayoutKind,
        is_selected: bool,
    ) -> Result<Option<(DataType, Node)>> {
        let table = is_selected.then(|| self.builder.table());
        let size = element.size();
        let (ends, item) = if element.is_fixed() {
            self.builder.elements(size, table);
            let Some(table) = table else { return Ok(None) };
            let ends = self.leaf(Leaf::list_ends_by_size(table, size as usize))?;
            let outer = self.elements.replace((table, size));
            let item = self.values(element, 1, vec![0]);
            self.elements = outer;
            (ends, item?)
        } else {
            self.builder.open();
            let item = self.variable_size_values(element, is_selected)?;
            self.builder.close(RepeatCount::Counted { table }, size);
            let (Some(table), Some(item)) = (table, item) else { return Ok(None) };
            (self.leaf(Leaf::list_ends_by_count(table))?, item)
        };
        let (data_type, node) = item;
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
