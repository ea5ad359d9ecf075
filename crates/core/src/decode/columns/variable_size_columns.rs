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
    /// Returns the array of `field` and that of its labels, if it is `wanted`. The field
    /// starts at the current position of the program, which moves to its end.
    pub(super) fn field_array(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        wanted: bool,
    ) -> Result<FieldArray> {
        self.count_field()?;
        if field.is_fixed() {
            let begin = self.builder.offset();
            let made = if wanted {
                self.fixed_size_array(layout, field, name, vec![begin])?
            } else {
                vec![]
            };
            self.builder.pass(field.size().unwrap_or(0));
            return Ok(made);
        }
        self.count_name(name)?;
        let Some(count) = field.count else {
            let made = self.variable_size_values(&field.kind, wanted)?;
            let named =
                made.map(|(data_type, node)| (arrow_field(name, data_type), node));
            return Ok(named.into_iter().collect());
        };
        self.builder.open();
        let made = self.variable_size_values(&field.kind, wanted)?;
        self.builder.close(RepeatCount::Fixed(count), field.kind.size());
        Ok(made.map(|made| fixed_list(name, count, made)).into_iter().collect())
    }

    /// Returns the array of values of the variable-size type `kind`, if they are
    /// `wanted`. The first starts at the current position of the program, which moves to
    /// its end. Fixed-size types are planned elsewhere.
    pub(super) fn variable_size_values(
        &mut self,
        kind: &LayoutKind,
        wanted: bool,
    ) -> Result<Option<(DataType, Node)>> {
        match kind {
            LayoutKind::Primitive(_)
            | LayoutKind::Stamp
            | LayoutKind::SignedStamp
            | LayoutKind::Span => Ok(None),
            LayoutKind::Nested(layout) => {
                let mut made = FieldArray::new();
                for field in &layout.fields {
                    let wanted = wanted && field.has_columns();
                    made.extend(self.field_array(
                        layout,
                        field,
                        &field.name,
                        wanted,
                    )?);
                }
                Ok(wanted.then(|| struct_of(made)))
            }
            LayoutKind::Text => {
                let table = wanted.then(|| self.builder.table());
                self.builder.text(table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.leaf(Leaf::texts(table))?;
                Ok(Some((DataType::Utf8, Node::Leaf(leaf))))
            }
            LayoutKind::Bytes => {
                let table = wanted.then(|| self.builder.table());
                self.builder.elements(1, table);
                let Some(table) = table else { return Ok(None) };
                let leaf = self.leaf(Leaf::bytes(table))?;
                Ok(Some((DataType::Binary, Node::Leaf(leaf))))
            }
            LayoutKind::List(element) => self.list(element, wanted),
        }
    }

    fn list(
        &mut self,
        element: &LayoutKind,
        wanted: bool,
    ) -> Result<Option<(DataType, Node)>> {
        let table = wanted.then(|| self.builder.table());
        let size = element.size();
        let (ends, made) = if element.is_fixed() {
            self.builder.elements(size, table);
            let Some(table) = table else { return Ok(None) };
            let ends = self.leaf(Leaf::list_ends_by_size(table, size as usize))?;
            let outer = self.elements.replace((table, size));
            let made = self.values(element, 1, vec![0]);
            self.elements = outer;
            (ends, made?)
        } else {
            self.builder.open();
            let made = self.variable_size_values(element, wanted)?;
            self.builder.close(RepeatCount::Said { table }, size);
            let (Some(table), Some(made)) = (table, made) else { return Ok(None) };
            (self.leaf(Leaf::list_ends_by_count(table))?, made)
        };
        let (data_type, node) = made;
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
    pub(super) fn is_shown(field: &LayoutField, is_outermost: bool) -> bool {
        field.has_columns() && !(is_outermost && field.role == FieldRole::Time)
    }
}
