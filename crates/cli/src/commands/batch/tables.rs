//! Which table of a data set the rows of a topic go to.
//!
//! A table is of one topic, and a column of it has one type in all logs: readers put the
//! files of a table together by the names of columns, and take a column that a file does
//! not have for nulls; but not one that is a number here and a text there. So where a log
//! has another type, its topic goes to a table of its own, which is told.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_schema::Schema;
use logtool_core::Topic;
use logtool_sinks::{FileNames, NameStyle};
use serde::{Deserialize, Serialize};

/// All tables of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    tables: BTreeMap<String, Table>,
    /// The tables of each topic, the first one first.
    of_topic: HashMap<(String, u32), Vec<String>>,
}

/// What the rows of a topic are like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) topic: String,
    pub(super) instance: u32,
    pub(super) type_name: String,
    /// The columns and their types.
    pub(super) columns: BTreeMap<String, String>,
}

/// A table, or what is new of one: as it is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) topic: String,
    pub(super) instance: u32,
    pub(super) type_name: String,
    /// The columns and their types; where it is noted, the new ones.
    pub(super) columns: BTreeMap<String, String>,
    /// Why it is not the first table of its topic.
    pub(super) differs: Option<String>,
}

impl Shape {
    /// Of the rows of `topic` with the columns `schema`.
    pub(super) fn new(topic: &Topic, schema: &Schema) -> Self {
        let fields = schema.fields().iter();
        let columns =
            fields.map(|field| (field.name().clone(), field.data_type().to_string()));
        Self {
            topic: topic.name.clone(),
            instance: topic.instance,
            type_name: plain_type(&topic.type_name),
            columns: columns.collect(),
        }
    }

    /// What the topic is called when it has a table for itself.
    fn base(&self) -> String {
        let stem =
            FileNames::stem_of(&NameStyle::FirstBare, &self.topic, self.instance);
        // What begins so is hidden from many readers.
        if stem.starts_with('_') { format!("topic{stem}") } else { stem }
    }

    /// A number that stands for all of it.
    fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        };
        add(&self.topic);
        add(&self.instance.to_string());
        add(&self.type_name);
        self.columns.iter().for_each(|(name, of)| {
            add(name);
            add(of);
        });
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
        let topic = (table.topic.clone(), table.instance);
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
        let topic = (shape.topic.clone(), shape.instance);
        let own = self.of_topic.get(&topic).map(Vec::as_slice).unwrap_or_default();
        let mut own = own.iter().filter_map(|name| self.tables.get(name));
        own.find(|table| table.odds(shape).is_none())
    }

    /// The table for rows like `shape`, and what is new of it, if something is, which is
    /// also noted.
    fn place(&mut self, shape: &Shape) -> (String, Option<Table>) {
        let new = match self.fitting(shape) {
            Some(table) if table.has(shape) => return (table.name.clone(), None),
            Some(table) => {
                let columns = shape.columns.iter();
                let new =
                    columns.filter(|(name, _)| !table.columns.contains_key(*name));
                let columns = new.map(|(name, of)| (name.clone(), of.clone()));
                Table { columns: columns.collect(), ..table.clone() }
            }
            None => self.new_table(shape),
        };
        self.add(new.clone());
        (new.name.clone(), Some(new))
    }

    /// One more table.
    fn new_table(&self, shape: &Shape) -> Table {
        let topic = (shape.topic.clone(), shape.instance);
        let first = self.of_topic.get(&topic).and_then(|own| own.first());
        let differs = first.and_then(|name| {
            let odds = self.tables.get(name)?.odds(shape)?;
            Some(format!("{odds} in the table {name}"))
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
            instance: shape.instance,
            type_name: shape.type_name.clone(),
            columns: shape.columns.clone(),
            differs,
        }
    }

    /// The topics of which no table is one of `live`, those with files.
    pub(super) fn idle(&self, live: &BTreeSet<String>) -> Vec<(String, u32)> {
        let is_idle = |own: &Vec<String>| own.iter().all(|table| !live.contains(table));
        let topics = self.of_topic.iter().filter(|(_, own)| is_idle(own));
        let mut topics: Vec<_> = topics.map(|(topic, _)| topic.clone()).collect();
        topics.sort();
        topics
    }

    /// Forgets all tables of a topic: their types decide nothing any more.
    pub(super) fn forget(&mut self, topic: String, instance: u32) {
        for table in self.of_topic.remove(&(topic, instance)).unwrap_or_default() {
            self.tables.remove(&table);
        }
    }

    /// Of which of the tables that are `live` it is to be told why they are not the first ones
    /// of their topics, and how.
    pub(super) fn odd(&self, live: &BTreeSet<String>) -> Vec<String> {
        let odd = self.tables.values().filter_map(|table| {
            let why = table.differs.as_ref().filter(|_| live.contains(&table.name))?;
            let Table { name, topic, .. } = table;
            Some(format!("{name} is a table of its own of {topic}: {why}"))
        });
        odd.collect()
    }
}

impl Table {
    /// Whether it has all columns of `shape`.
    fn has(&self, shape: &Shape) -> bool {
        shape.columns.keys().all(|name| self.columns.contains_key(name))
    }

    /// Why rows like `shape` cannot be in it, if they cannot.
    fn odds(&self, shape: &Shape) -> Option<String> {
        if self.type_name != shape.type_name {
            let (own, other) = (&self.type_name, &shape.type_name);
            return Some(format!("it is of the type {other}, not {own} as"));
        }
        let told = |name: &str, of: &str, known: &str| {
            let (own, other) = (apart(known, of), apart(of, known));
            format!("`{name}` is {other}, not {own} as")
        };
        let mut new = Vec::new();
        for (name, of) in &shape.columns {
            match self.columns.get(name) {
                Some(known) if known != of => return Some(told(name, of, known)),
                Some(_) => {}
                None => new.push((name, of)),
            }
        }
        if new.is_empty() {
            return None;
        }
        // Readers that speak SQL do not tell capitals from small letters.
        let known: HashMap<String, (&String, &String)> =
            self.columns.iter().map(|known| (known.0.to_lowercase(), known)).collect();
        new.into_iter().find_map(|(name, of)| {
            let (other, known) = known.get(&name.to_lowercase())?;
            (*known != of).then(|| format!("{} `{other}`", told(name, of, known)))
        })
    }
}

/// `type_name`, of a long one only the nested field in which it differs first from `other`.
fn apart(type_name: &str, other: &str) -> String {
    const LONG: usize = 60;
    if type_name.chars().count() <= LONG {
        return type_name.to_owned();
    }
    let both = type_name.chars().zip(other.chars());
    let same: usize = both.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    // A field begins with its name, in quotes.
    let before = type_name.get(..same).unwrap_or_default();
    let field = before.rfind("(\"").max(before.rfind(", \"")).map_or(0, |at| at + 1);
    let rest = type_name.get(field..).unwrap_or(type_name);
    let part: String = rest.chars().take(LONG).collect();
    format!("…{}…", part.trim())
}

#[cfg(test)]
mod tests;
