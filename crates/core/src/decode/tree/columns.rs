//! Selecting columns from the array of a tree.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{Array as _, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef, TimeUnit};

use crate::{
    decode::{
        columns::{ColumnProjection, ValueNames, with_field_name},
        tree::{StructType, ValueType, schema_with_time},
    },
    error::Result,
    log::{Columns, View},
    model::labels::Labels,
};

/// The selected columns.
#[derive(Debug)]
pub(super) struct SelectedColumns {
    schema: SchemaRef,
    columns: Vec<SelectedColumn>,
}

/// The position of a column in the tree.
#[derive(Debug)]
struct SelectedColumn {
    /// The indices of the fields from the root to the column.
    path: Vec<usize>,
    /// The value names, if it is a label column.
    names: Option<ValueNames>,
}

struct TreePlanner<'p> {
    labels: Option<&'p Labels>,
    projection: ColumnProjection,
    names: HashSet<String>,
    fields: Vec<FieldRef>,
    columns: Vec<SelectedColumn>,
}

impl SelectedColumns {
    pub(super) fn new(record_type: &StructType, columns: &Columns) -> Result<Self> {
        let mut planner = TreePlanner {
            labels: columns.labels.as_deref(),
            projection: ColumnProjection::new(columns.indices.as_deref()),
            names: HashSet::from(["time".to_owned()]),
            fields: Vec::new(),
            columns: Vec::new(),
        };
        planner.add_fields(record_type, "", &[], columns.view);
        planner.projection.check()?;
        let schema = schema_with_time(planner.fields);
        Ok(Self { schema, columns: planner.columns })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the columns of the tree `array`.
    pub(super) fn columns(&self, array: ArrayRef) -> Result<Vec<ArrayRef>> {
        let columns = self.columns.iter().map(|column| {
            let values = array_at(&array, &column.path);
            match &column.names {
                Some(names) => names.labels(&values),
                None => Ok(values),
            }
        });
        columns.collect()
    }
}

impl TreePlanner<'_> {
    /// Adds the columns of the fields of `struct_type`, which is at `path`. Their names start
    /// with `prefix`.
    fn add_fields(
        &mut self,
        struct_type: &StructType,
        prefix: &str,
        path: &[usize],
        view: View,
    ) {
        for (index, (name, field_type)) in struct_type.fields.iter().enumerate() {
            let path = [path, &[index]].concat();
            if let (View::Flat, ValueType::Struct(inner)) = (view, field_type) {
                self.add_fields(inner, &format!("{prefix}{name}."), &path, view);
                continue;
            }
            let field_name = format!("{prefix}{name}");
            let column_name = self.unique_name(&field_name);
            if !self.projection.is_next_selected() {
                continue;
            }
            let column = Field::new(&column_name, data_type(field_type), true);
            self.fields.push(Arc::new(with_field_name(column, &field_name)));
            self.columns.push(SelectedColumn { path: path.clone(), names: None });
            let labels =
                self.labels.and_then(|labels| labels.get(&struct_type.type_name, name));
            let is_integer = matches!(
                field_type,
                ValueType::I32 | ValueType::I64 | ValueType::U32 | ValueType::U64
            );
            if let Some(labels) = labels.filter(|_| is_integer) {
                let value_names = ValueNames::new(labels);
                let field_names = struct_type.fields.iter().map(|(name, _)| &**name);
                self.fields.push(value_names.field(&column_name, name, field_names));
                self.columns.push(SelectedColumn { path, names: Some(value_names) });
            }
        }
    }

    /// Returns `name`, or a similar name that no earlier column has.
    fn unique_name(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// Returns the array at `path` in nested structs. It is null where a struct that contains it
/// is null.
fn array_at(array: &ArrayRef, path: &[usize]) -> ArrayRef {
    let (mut values, mut nulls): (ArrayRef, Option<NullBuffer>) = (array.clone(), None);
    for index in path {
        let Some(parent) = values.as_any().downcast_ref::<StructArray>() else { break };
        nulls = NullBuffer::union(nulls.as_ref(), parent.nulls());
        let Some(field) = parent.columns().get(*index) else { break };
        values = field.clone();
    }
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
        return values;
    };
    let combined_nulls = NullBuffer::union(Some(&nulls), values.nulls());
    let data: ArrayData = values.to_data();
    let builder = data.into_builder().nulls(combined_nulls);
    match builder.build() {
        Ok(data) => arrow_array::make_array(data),
        Err(_) => values,
    }
}

/// Returns the Arrow type of `value_type`.
fn data_type(value_type: &ValueType) -> DataType {
    match value_type {
        ValueType::Bool => DataType::Boolean,
        ValueType::I32 => DataType::Int32,
        ValueType::I64 => DataType::Int64,
        ValueType::U32 => DataType::UInt32,
        ValueType::U64 => DataType::UInt64,
        ValueType::F32 => DataType::Float32,
        ValueType::F64 => DataType::Float64,
        ValueType::Text => DataType::Utf8,
        ValueType::Bytes => DataType::Binary,
        ValueType::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, None),
        ValueType::Duration => DataType::Duration(TimeUnit::Nanosecond),
        ValueType::Struct(inner) => {
            let fields = inner.fields.iter().map(|(name, field_type)| {
                Field::new(name, data_type(field_type), true)
            });
            DataType::Struct(fields.collect())
        }
        ValueType::List(item) => {
            DataType::List(Arc::new(Field::new("item", data_type(item), true)))
        }
    }
}
