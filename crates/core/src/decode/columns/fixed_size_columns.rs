//! Planning columns of fixed size: values at offsets.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::{
    decode::columns::{
        leaf::Leaf,
        node::Node,
        numbers::{duration_column, primitive_column, timestamp_column},
        plan::{FieldArray, LayoutPlanner},
        value_names::ValueNames,
    },
    error::{Error, ErrorKind, Result},
    model::layout::{Layout, LayoutField, LayoutKind, Primitive},
};

impl LayoutPlanner<'_> {
    /// Returns the array of `field` and that of its labels. The field is at each of
    /// `offsets`.
    pub(super) fn fixed_size_array(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        offsets: Vec<u32>,
    ) -> Result<FieldArray> {
        self.count_field()?;
        self.count_name(name)?;
        if let Some(count) = field.count_without_bytes() {
            return Ok(vec![(count_field(name), Node::Count(count))]);
        }
        let Some(count) = field.count.filter(|_| !field.is_chars()) else {
            return self.scalar(layout, field, name, offsets);
        };
        let size = field.kind.size();
        let mut element_offsets = Vec::with_capacity(offsets.len() * count as usize);
        for offset in offsets {
            element_offsets.extend((0..count).map(|index| offset + index * size));
        }
        let values = self.values(&field.kind, 1, element_offsets)?;
        Ok(vec![fixed_list(name, count, values)])
    }

    /// Returns the Arrow array of a field with one value, or of one element of an array
    /// field, and the array of its labels.
    pub(super) fn scalar(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        name: &str,
        offsets: Vec<u32>,
    ) -> Result<FieldArray> {
        let string_len = field.count.unwrap_or(1);
        let (data_type, node) = self.values(&field.kind, string_len, offsets)?;
        let label = match node {
            Node::Leaf(leaf) => self.label(layout, &field.name, name, leaf),
            _ => None,
        };
        let column = match field.kind.is_count() {
            true => count_field(name),
            false => arrow_field(name, data_type),
        };
        let mut fields: FieldArray = vec![(column, node)];
        fields.extend(label);
        Ok(fields)
    }

    /// Returns the array of values of the fixed-size type `kind` at each of `offsets`.
    /// Strings have `string_len` characters.
    pub(super) fn values(
        &mut self,
        kind: &LayoutKind,
        string_len: u32,
        offsets: Vec<u32>,
    ) -> Result<(DataType, Node)> {
        let source = self.leaf_source();
        let (data_type, leaf) = match kind {
            LayoutKind::Nested(inner) => {
                let mut fields = FieldArray::new();
                for field in inner.fields.iter().filter(|field| field.has_columns()) {
                    let field_offsets =
                        offsets.iter().map(|offset| offset + field.offset).collect();
                    fields.extend(self.fixed_size_array(
                        inner,
                        field,
                        &field.name,
                        field_offsets,
                    )?);
                }
                return Ok(struct_array(fields));
            }
            LayoutKind::Primitive(Primitive::Char) => {
                (DataType::Utf8, Leaf::chars(source, string_len as usize, offsets))
            }
            LayoutKind::Primitive(primitive) => {
                let values = primitive_column(*primitive);
                let leaf = Leaf::new(source, primitive.size(), values, offsets);
                (primitive.data_type(), leaf)
            }
            LayoutKind::Timestamp | LayoutKind::SignedTimestamp => {
                let data_type = DataType::Timestamp(TimeUnit::Nanosecond, None);
                let values = timestamp_column(*kind == LayoutKind::SignedTimestamp);
                (data_type, Leaf::new(source, kind.size(), values, offsets))
            }
            LayoutKind::Duration => {
                let data_type = DataType::Duration(TimeUnit::Nanosecond);
                (data_type, Leaf::new(source, kind.size(), duration_column(), offsets))
            }
            LayoutKind::List(_) if kind.is_count() => {
                let values = primitive_column(Primitive::U32);
                (DataType::UInt32, Leaf::new(source, kind.size(), values, offsets))
            }
            LayoutKind::Text | LayoutKind::Bytes | LayoutKind::List(_) => {
                let message = "a string or a list has no fixed size";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        Ok((data_type, Node::Leaf(self.add_leaf(leaf)?)))
    }

    /// Returns the label column of the values of `leaf`, if they have labels.
    fn label(
        &self,
        layout: &Layout,
        field: &str,
        column: &str,
        leaf: usize,
    ) -> Option<(FieldRef, Node)> {
        let value_names = ValueNames::new(self.labels?.get(&layout.name, field)?);
        let field_names = layout.fields.iter().map(|field| &*field.name);
        let label_field = value_names.field(column, field, field_names);
        Some((label_field, Node::Label(leaf, value_names)))
    }
}

/// Returns an Arrow field that is never null.
pub(super) fn arrow_field(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, false))
}

/// The key of the field metadata of a column that has the number of elements of a list or an array.
/// The elements have no fields.
pub const COUNT_KEY: &str = "logtool.count_of_elements_without_fields";

/// Returns the names of the columns in `fields` that have the number of elements of a list or an
/// array, e.g. `poses.marks`.
pub fn count_columns(fields: &Fields) -> Vec<String> {
    let mut names = Vec::new();
    // Types are nested at most as deep as layouts.
    for field in fields {
        let name = field.name();
        let mut data_type = field.data_type();
        if field.metadata().contains_key(COUNT_KEY) {
            names.push(name.clone());
        }
        while let DataType::List(item) | DataType::FixedSizeList(item, _) = data_type {
            data_type = item.data_type();
        }
        if let DataType::Struct(inner) = data_type {
            names.extend(
                count_columns(inner).into_iter().map(|inner| format!("{name}.{inner}")),
            );
        }
    }
    names
}

/// Returns the Arrow field of the number of elements of a list or an array.
fn count_field(name: &str) -> FieldRef {
    let metadata = HashMap::from([(COUNT_KEY.to_owned(), "true".to_owned())]);
    Arc::new(Field::new(name, DataType::UInt32, false).with_metadata(metadata))
}

/// Returns a struct of the arrays `children`.
pub(super) fn struct_array(children: FieldArray) -> (DataType, Node) {
    let (fields, nodes): (Vec<FieldRef>, Vec<Node>) = children.into_iter().unzip();
    let fields = Fields::from(fields);
    (DataType::Struct(fields.clone()), Node::Struct(fields, nodes))
}

/// Returns an array of lists called `name` of `count` elements each.
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
