//! Planning columns of fixed size: values at offsets.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::{
    decode::columns::{
        leaf::Leaf,
        node::Node,
        numbers::{spans, timestamps, values},
        plan::{FieldArray, LayoutPlanner},
        value_names::ValueNames,
    },
    error::{Error, ErrorKind, Result},
    model::layout::{Layout, LayoutField, LayoutKind, Primitive},
};

impl LayoutPlanner<'_> {
    /// Returns the array of `field` and that of its labels. The field is at each of the
    /// offsets `begins`.
    pub(super) fn fixed_size_array(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        begins: Vec<u32>,
    ) -> Result<FieldArray> {
        self.count_field()?;
        self.count_name(name)?;
        let Some(count) = field.count.filter(|_| !field.is_chars()) else {
            return self.scalar(layout, field, name, begins);
        };
        let size = field.kind.size();
        let mut starts = Vec::with_capacity(begins.len() * count as usize);
        for begin in begins {
            starts.extend((0..count).map(|i| begin + i * size));
        }
        let values = self.values(&field.kind, 1, starts)?;
        Ok(vec![fixed_list(name, count, values)])
    }

    /// Returns the Arrow array of a field with one value, or of one element of an array
    /// field, and the array of its labels.
    pub(super) fn scalar(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        begins: Vec<u32>,
    ) -> Result<FieldArray> {
        let chars = field.count.unwrap_or(1);
        let (data_type, node) = self.values(&field.kind, chars, begins)?;
        let label = match node {
            Node::Leaf(leaf) => self.label(layout, &field.name, name, leaf),
            _ => None,
        };
        let mut fields: FieldArray = vec![(arrow_field(name, data_type), node)];
        fields.extend(label);
        Ok(fields)
    }

    /// Returns the array of values of the fixed-size type `kind` at each of the offsets
    /// `starts`. Strings have `chars` characters.
    pub(super) fn values(
        &mut self,
        kind: &LayoutKind,
        chars: u32,
        starts: Vec<u32>,
    ) -> Result<(DataType, Node)> {
        let source = self.source();
        let (data_type, leaf) = match kind {
            LayoutKind::Nested(inner) => {
                let mut fields = FieldArray::new();
                for field in inner.fields.iter().filter(|field| field.has_columns()) {
                    let begins = starts.iter().map(|start| start + field.offset);
                    let begins = begins.collect();
                    fields.extend(self.fixed_size_array(
                        inner,
                        field,
                        &field.name,
                        begins,
                    )?);
                }
                return Ok(struct_of(fields));
            }
            LayoutKind::Primitive(Primitive::Char) => {
                (DataType::Utf8, Leaf::chars(source, chars as usize, starts))
            }
            LayoutKind::Primitive(primitive) => {
                let (size, values) = (primitive.size(), values(*primitive));
                (primitive.data_type(), Leaf::new(source, size, values, starts))
            }
            LayoutKind::Timestamp | LayoutKind::SignedTimestamp => {
                let data_type = DataType::Timestamp(TimeUnit::Nanosecond, None);
                let values = timestamps(*kind == LayoutKind::SignedTimestamp);
                (data_type, Leaf::new(source, kind.size(), values, starts))
            }
            LayoutKind::Duration => {
                let data_type = DataType::Duration(TimeUnit::Nanosecond);
                (data_type, Leaf::new(source, kind.size(), spans(), starts))
            }
            LayoutKind::Text | LayoutKind::Bytes | LayoutKind::List(_) => {
                let message = "a text or a list is at no fixed place";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        Ok((data_type, Node::Leaf(self.leaf(leaf)?)))
    }

    /// Returns the label column of the values of `leaf`, if they have labels.
    fn label(
        &self,
        layout: &Layout,
        field: &str,
        column: &str,
        leaf: usize,
    ) -> Option<(FieldRef, Node)> {
        let names = ValueNames::new(self.labels?.get(&layout.name, field)?);
        let fields = layout.fields.iter().map(|field| &*field.name);
        Some((names.field(column, field, fields), Node::Label(leaf, names)))
    }
}

/// Returns an Arrow field that is never null.
pub(super) fn arrow_field(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, false))
}

/// Returns a struct of the arrays `children`.
pub(super) fn struct_of(children: FieldArray) -> (DataType, Node) {
    let (fields, nodes): (Vec<FieldRef>, Vec<Node>) = children.into_iter().unzip();
    let fields = Fields::from(fields);
    (DataType::Struct(fields.clone()), Node::Struct(fields, nodes))
}

/// Returns fixed-size lists of `count` elements each.
pub(super) fn fixed_list(
    name: &str,
    count: u32,
    (data_type, node): (DataType, Node),
) -> (FieldRef, Node) {
    let item = arrow_field("item", data_type);
    let data_type = DataType::FixedSizeList(item.clone(), count as i32);
    let list = Node::FixedList(item, count as i32, Box::new(node));
    (arrow_field(name, data_type), list)
}
