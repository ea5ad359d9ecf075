//! The tables of a dataset, and the assignment of topics to tables.
//!
//! A table has the rows of one topic, of all logs and of all instances. Readers combine its
//! files by the names of columns: a column that a file does not have is null, and the types of
//! a column are widened if they are of one kind ([`ColumnType`]). Readers cannot combine files
//! if a column is a number in one and a string in another. The topic of a log with such a
//! conflict gets a separate table, and the report names it.

mod column_type;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arrow_schema::Schema;
use logtool_core::Topic;
use logtool_sinks::{FileNames, NameStyle};
use serde::{Deserialize, Serialize};

pub(super) use self::column_type::ColumnType;

/// All tables of a dataset.
#[derive(Clone, Debug, Default)]
pub(super) struct TableSet {
    tables: BTreeMap<String, TableDeclaration>,
    /// The names of the tables of each topic, in the order in which they were added.
    by_topic: HashMap<String, Vec<String>>,
    /// The names of the tables in lower case, because some file systems do not distinguish it.
    names: HashSet<String>,
}

/// The columns of the rows of a topic in one log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RowSchema {
    pub(super) topic: String,
    pub(super) instance: u32,
    /// Whether the format of the log numbers instances, so that they are partitions.
    pub(super) has_instances: bool,
    pub(super) type_name: String,
    pub(super) columns: BTreeMap<String, ColumnType>,
}

/// A table, or the columns that are added to one: a line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableDeclaration {
    pub(super) name: String,
    pub(super) topic: String,
    /// Whether instances are partitions. Readers expect the same partitions in all files of a
    /// table.
    pub(super) has_instances: bool,
    pub(super) type_name: String,
    /// The columns; in the journal, those that are new.
    pub(super) columns: BTreeMap<String, ColumnType>,
    /// Why it is not the first table of its topic.
    pub(super) differs: Option<String>,
}

impl RowSchema {
    /// Creates the schema of the rows of `topic`.
    pub(super) fn new(topic: &Topic, schema: &Schema, has_instances: bool) -> Self {
        let fields = schema.fields().iter();
        let columns = fields
            .map(|field| (field.name().clone(), ColumnType::new(field.data_type())));
        Self {
            topic: topic.name.clone(),
            instance: topic.instance,
            has_instances,
            type_name: ros1_type_name(&topic.type_name),
            columns: columns.collect(),
        }
    }

    /// Returns the name of the file of these rows in `table`, without its extension.
    pub(super) fn file_stem(&self, table: &str) -> String {
        match (self.has_instances, self.instance) {
            (true, instance) => format!("{table}/instance={instance}/part-0"),
            (false, 0) => table.to_owned(),
            // The topic has several types with the same columns: one table, several files.
            (false, instance) => format!("{table}/part-{instance}"),
        }
    }

    /// Returns a column that readers confuse with the partition of the log or the instance.
    pub(super) fn partition_column(&self) -> Option<&str> {
        let is_partition = |name: &&String| {
            let is_instance =
                self.has_instances && name.eq_ignore_ascii_case("instance");
            is_instance || name.eq_ignore_ascii_case("log")
        };
        self.columns.keys().find(is_partition).map(String::as_str)
    }

    /// Returns the name of the first table of the topic.
    fn table_name(&self) -> String {
        let stem = FileNames::stem_of(&NameStyle::OmitInstanceZero, &self.topic, 0);
        // Many readers ignore names that start with an underscore.
        if stem.starts_with('_') { format!("topic{stem}") } else { stem }
    }

    /// Returns a hash of all fields but the instance.
    fn hash(&self) -> String {
        let columns = serde_json::to_string(&self.columns).unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        let has_instances = self.has_instances.to_string();
        for field in [&self.topic, &has_instances, &self.type_name, &columns] {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field.as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        hash.chars().take(8).collect()
    }
}

/// Returns the name of a type in ROS 1, for names of ROS 2 too: without `/msg/`.
fn ros1_type_name(name: &str) -> String {
    name.replacen("/msg/", "/", 1)
}

impl TableSet {
    /// Adds a table, or columns of a table that exists.
    pub(super) fn add(&mut self, table: TableDeclaration) {
        if let Some(known) = self.tables.get_mut(&table.name) {
            known.columns.extend(table.columns);
        } else {
            let topic = table.topic.clone();
            self.by_topic.entry(topic).or_default().push(table.name.clone());
            self.names.insert(table.name.to_ascii_lowercase());
            self.tables.insert(table.name.clone(), table);
        }
    }

    /// Returns the table for rows of each of `schemas`, in their order, and the changes of the
    /// tables that it needs. The caller [adds](Self::add) them when they are in the journal.
    pub(super) fn assign(
        &self,
        schemas: &[RowSchema],
    ) -> (Vec<String>, Vec<TableDeclaration>) {
        let complete = |schema: &RowSchema| {
            let table = self.matching_table(schema)?;
            table.has_columns(schema).then(|| table.name.clone())
        };
        if let Some(names) = schemas.iter().map(complete).collect() {
            return (names, Vec::new());
        }
        let mut tables = self.of_topics(schemas);
        let (mut names, mut changes) = (Vec::new(), Vec::new());
        for schema in schemas {
            let (name, change) = tables.assign_one(schema, &self.names);
            names.push(name);
            changes.extend(change);
        }
        (names, changes)
    }

    /// Returns the tables of the topics of `schemas`: a dataset may have very many others.
    fn of_topics(&self, schemas: &[RowSchema]) -> Self {
        let topics: BTreeSet<&String> =
            schemas.iter().map(|schema| &schema.topic).collect();
        let names = topics.into_iter().filter_map(|topic| self.by_topic.get(topic));
        let tables = names.flatten().filter_map(|name| self.tables.get(name));
        let mut of_topics = Self::default();
        tables.for_each(|table| of_topics.add(table.clone()));
        of_topics
    }

    /// Returns the first table of the topic that has no conflict with `schema`.
    fn matching_table(&self, schema: &RowSchema) -> Option<&TableDeclaration> {
        let names = self.by_topic.get(&schema.topic)?;
        let mut tables = names.iter().filter_map(|name| self.tables.get(name));
        tables.find(|table| table.conflict(schema).is_none())
    }

    /// Returns the table for rows of `schema`, and the change that it needs, which is added.
    /// A new table has none of the names in `taken_names`.
    fn assign_one(
        &mut self,
        schema: &RowSchema,
        taken_names: &HashSet<String>,
    ) -> (String, Option<TableDeclaration>) {
        let change = match self.matching_table(schema) {
            Some(table) if table.has_columns(schema) => {
                return (table.name.clone(), None);
            }
            Some(table) => {
                let new = schema.columns.iter().filter_map(|(name, column)| {
                    let merged = table.merged_type(name, column)?;
                    let is_new = table.columns.get(name) != Some(&merged);
                    is_new.then(|| (name.clone(), merged))
                });
                TableDeclaration { columns: new.collect(), ..table.clone() }
            }
            None => self.new_table(schema, taken_names),
        };
        self.add(change.clone());
        (change.name.clone(), Some(change))
    }

    /// Returns a new table for rows of `schema`, with a name that is not in `taken_names`.
    fn new_table(
        &self,
        schema: &RowSchema,
        taken_names: &HashSet<String>,
    ) -> TableDeclaration {
        let tables = self.by_topic.get(&schema.topic);
        let mut differs = tables.and_then(|names| names.first()).and_then(|name| {
            let conflict = self.tables.get(name)?.conflict(schema)?;
            Some(format!("{conflict} in the table {name}"))
        });
        let is_taken = |name: &str| {
            let name = name.to_ascii_lowercase();
            self.names.contains(&name) || taken_names.contains(&name)
        };
        let first_name = schema.table_name();
        let mut name = first_name.clone();
        if is_taken(&name) {
            name = format!("{first_name}~{}", schema.hash());
            differs = differs.or_else(|| {
                Some(format!("the table {first_name} is of another topic"))
            });
        }
        while is_taken(&name) {
            name.push('~');
        }
        TableDeclaration {
            name,
            topic: schema.topic.clone(),
            has_instances: schema.has_instances,
            type_name: schema.type_name.clone(),
            columns: schema.columns.clone(),
            differs,
        }
    }

    /// Returns the topics without a table in `used`, the names of the tables with files.
    pub(super) fn unused_topics(&self, used: &BTreeSet<String>) -> Vec<String> {
        let is_unused =
            |tables: &[String]| tables.iter().all(|table| !used.contains(table));
        let topics = self.by_topic.iter().filter(|(_, tables)| is_unused(tables));
        let mut topics: Vec<_> = topics.map(|(topic, _)| topic.clone()).collect();
        topics.sort();
        topics
    }

    /// Removes all tables of `topic`, so that their columns cause no conflicts.
    pub(super) fn remove_topic(&mut self, topic: &str) {
        for table in self.by_topic.remove(topic).unwrap_or_default() {
            self.tables.remove(&table);
            self.names.remove(&table.to_ascii_lowercase());
        }
    }

    /// Returns a sentence about each of the tables in `used` that is separate from the first
    /// one of its topic.
    pub(super) fn separate_tables(&self, used: &BTreeSet<String>) -> Vec<String> {
        let separate = self.tables.values().filter_map(|table| {
            let reason =
                table.differs.as_ref().filter(|_| used.contains(&table.name))?;
            let TableDeclaration { name, topic, .. } = table;
            Some(format!("{name} is a separate table of {topic}: {reason}"))
        });
        separate.collect()
    }
}

impl TableDeclaration {
    /// Returns whether the table has all columns of `schema`, with types that hold them.
    fn has_columns(&self, schema: &RowSchema) -> bool {
        let mut columns = schema.columns.iter();
        columns.all(|(name, column)| {
            self.columns.get(name) == self.merged_type(name, column).as_ref()
        })
    }

    /// Returns the type of the column `name` that holds values of `column` too; `None` if
    /// there is no such type.
    fn merged_type(&self, name: &str, column: &ColumnType) -> Option<ColumnType> {
        match self.columns.get(name) {
            Some(known) => known.merge(column).ok(),
            None => Some(column.clone()),
        }
    }

    /// Returns why rows of `schema` cannot be in the table, if they cannot. The name of the
    /// table follows in the message.
    fn conflict(&self, schema: &RowSchema) -> Option<String> {
        if self.type_name != schema.type_name {
            let (known, new) = (&self.type_name, &schema.type_name);
            return Some(format!("the type is {new}, but {known}"));
        }
        if self.has_instances != schema.has_instances {
            let (known, new) = if self.has_instances {
                ("with", "without")
            } else {
                ("without", "with")
            };
            return Some(format!("it is {new} instances, but {known} them"));
        }
        // SQL does not distinguish upper and lower case in names.
        let lower_case: HashMap<String, (&String, &ColumnType)> =
            self.columns.iter().map(|known| (known.0.to_lowercase(), known)).collect();
        schema.columns.iter().find_map(|(name, column)| {
            let (known_name, known) = match self.columns.get_key_value(name) {
                Some(known) => known,
                None => *lower_case.get(&name.to_lowercase())?,
            };
            let conflict = known.merge(column).err()?;
            let (dot, member) = match &*conflict.member {
                "" => ("", ""),
                member => (".", member),
            };
            let spelling = if known_name == name {
                String::new()
            } else {
                format!(" (`{known_name}`)")
            };
            let (known, new) = (&conflict.known, &conflict.new);
            Some(format!("`{name}{dot}{member}` is {new}, but {known}{spelling}"))
        })
    }
}

#[cfg(test)]
mod tests;
