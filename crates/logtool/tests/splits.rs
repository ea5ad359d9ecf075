//! Planning splits, and reading each of them.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

#[path = "splits/changed_logs.rs"]
mod changed_logs;
#[path = "splits/messages.rs"]
mod messages;
#[path = "splits/tables.rs"]
mod tables;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool::{Log, PlanRequest, Session, Split, Table, time::typed_time::TypedTime};
use logtool_core::{Damage, TimeRange};

/// The number of bytes of a split in JSON that the parts of its log may take.
const MAX_SPLIT_BYTES: usize = 6 << 10;

/// Target sizes of splits in bytes.
const TARGETS: [u64; 4] = [1, 5_000, 1 << 16, u64::MAX];

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// The selected columns and times.
#[derive(Default)]
struct SelectedData {
    columns: Vec<String>,
    /// The start and the end, in nanoseconds since the start of the log.
    times: Option<(i64, i64)>,
}

impl SelectedData {
    fn request(&self, path: &Path) -> PlanRequest {
        let request = PlanRequest::new([path]).with_topics(["*"]);
        let request = request.with_columns(&self.columns);
        match self.times {
            None => request,
            Some((start, end)) => request.with_time(
                Some(TypedTime::Relative(start)),
                Some(TypedTime::Relative(end)),
            ),
        }
    }

    fn table(&self, log: &Log, topic: &str) -> Table {
        let mut table = log.table(topic).unwrap();
        if !self.columns.is_empty() {
            let has_column = |column: &&String| {
                table.clone().with_columns(&[String::clone(column)]).is_ok()
            };
            let columns: Vec<String> =
                self.columns.iter().filter(has_column).cloned().collect();
            table = table.with_columns(&columns).unwrap();
        }
        let Some((start, end)) = self.times else { return table };
        let log_start = log.manifest().time.unwrap().start;
        table.with_time(TimeRange {
            start: log_start.shifted_by(start),
            end: log_start.shifted_by(end),
        })
    }
}

/// The rows and the damage of a table.
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    damage: Vec<Damage>,
}

impl Rows {
    fn read(table: &Table) -> Self {
        let mut batches = table.batches().unwrap();
        let all = (&mut batches).collect::<Result<Vec<_>, _>>().unwrap();
        let (schema, damage) = (batches.schema().clone(), batches.damage().to_vec());
        Self { schema, batches: all, damage }
    }

    /// Reads the splits of one topic, each after a round trip through JSON.
    fn of_splits(splits: &[Split]) -> Self {
        let tables = splits.iter().map(|split| {
            let json = serde_json::to_string(split).unwrap();
            let split: Split = serde_json::from_str(&json).unwrap();
            Self::read(&split.table(&Session::new()).unwrap())
        });
        let join = |mut all: Self, next: Self| {
            assert_eq!(all.schema, next.schema);
            all.batches.extend(next.batches);
            next.damage.into_iter().for_each(|one| one.add_to(&mut all.damage));
            all
        };
        tables.reduce(join).unwrap()
    }

    fn concat(&self) -> RecordBatch {
        arrow_select::concat::concat_batches(&self.schema, &self.batches).unwrap()
    }

    fn damaged_bytes(&self) -> Vec<(String, u64, u64)> {
        let known = |damage: &Damage| {
            (format!("{:?}", damage.kind), damage.bytes.start, damage.bytes.end)
        };
        self.damage.iter().map(known).collect()
    }
}
