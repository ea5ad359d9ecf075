//! From a layout to a tree of Arrow arrays.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array as _, ArrayRef, FixedSizeListArray, StructArray,
    builder::StringDictionaryBuilder, cast::AsArray as _, types::Int32Type,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use crate::{
    columns::{into_error, leaf::Leaf},
    error::{Error, ErrorKind, Result},
    labels::{FieldLabels, Labels},
    layout::{FieldRole, Layout, LayoutField, LayoutKind},
    log::{Columns, View},
};

/// The most columns that one table is given.
const MAX_COLUMNS: u64 = 1 << 16;
/// The most bytes that the names of the columns of one table have together: a name in a
/// nested type is repeated in each column of it.
const MAX_NAMES: usize = 4 << 20;

/// The key of the field metadata in which a time column says in which unit its format
/// counts: `us`, `ns`. A text output of it in that unit is exact.
pub const TIME_UNIT: &str = "logtool.time_unit";

/// A time column called `name`, of times that the format has in `unit`.
pub fn time_field(name: &str, unit: &str) -> Field {
    let metadata = HashMap::from([(TIME_UNIT.to_owned(), unit.to_owned())]);
    Field::new(name, DataType::Timestamp(TimeUnit::Nanosecond, None), true)
        .with_metadata(metadata)
}

/// What a batch is made of, after its first column, the time.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: SchemaRef,
    pub(super) nodes: Vec<Node>,
}

/// An array to be built.
#[derive(Debug)]
pub(super) enum Node {
    /// The leaf with this index.
    Leaf(usize),
    /// The names of the values of the leaf with this index.
    Label(usize, FieldLabels),
    /// Lists of so many of something.
    List(FieldRef, i32, Box<Node>),
    /// Some things side by side.
    Struct(Fields, Vec<Node>),
}

impl Plan {
    /// Plans the `columns` of `layout`, and adds the leaves that they need to `leaves`.
    pub(super) fn compile(
        layout: &Layout,
        columns: &Columns,
        leaves: &mut Vec<Leaf>,
    ) -> Result<Self> {
        let is_time = |field: &&LayoutField| field.role == FieldRole::Time;
        let time = layout.fields.iter().find(is_time).map_or("time", |f| &f.name);
        let labels = columns.labels.as_deref();
        let mut planner = Planner {
            labels,
            leaves,
            fields: vec![time_field(time, "us").into()],
            nodes: vec![],
            names: 0,
        };
        // Columns are counted before the choice, the time being number 0.
        let mut chooser = Chooser { only: columns.only.as_deref(), next: 1 };
        match columns.view {
            View::Nested => planner.nested(layout, &mut chooser)?,
            View::Flat => {
                if layout.flat_columns(MAX_COLUMNS) > MAX_COLUMNS {
                    return Err(too_many(layout));
                }
                planner.flat(layout, "", 0, &mut chooser)?;
            }
        }
        chooser.check()?;
        let schema = Arc::new(Schema::new(planner.fields));
        Ok(Self { schema, nodes: planner.nodes })
    }
}

/// Says which columns are wanted.
struct Chooser<'c> {
    only: Option<&'c [usize]>,
    next: usize,
}

impl Chooser<'_> {
    /// Whether the next column is wanted.
    fn wants(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        self.only.is_none_or(|only| only.contains(&index))
    }

    fn check(&self) -> Result<()> {
        let beyond = self.only.unwrap_or_default().iter().find(|i| **i >= self.next);
        match beyond {
            None => Ok(()),
            Some(index) => {
                let what = format!("there is no column number {index}");
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }
}

struct Planner<'p> {
    labels: Option<&'p Labels>,
    leaves: &'p mut Vec<Leaf>,
    fields: Vec<FieldRef>,
    nodes: Vec<Node>,
    /// How many bytes the names of all columns have so far.
    names: usize,
}

impl Planner<'_> {
    /// Adds a column for each field of `layout`.
    fn nested(&mut self, layout: &Layout, chooser: &mut Chooser<'_>) -> Result<()> {
        for field in &layout.fields {
            if field.role == FieldRole::Plain && chooser.wants() {
                let made = self.field(layout, field, &[0])?;
                self.add(made);
            }
        }
        Ok(())
    }

    fn add(&mut self, made: Vec<(FieldRef, Node)>) {
        for (field, node) in made {
            self.fields.push(field);
            self.nodes.push(node);
        }
    }

    /// The arrow field and node of `field`, and its labels', for payloads in which
    /// `layout` begins at each of `bases`.
    fn field(
        &mut self,
        layout: &Layout,
        field: &LayoutField,
        bases: &[u32],
    ) -> Result<Vec<(FieldRef, Node)>> {
        let count = if field.is_text() { 1 } else { field.count.unwrap_or(1) };
        let size = field.kind.size();
        if size == 0 || count == 0 {
            return Ok(vec![]); // what has no bytes says nothing, however often
        }
        self.name(layout, &field.name)?;
        let mut starts = Vec::with_capacity(bases.len() * count as usize);
        for base in bases {
            starts.extend((0..count).map(|i| base + field.offset + i * size));
        }
        let is_list = field.count.is_some() && !field.is_text();
        let (data_type, node) = match &field.kind {
            LayoutKind::Primitive(primitive) => {
                if self.leaves.len() as u64 > MAX_COLUMNS {
                    return Err(too_many(layout));
                }
                let leaf = self.leaf(field, starts);
                (primitive.data_type(), Node::Leaf(leaf))
            }
            LayoutKind::Nested(inner) => {
                let mut made = Vec::new();
                for field in &inner.fields {
                    if field.role != FieldRole::Hidden {
                        made.extend(self.field(inner, field, &starts)?);
                    }
                }
                if made.is_empty() {
                    return Ok(vec![]);
                }
                let (fields, nodes): (Vec<FieldRef>, Vec<Node>) =
                    made.into_iter().unzip();
                let fields = Fields::from(fields);
                (DataType::Struct(fields.clone()), Node::Struct(fields, nodes))
            }
        };
        let label = match node {
            Node::Leaf(leaf) if !is_list => {
                self.label(layout, &field.name, &field.name, leaf)
            }
            _ => None,
        };
        let mut made = if is_list {
            let item = Arc::new(Field::new("item", data_type, false));
            let data_type = DataType::FixedSizeList(item.clone(), count as i32);
            let list = Node::List(item, count as i32, Box::new(node));
            vec![(Arc::new(Field::new(&field.name, data_type, false)), list)]
        } else {
            vec![(Arc::new(Field::new(&field.name, data_type, false)), node)]
        };
        made.extend(label);
        Ok(made)
    }

    /// Adds a column for each scalar of `layout`, which begins at `base`.
    fn flat(
        &mut self,
        layout: &Layout,
        prefix: &str,
        base: u32,
        chooser: &mut Chooser<'_>,
    ) -> Result<()> {
        for field in &layout.fields {
            let is_time = prefix.is_empty() && field.role == FieldRole::Time;
            if field.role == FieldRole::Hidden || is_time {
                continue;
            }
            let count = if field.is_text() { None } else { field.count };
            if field.kind.size() == 0 {
                continue;
            }
            for index in 0..count.unwrap_or(1) {
                let name = match count {
                    Some(_) => format!("{prefix}{}[{index}]", field.name),
                    None => format!("{prefix}{}", field.name),
                };
                self.name(layout, &name)?;
                let at = base + field.offset + index * field.kind.size();
                match &field.kind {
                    LayoutKind::Nested(inner) => {
                        self.flat(inner, &format!("{name}."), at, chooser)?;
                    }
                    LayoutKind::Primitive(primitive) if chooser.wants() => {
                        let leaf = self.leaf(field, vec![at]);
                        let label = self.label(layout, &field.name, &name, leaf);
                        let arrow = Field::new(name, primitive.data_type(), false);
                        self.add(vec![(Arc::new(arrow), Node::Leaf(leaf))]);
                        self.add(label.into_iter().collect());
                    }
                    LayoutKind::Primitive(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Takes notice of the name of another column, or of a type within one.
    fn name(&mut self, layout: &Layout, name: &str) -> Result<()> {
        self.names += name.len();
        match self.names <= MAX_NAMES {
            true => Ok(()),
            false => Err(too_many(layout)),
        }
    }

    fn leaf(&mut self, field: &LayoutField, starts: Vec<u32>) -> usize {
        let leaf = match &field.kind {
            LayoutKind::Primitive(primitive) if !field.is_text() => {
                Leaf::new(*primitive, starts)
            }
            _ => Leaf::text(field.count.unwrap_or(1) as usize, starts),
        };
        self.leaves.push(leaf);
        self.leaves.len() - 1
    }

    /// The column of the names of the values of `leaf`, if they have names.
    fn label(
        &self,
        layout: &Layout,
        field: &str,
        column: &str,
        leaf: usize,
    ) -> Option<(FieldRef, Node)> {
        let labels = self.labels?.get(&layout.name, field)?;
        let (key, value) = (Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let data_type = DataType::Dictionary(key, value);
        let field = Field::new(format!("{column}_label"), data_type, true);
        Some((Arc::new(field), Node::Label(leaf, labels.clone())))
    }
}

fn too_many(layout: &Layout) -> Error {
    let name: String = layout.name.chars().take(80).collect();
    let what = format!("the type {name:?} has over {MAX_COLUMNS} columns, or long names");
    Error::new(ErrorKind::Limit, what)
}

impl Node {
    /// Builds the array out of `leaves`.
    pub(super) fn build(&self, leaves: &[ArrayRef]) -> Result<ArrayRef> {
        Ok(match self {
            Self::Leaf(leaf) => leaves[*leaf].clone(),
            Self::Label(leaf, labels) => named(&leaves[*leaf], labels)?,
            Self::List(field, len, node) => {
                let values = node.build(leaves)?;
                let list =
                    FixedSizeListArray::try_new(field.clone(), *len, values, None);
                Arc::new(list.map_err(into_error)?)
            }
            Self::Struct(fields, nodes) => {
                let build = |node: &Self| node.build(leaves);
                let columns = nodes.iter().map(build).collect::<Result<_>>()?;
                let made = StructArray::try_new(fields.clone(), columns, None);
                Arc::new(made.map_err(into_error)?)
            }
        })
    }
}

/// The names of the integers of `values`; null where one has none.
fn named(values: &ArrayRef, labels: &FieldLabels) -> Result<ArrayRef> {
    let mut names = StringDictionaryBuilder::<Int32Type>::new();
    for value in integers(values) {
        names.append_option(value.and_then(|value| labels.get(&value)));
    }
    Ok(Arc::new(names.finish()))
}

/// The values of an array of integers of any size.
fn integers(values: &ArrayRef) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    use arrow_array::types::*;
    macro_rules! each {
        ($type:ty) => {
            Box::new(
                values
                    .as_primitive::<$type>()
                    .values()
                    .iter()
                    .map(|v| i64::try_from(*v).ok()),
            )
        };
    }
    match values.data_type() {
        DataType::Int8 => each!(Int8Type),
        DataType::Int16 => each!(Int16Type),
        DataType::Int32 => each!(Int32Type),
        DataType::Int64 => each!(Int64Type),
        DataType::UInt8 => each!(UInt8Type),
        DataType::UInt16 => each!(UInt16Type),
        DataType::UInt32 => each!(UInt32Type),
        DataType::UInt64 => each!(UInt64Type),
        DataType::Boolean => {
            Box::new(values.as_boolean().iter().map(|v| v.map(i64::from)))
        }
        _ => Box::new(std::iter::repeat_n(None, values.len())),
    }
}
