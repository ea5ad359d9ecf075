//! Which table of a data set the rows of a topic go to.
//!
//! A table has the rows of one topic, of all logs and of all instances. Readers put its
//! files together by the names of columns: they take a column that a file lacks for nulls,
//! and widen columns of one kind to a common type ([`ColumnType`]). They cannot read a
//! column that is a number in one file and a text in another: where a log has such a
//! conflict, its topic gets a table of its own, and the report names it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_schema::Schema;
use logtool_core::Topic;
use logtool_sinks::{FileNames, NameStyle};
use serde::{Deserialize, Serialize};

use crate::commands::batch::column_type::ColumnType;

/// All tables of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    tables: BTreeMap<String, Table>,
    /// The tables of each topic, the first one first.
    of_topic: HashMap<String, Vec<String>>,
}

/// What the rows of a topic are like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) topic: String,
    pub(super) instance: u32,
    /// Whether the format of the log numbers instances, so that they are partitions.
    pub(super) has_instances: bool,
    pub(super) type_name: String,
    /// The columns and their types.
    pub(super) columns: BTreeMap<String, ColumnType>,
}

/// A table, or what is new of one: as it is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) topic: String,
    /// Whether instances are partitions; readers want the same partitions of all files.
    pub(super) has_instances: bool,
    pub(super) type_name: String,
    /// The columns and their types; where it is noted, the new ones.
    pub(super) columns: BTreeMap<String, ColumnType>,
    /// Why it is not the first table of its topic.
    pub(super) differs: Option<String>,
}

impl Shape {
    /// Of the rows of `topic` with the columns `schema`.
    pub(super) fn new(topic: &Topic, schema: &Schema, has_instances: bool) -> Self {
        let fields = schema.fields().iter();
        let columns = fields
            .map(|field| (field.name().clone(), ColumnType::new(field.data_type())));
        Self {
            topic: topic.name.clone(),
            instance: topic.instance,
            has_instances,
            type_name: plain_type(&topic.type_name),
            columns: columns.collect(),
        }
    }

    /// Returns the name of the file of these rows in `table`, without its extension.
    pub(super) fn file_stem(&self, table: &str) -> String {
        match self.has_instances {
            true => format!("{table}/instance={}/part-0", self.instance),
            false => table.to_owned(),
        }
    }

    /// What the topic is called when it has a table for itself.
    fn base(&self) -> String {
        let stem = FileNames::stem_of(&NameStyle::FirstBare, &self.topic, 0);
        // What begins so is hidden from many readers.
        if stem.starts_with('_') { format!("topic{stem}") } else { stem }
    }

    /// Returns a hash of all fields but the instance.
    fn hash(&self) -> String {
        let columns = serde_json::to_string(&self.columns).unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        let has_instances = self.has_instances.to_string();
        for text in [&self.topic, &has_instances, &self.type_name, &columns] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        hash.chars().take(8).collect()
    }
}

/// The name of a type as both ROS 1 and ROS 2 have it: without `/msg/`.
fn plain_type(name: &str) -> String {
    name.replacen("/msg/", "/", 1)
}

impl Tables {
    /// Notes a table, or what is new of one.
    pub(super) fn add(&mut self, table: Table) {
        let topic = table.topic.clone();
        match self.tables.get_mut(&table.name) {
            Some(known) => known.columns.extend(table.columns),
            None => {
                self.of_topic.entry(topic).or_default().push(table.name.clone());
                self.tables.insert(table.name.clone(), table);
            }
        }
    }

    /// The tables for rows like `shapes`, in their order, and what is new of them, which is yet
    /// to be [added](Self::add).
    pub(super) fn places(&self, shapes: &[Shape]) -> (Vec<String>, Vec<Table>) {
        let is_old =
            |shape: &Shape| self.fitting(shape).filter(|table| table.has(shape));
        let old =
            shapes.iter().map(|shape| is_old(shape).map(|table| table.name.clone()));
        if let Some(names) = old.collect() {
            return (names, Vec::new());
        }
        let mut tables = self.clone();
        let (mut names, mut all) = (Vec::new(), Vec::new());
        for shape in shapes {
            let (name, new) = tables.place(shape);
            names.push(name);
            all.extend(new);
        }
        (names, all)
    }

    /// The first table that rows like `shape` can be in.
    fn fitting(&self, shape: &Shape) -> Option<&Table> {
        let own =
            self.of_topic.get(&shape.topic).map(Vec::as_slice).unwrap_or_default();
        let mut own = own.iter().filter_map(|name| self.tables.get(name));
        own.find(|table| table.conflict(shape).is_none())
    }

    /// The table for rows like `shape`, and what is new of it, if something is, which is
    /// also noted.
    fn place(&mut self, shape: &Shape) -> (String, Option<Table>) {
        let new = match self.fitting(shape) {
            Some(table) if table.has(shape) => return (table.name.clone(), None),
            Some(table) => {
                let columns = shape.columns.iter().filter_map(|(name, of)| {
                    let merged = table.merged(name, of)?;
                    let is_new = table.columns.get(name) != Some(&merged);
                    is_new.then(|| (name.clone(), merged))
                });
                Table { columns: columns.collect(), ..table.clone() }
            }
            None => self.new_table(shape),
        };
        self.add(new.clone());
        (new.name.clone(), Some(new))
    }

    /// One more table.
    fn new_table(&self, shape: &Shape) -> Table {
        let first = self.of_topic.get(&shape.topic).and_then(|own| own.first());
        let differs = first.and_then(|name| {
            let conflict = self.tables.get(name)?.conflict(shape)?;
            Some(format!("{conflict} in the table {name}"))
        });
        let base = shape.base();
        let is_taken = |name: &str| {
            self.tables.keys().any(|known| known.eq_ignore_ascii_case(name))
        };
        let mut name = base.clone();
        let mut differs = differs;
        if is_taken(&name) {
            name = format!("{base}~{}", shape.hash());
            differs = differs
                .or_else(|| Some(format!("the table {base} is of another topic")));
        }
        while is_taken(&name) {
            name.push('~');
        }
        Table {
            name,
            topic: shape.topic.clone(),
            has_instances: shape.has_instances,
            type_name: shape.type_name.clone(),
            columns: shape.columns.clone(),
            differs,
        }
    }

    /// The topics of which no table is one of `live`, those with files.
    pub(super) fn idle(&self, live: &BTreeSet<String>) -> Vec<String> {
        let is_idle = |own: &Vec<String>| own.iter().all(|table| !live.contains(table));
        let topics = self.of_topic.iter().filter(|(_, own)| is_idle(own));
        let mut topics: Vec<_> = topics.map(|(topic, _)| topic.clone()).collect();
        topics.sort();
        topics
    }

    /// Forgets all tables of a topic: their types decide nothing any more.
    pub(super) fn forget(&mut self, topic: &str) {
        for table in self.of_topic.remove(topic).unwrap_or_default() {
            self.tables.remove(&table);
        }
    }

    /// Of which of the tables that are `live` it is to be told why they are not the first ones
    /// of their topics, and how.
    pub(super) fn odd(&self, live: &BTreeSet<String>) -> Vec<String> {
        let odd = self.tables.values().filter_map(|table| {
            let why = table.differs.as_ref().filter(|_| live.contains(&table.name))?;
            let Table { name, topic, .. } = table;
            Some(format!("{name} is a separate table of {topic}: {why}"))
        });
        odd.collect()
    }
}

impl Table {
    /// Returns true if it has all columns of `shape`, each wide enough.
    fn has(&self, shape: &Shape) -> bool {
        let mut columns = shape.columns.iter();
        columns
            .all(|(name, of)| self.columns.get(name) == self.merged(name, of).as_ref())
    }

    /// Returns the type of the column `name` that holds values of the type `of` too;
    /// nothing if there is none.
    fn merged(&self, name: &str, of: &ColumnType) -> Option<ColumnType> {
        match self.columns.get(name) {
            Some(known) => known.merge(of).ok(),
            None => Some(of.clone()),
        }
    }

    /// Returns why rows like `shape` cannot be in it, if they cannot; the name of the table
    /// is to follow.
    fn conflict(&self, shape: &Shape) -> Option<String> {
        if self.type_name != shape.type_name {
            let (own, other) = (&self.type_name, &shape.type_name);
            return Some(format!("the type is {other}, but {own}"));
        }
        if self.has_instances != shape.has_instances {
            let (own, other) = match self.has_instances {
                true => ("with", "without"),
                false => ("without", "with"),
            };
            return Some(format!("it is {other} instances, but {own} them"));
        }
        // Readers that speak SQL do not distinguish upper and lower case.
        let known: HashMap<String, (&String, &ColumnType)> =
            self.columns.iter().map(|known| (known.0.to_lowercase(), known)).collect();
        shape.columns.iter().find_map(|(name, of)| {
            let (own_name, own) = match self.columns.get_key_value(name) {
                Some(known) => known,
                None => *known.get(&name.to_lowercase())?,
            };
            let conflict = own.merge(of).err()?;
            let (dot, member) = match &*conflict.member {
                "" => ("", ""),
                member => (".", member),
            };
            let also = match own_name == name {
                true => String::new(),
                false => format!(" (`{own_name}`)"),
            };
            let (known, new) = (&conflict.known, &conflict.new);
            Some(format!("`{name}{dot}{member}` is {new}, but {known}{also}"))
        })
    }
}

#[cfg(test)]
mod tests;
