//! Compiling a layout into the columns of a table and the leaves that they consist of.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use crate::{
    decode::columns::{
        leaf::{Leaf, LeafSource},
        node::Node,
        program::{Program, TableIndex},
        program_builder::ProgramBuilder,
        projection::ColumnProjection,
    },
    error::{Error, ErrorKind, Result},
    log::{Columns, View},
    model::{
        labels::Labels,
        layout::{FieldRole, Layout, LayoutField},
    },
};

/// The maximum number of columns in one table.
const MAX_COLUMNS: u64 = 1 << 16;

/// The maximum number of elements of fixed-size arrays that the flat view splits into
/// columns, if splitting all arrays exceeds the maximum number of columns. If that is not
/// enough either, the nested view is used.
const MAX_FLAT_ARRAY_LEN: u32 = 256;

/// The maximum total size of the column names of one table in bytes: names in a nested
/// type are repeated in each of its columns.
const MAX_NAME_BYTES: usize = 4 << 20;

/// The maximum number of fields to inspect. Types that contain other types twice, and so
/// on, can have more fields than fit in memory.
const MAX_FIELDS: u64 = 1 << 18;

/// The key of the field metadata with the time unit of the format in a time column: `us`
/// or `ns`. Text output in this unit is exact.
pub const TIME_UNIT_KEY: &str = "logtool.time_unit";

/// The key of the field metadata with the field name of a column, if another column of
/// the table already has that name.
pub const FIELD_NAME_KEY: &str = "logtool.field";

/// Returns `column` with the field `name` in its metadata, if the column has a different
/// name.
pub(crate) fn with_field_name(column: Field, name: &str) -> Field {
    if column.name() == name {
        return column;
    }
    let mut metadata = column.metadata().clone();
    metadata.insert(FIELD_NAME_KEY.to_owned(), name.to_owned());
    column.with_metadata(metadata)
}

/// Creates a time column called `name`. `unit` is the time unit of the format: `us` or
/// `ns`.
pub fn time_field(name: &str, unit: &str) -> Field {
    let metadata = HashMap::from([(TIME_UNIT_KEY.to_owned(), unit.to_owned())]);
    Field::new(name, DataType::Timestamp(TimeUnit::Nanosecond, None), true)
        .with_metadata(metadata)
}

/// The columns of a batch: its schema, and the arrays after the time column.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    pub(super) schema: SchemaRef,
    pub(super) nodes: Vec<Node>,
}

impl ColumnPlan {
    /// Plans the selected `columns` of `layout`, and appends the required leaves to
    /// `leaves`. They are decoded from the pieces that the program finds, or from the
    /// payloads themselves if the layout has a fixed size.
    pub(super) fn compile(
        layout: &Layout,
        columns: &Columns,
        leaves: &mut Vec<Leaf>,
    ) -> Result<(Self, Program)> {
        let is_time = |field: &&LayoutField| field.role == FieldRole::Time;
        let time_field_in_layout = layout.fields.iter().find(is_time);
        let time_name = time_field_in_layout.map_or("time", |field| &field.name);
        let mut planner = LayoutPlanner {
            root: layout,
            labels: columns.labels.as_deref(),
            leaves,
            builder: ProgramBuilder::new(),
            elements: None,
            names: HashSet::from([time_name.to_owned()]),
            name_bytes: 0,
            fields: vec![
                time_field(time_name, layout.record_properties.time_unit).into(),
            ],
            nodes: vec![],
            inspected_fields: 0,
            max_array_len: u32::MAX,
        };
        let mut projection = ColumnProjection::new(columns.indices.as_deref());
        match columns.view {
            View::Nested => planner.add_nested_columns(layout, &mut projection)?,
            View::Flat => {
                let fits_in_a_table = |max_array_len: &u32| {
                    layout.flat_columns(MAX_COLUMNS, *max_array_len) <= MAX_COLUMNS
                };
                match [u32::MAX, MAX_FLAT_ARRAY_LEN].into_iter().find(fits_in_a_table) {
                    Some(max_array_len) => {
                        planner.max_array_len = max_array_len;
                        planner.add_flat_columns(layout, "", &mut projection)?;
                    }
                    None => planner.add_nested_columns(layout, &mut projection)?,
                }
            }
        }
        projection.check()?;
        let schema = Arc::new(Schema::new(planner.fields));
        let program = planner.builder.finish(layout.record_properties.trailing_bytes);
        Ok((Self { schema, nodes: planner.nodes }, program))
    }
}

/// Plans the columns of a layout field by field.
pub(super) struct LayoutPlanner<'p> {
    root: &'p Layout,
    pub(super) labels: Option<&'p Labels>,
    leaves: &'p mut Vec<Leaf>,
    pub(super) builder: ProgramBuilder,
    /// The table of the list elements that are currently planned, and the size of an
    /// element.
    pub(super) elements: Option<(TableIndex, u32)>,
    names: HashSet<String>,
    name_bytes: usize,
    fields: Vec<FieldRef>,
    nodes: Vec<Node>,
    inspected_fields: u64,
    /// In the flat view, fixed-size arrays of more elements are one column.
    pub(super) max_array_len: u32,
}

/// The array of a field with its Arrow field, and optionally the array of its labels.
pub(super) type FieldArray = Vec<(FieldRef, Node)>;

impl LayoutPlanner<'_> {
    /// Adds a column for each field of `layout`.
    fn add_nested_columns(
        &mut self,
        layout: &Layout,
        projection: &mut ColumnProjection,
    ) -> Result<()> {
        for field in &layout.fields {
            let is_column = field.role == FieldRole::Plain && field.has_columns();
            let name =
                if is_column { self.unique_name(&field.name)? } else { String::new() };
            let is_selected = is_column && projection.is_next_selected();
            let mut fields = self.field_array(layout, field, &name, is_selected)?;
            if let Some((column, _)) = fields.first_mut().filter(|_| name != field.name)
            {
                *column = with_field_name(Field::clone(column), &field.name).into();
            }
            self.add_columns(fields);
        }
        Ok(())
    }

    /// Returns `name`, or a similar name that no earlier column has.
    pub(super) fn unique_name(&mut self, name: &str) -> Result<String> {
        let mut name = name.to_owned();
        while !self.names.insert(name.clone()) {
            self.count_name(&name)?;
            name.push('_');
        }
        self.count_name(&name)?;
        Ok(name)
    }

    /// Counts the bytes of a column name or of a part of one.
    pub(super) fn count_name(&mut self, name: &str) -> Result<()> {
        self.name_bytes += name.len();
        if self.name_bytes > MAX_NAME_BYTES { Err(self.limit_error()) } else { Ok(()) }
    }

    /// Adds the arrays `fields` as columns.
    pub(super) fn add_columns(&mut self, fields: FieldArray) {
        for (field, node) in fields {
            self.fields.push(field);
            self.nodes.push(node);
        }
    }

    /// Returns the bytes in which the currently planned values are found.
    pub(super) fn leaf_source(&mut self) -> LeafSource {
        match self.elements {
            Some((table, stride)) => {
                LeafSource::Elements { table, stride: stride as usize }
            }
            None if self.root.is_fixed() => LeafSource::Payloads,
            None => LeafSource::Pieces(self.builder.fixed_size_table()),
        }
    }

    /// Adds a leaf and returns its index.
    pub(super) fn add_leaf(&mut self, leaf: Leaf) -> Result<usize> {
        if self.leaves.len() as u64 > MAX_COLUMNS {
            return Err(self.limit_error());
        }
        self.leaves.push(leaf);
        Ok(self.leaves.len() - 1)
    }

    /// Counts an inspected field.
    pub(super) fn count_field(&mut self) -> Result<()> {
        self.inspected_fields += 1;
        if self.inspected_fields > MAX_FIELDS {
            Err(self.limit_error())
        } else {
            Ok(())
        }
    }

    fn limit_error(&self) -> Error {
        let name: String = self.root.name.chars().take(80).collect();
        let message =
            format!("the type {name:?} has over {MAX_COLUMNS} columns, or long names");
        Error::new(ErrorKind::Limit, message)
    }
}
