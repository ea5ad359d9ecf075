//! An open edge case, and functions to inspect it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use arrow_array::{Array, RecordBatch, cast::AsArray, types};
use arrow_schema::DataType;
use bytes::Bytes;
use logtool_core::{
    Block, Columns, Damage, DamageKind, Log as _, OpenOptions, Result, Selection, View,
    conformance,
};
use logtool_ulog::{Metadata, UlogLog};

/// A file, and the assertions about it.
pub(crate) type Case = (&'static str, fn(&Edge));

/// The bytes of an edge case, and the result of opening it.
pub(crate) struct Edge {
    pub(crate) bytes: Bytes,
    pub(crate) opened: Result<UlogLog>,
}

/// A record as it is in the file: the label of its topic, its offset, and its bytes.
pub(crate) type Raw = (String, u64, Bytes);

/// Returns the folder of the edge cases, if it exists.
pub(crate) fn samples() -> Option<PathBuf> {
    conformance::sample_path("ulog/edge")
}

/// Checks every case of a group, and prints the name of the file before.
pub(crate) fn check(group: &[Case]) {
    let Some(folder) = samples() else { return };
    for (name, expect) in group {
        eprintln!("{name}");
        let bytes = Bytes::from(std::fs::read(folder.join(name)).unwrap());
        expect(&Edge::open(bytes));
    }
}

impl Edge {
    pub(crate) fn open(bytes: Bytes) -> Self {
        let source = Arc::new(bytes.clone());
        let opened = UlogLog::open(source, OpenOptions::default());
        Self { bytes, opened }
    }

    pub(crate) fn log(&self) -> &UlogLog {
        self.opened.as_ref().expect("it opens")
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        self.log().metadata()
    }

    /// Returns the error message.
    pub(crate) fn refusal(&self) -> String {
        self.opened.as_ref().expect_err("it is refused").to_string()
    }

    /// Returns the number of records of each logged topic, which must agree with the
    /// manifest.
    pub(crate) fn rows(&self) -> Vec<(String, usize)> {
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        for topic in
            self.log().manifest().topics.iter().filter(|t| t.encoding == "ulog")
        {
            rows.insert(topic.label().into_owned(), 0);
        }
        for (label, ..) in self.records() {
            *rows.get_mut(&label).unwrap() += 1;
        }
        for topic in
            self.log().manifest().topics.iter().filter(|t| t.encoding == "ulog")
        {
            assert_eq!(
                topic.records,
                Some(rows[&*topic.label()] as u64),
                "the manifest"
            );
        }
        rows.into_iter().collect()
    }

    /// Asserts that these are the logged topics, with these numbers of records.
    pub(crate) fn has_rows(&self, expected: &[(&str, usize)]) {
        let rows = self.rows();
        let rows: Vec<(&str, usize)> = rows.iter().map(|(l, n)| (&**l, *n)).collect();
        assert_eq!(rows, expected);
    }

    /// Returns every record of the logged topics, in file order.
    pub(crate) fn records(&self) -> Vec<Raw> {
        self.read().0
    }

    /// Returns the damage that was reported while reading.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        self.read().1
    }

    /// Reads all records of the logged topics, and the damage that is reported with them.
    fn read(&self) -> (Vec<Raw>, Vec<Damage>) {
        let (log, selection) = (self.log(), Selection::default());
        let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
        for part in log.manifest().plan(&selection, 1 << 16) {
            let mut cursor = log.read(&part, &selection).unwrap();
            while cursor.fill(&mut block).unwrap() {
                for record in block.iter() {
                    let topic = log.manifest().topic(record.topic).unwrap();
                    if topic.encoding == "ulog" {
                        let payload = Bytes::copy_from_slice(record.payload);
                        records.push((topic.label().into(), record.offset, payload));
                    }
                }
                damage.extend_from_slice(block.damage());
            }
        }
        (records, damage)
    }

    /// Returns true if the definition of this topic is reported as damage.
    pub(crate) fn has_unusable_definition(&self, label: &str) -> bool {
        let manifest = self.log().manifest();
        manifest.damage.iter().any(|damage| {
            let topic = damage.topic.and_then(|id| manifest.topic(id).ok());
            damage.kind == DamageKind::Definition
                && topic.is_some_and(|topic| topic.label() == label)
        })
    }

    /// Returns true if a note about the log contains this text.
    pub(crate) fn remarks(&self, text: &str) -> bool {
        self.log().manifest().remarks.iter().any(|remark| remark.contains(text))
    }

    /// Returns the table of a topic, with one column for each scalar.
    pub(crate) fn table(&self, label: &str) -> RecordBatch {
        let log = self.log();
        let topic = log.manifest().topic_id(label).unwrap();
        let selection =
            Selection { topics: [topic].into_iter().collect(), ..Selection::default() };
        let mut decoder = log.decoder(topic, &Columns::new(View::Flat)).unwrap();
        let (mut block, mut damage) = (Block::default(), vec![]);
        for part in log.manifest().plan(&selection, u64::MAX) {
            let mut cursor = log.read(&part, &selection).unwrap();
            while cursor.fill(&mut block).unwrap() {
                block.runs().for_each(|run| decoder.append(run, &mut damage));
            }
        }
        decoder.take().unwrap()
    }

    /// Returns the times of a topic, in microseconds.
    pub(crate) fn times(&self, label: &str) -> Vec<f64> {
        numbers(self.table(label).column(0))
    }

    /// Returns a column of a topic as numbers.
    pub(crate) fn column(&self, label: &str, column: &str) -> Vec<f64> {
        let table = self.table(label);
        numbers(table.column_by_name(column).expect("the column is there"))
    }

    /// Returns a column of a topic as strings.
    pub(crate) fn texts(&self, label: &str, column: &str) -> Vec<String> {
        let table = self.table(label);
        let column = table.column_by_name(column).expect("the column is there");
        column.as_string::<i32>().iter().map(|text| text.unwrap().to_owned()).collect()
    }

    /// Returns the sum of all numbers of a topic.
    pub(crate) fn sum(&self, label: &str) -> f64 {
        self.table(label).columns().iter().flat_map(numbers).sum()
    }
}

fn numbers(column: &Arc<dyn Array>) -> Vec<f64> {
    assert_eq!(column.null_count(), 0);
    macro_rules! widened {
        ($type:ty) => {{
            let values = column.as_primitive::<$type>().values();
            values.iter().map(|value| *value as f64).collect()
        }};
    }
    match column.data_type() {
        DataType::Timestamp(..) => {
            let nanos =
                column.as_primitive::<types::TimestampNanosecondType>().values();
            nanos.iter().map(|nanos| *nanos as f64 / 1e3).collect()
        }
        DataType::UInt8 => widened!(types::UInt8Type),
        DataType::UInt16 => widened!(types::UInt16Type),
        DataType::Float32 => widened!(types::Float32Type),
        DataType::Float64 => widened!(types::Float64Type),
        DataType::Boolean => {
            let bits = column.as_boolean().values();
            bits.iter().map(|bit| f64::from(u8::from(bit))).collect()
        }
        other => panic!("no test has numbers of type {other}"),
    }
}
