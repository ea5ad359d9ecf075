//! From a layout to the columns of a table, and to the leaves that they are made of.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use crate::{
    decode::columns::{
        leaf::{Leaf, Source},
        node::Node,
        program::{Program, Table},
        program_builder::Script,
        projection::Chooser,
    },
    error::{Error, ErrorKind, Result},
    log::{Columns, View},
    model::{
        labels::Labels,
        layout::{FieldRole, Layout, LayoutField},
    },
};

/// The most columns that one table is given.
const MAX_COLUMNS: u64 = 1 << 16;

/// Where the columns of the flat view are more than that, fixed arrays of more elements
/// than these are one column, as in the nested view; where they are still too many, all
/// is as in the nested view.
const LONG: u32 = 256;

/// The most bytes that the names of the columns of one table have together: a name in a
/// nested type is repeated in each column of it.
const MAX_NAMES: usize = 4 << 20;

/// How many fields are looked at. Types that contain others twice, and so on, can have
/// more of them than memory.
const MAX_FIELDS: u64 = 1 << 18;

/// The key of the field metadata in which a time column says in which unit its format
/// counts: `us`, `ns`. A text output of it in that unit is exact.
pub const TIME_UNIT_KEY: &str = "logtool.time_unit";

/// The key of the field metadata in which a column has the name of its field, where another
/// column of the table already has that name.
pub const FIELD_NAME_KEY: &str = "logtool.field";

/// Returns the column of a field called `name`, with that name in its metadata if the column
/// is called otherwise.
pub(crate) fn with_field_name(column: Field, name: &str) -> Field {
    if column.name() == name {
        return column;
    }
    let mut metadata = column.metadata().clone();
    metadata.insert(FIELD_NAME_KEY.to_owned(), name.to_owned());
    column.with_metadata(metadata)
}

/// A time column called `name`, of times that the format has in `unit`.
pub fn time_field(name: &str, unit: &str) -> Field {
    let metadata = HashMap::from([(TIME_UNIT_KEY.to_owned(), unit.to_owned())]);
    Field::new(name, DataType::Timestamp(TimeUnit::Nanosecond, None), true)
        .with_metadata(metadata)
}

/// What a batch is made of, after its first column, the time.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    pub(super) nodes: Vec<Node>,
}

impl Plan {
    /// Plans the `columns` of `layout`, and adds the leaves that they need to `leaves`.
    /// They are gathered from what the program finds, or from the payloads themselves
    /// if the layout is of a fixed size.
    pub(super) fn compile(
        layout: &Layout,
        columns: &Columns,
        leaves: &mut Vec<Leaf>,
    ) -> Result<(Self, Program)> {
        let is_time = |field: &&LayoutField| field.role == FieldRole::Time;
        let time = layout.fields.iter().find(is_time).map_or("time", |f| &f.name);
        let mut planner = Planner {
            root: layout,
            labels: columns.labels.as_deref(),
            leaves,
            script: Script::new(),
            elements: None,
            names: HashSet::from([time.to_owned()]),
            names_len: 0,
            fields: vec![time_field(time, layout.frame.time_unit).into()],
            nodes: vec![],
            looked_at: 0,
            longest: u32::MAX,
        };
        let mut chooser = Chooser::new(columns.only.as_deref());
        match columns.view {
            View::Nested => planner.nested(layout, &mut chooser)?,
            View::Flat => {
                let fits = |longest: &u32| {
                    layout.flat_columns(MAX_COLUMNS, *longest) <= MAX_COLUMNS
                };
                match [u32::MAX, LONG].into_iter().find(fits) {
                    Some(longest) => {
                        planner.longest = longest;
                        planner.flat(layout, "", &mut chooser)?;
                    }
                    None => planner.nested(layout, &mut chooser)?,
                }
            }
        }
        chooser.check()?;
        let schema = Arc::new(Schema::new(planner.fields));
        let program = planner.script.finish(layout.frame.tail);
        Ok((Self { schema, nodes: planner.nodes }, program))
    }
}

/// Goes through a layout, field by field.
pub(super) struct Planner<'p> {
    root: &'p Layout,
    pub(super) labels: Option<&'p Labels>,
    leaves: &'p mut Vec<Leaf>,
    pub(super) script: Script,
    /// The list whose elements, of so many bytes each, are being planned.
    pub(super) elements: Option<(Table, u32)>,
    names: HashSet<String>,
    names_len: usize,
    fields: Vec<FieldRef>,
    nodes: Vec<Node>,
    looked_at: u64,
    /// In the flat view, a longer fixed array is one column.
    pub(super) longest: u32,
}

/// An array and what it is called; the array of its labels may follow it.
pub(super) type Made = Vec<(FieldRef, Node)>;

impl Planner<'_> {
    /// Adds a column for each field of `layout`.
    fn nested(&mut self, layout: &Layout, chooser: &mut Chooser) -> Result<()> {
        for field in &layout.fields {
            let is_column = field.role == FieldRole::Plain && field.has_columns();
            let name = if is_column { self.name(&field.name)? } else { String::new() };
            let wanted = is_column && chooser.wants();
            let mut made = self.here(layout, field, &name, wanted)?;
            if let Some((column, _)) = made.first_mut().filter(|_| name != field.name) {
                *column = with_field_name(Field::clone(column), &field.name).into();
            }
            self.add(made);
        }
        Ok(())
    }

    /// A name like `name` that no column before has.
    pub(super) fn name(&mut self, name: &str) -> Result<String> {
        let mut name = name.to_owned();
        while !self.names.insert(name.clone()) {
            self.count_name(&name)?;
            name.push('_');
        }
        self.count_name(&name)?;
        Ok(name)
    }

    /// Counts the bytes of the name of a column, or of a part of one.
    pub(super) fn count_name(&mut self, name: &str) -> Result<()> {
        self.names_len += name.len();
        if self.names_len > MAX_NAMES { Err(self.too_many()) } else { Ok(()) }
    }

    /// Adds columns.
    pub(super) fn add(&mut self, made: Made) {
        for (field, node) in made {
            self.fields.push(field);
            self.nodes.push(node);
        }
    }

    /// Where the values are that are being planned.
    pub(super) fn source(&mut self) -> Source {
        match self.elements {
            Some((table, stride)) => {
                Source::Elements { table, stride: stride as usize }
            }
            None if self.root.is_fixed() => Source::Payloads,
            None => Source::Pieces(self.script.stretch()),
        }
    }

    /// Adds a leaf, and says its index.
    pub(super) fn leaf(&mut self, leaf: Leaf) -> Result<usize> {
        if self.leaves.len() as u64 > MAX_COLUMNS {
            return Err(self.too_many());
        }
        self.leaves.push(leaf);
        Ok(self.leaves.len() - 1)
    }

    /// Counts a field that is looked at.
    pub(super) fn look(&mut self) -> Result<()> {
        self.looked_at += 1;
        if self.looked_at > MAX_FIELDS { Err(self.too_many()) } else { Ok(()) }
    }

    fn too_many(&self) -> Error {
        let name: String = self.root.name.chars().take(80).collect();
        let what =
            format!("the type {name:?} has over {MAX_COLUMNS} columns, or long names");
        Error::new(ErrorKind::Limit, what)
    }
}
