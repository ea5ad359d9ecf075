//! Planning splits and reading them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool::{Log, PlanRequest, Session, Split, time::typed::TypedTime};
use logtool_core::{Columns, Damage, TimeRange};

/// The maximum length of a split in JSON without the columns of its topic, for logs with up
/// to 200 topics.
const MAX_SPLIT_BYTES: usize = 8 << 10;

/// Sizes of splits in bytes.
const TARGETS: [u64; 4] = [1, 5_000, 1 << 20, u64::MAX];

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Returns the logs in `testdata/` whose names start with one of `prefixes`.
fn logs(extensions: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(testdata()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let has_extension = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let mut logs: Vec<PathBuf> = paths.filter(has_extension).collect();
    logs.sort();
    assert!(!logs.is_empty(), "{extensions:?}");
    logs
}

/// The rows and the damage of a table.
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    damage: Vec<Damage>,
}

impl Rows {
    fn concat(&self) -> RecordBatch {
        arrow_select::concat::concat_batches(&self.schema, &self.batches).unwrap()
    }
}

fn read(table: &logtool::Table) -> Rows {
    let mut batches = table.batches().unwrap();
    let all = (&mut batches).collect::<Result<Vec<_>, _>>().unwrap();
    Rows {
        schema: batches.schema().clone(),
        batches: all,
        damage: batches.damage().to_vec(),
    }
}

/// Reads the splits of one topic, each after a round trip through JSON.
fn read_splits(splits: &[Split], session: &Session) -> Rows {
    let mut all: Option<Rows> = None;
    for split in splits {
        let json = serde_json::to_string(split).unwrap();
        let split: Split = serde_json::from_str(&json).unwrap();
        let rows = read(&split.table(session).unwrap());
        match &mut all {
            None => all = Some(rows),
            Some(all) => {
                assert_eq!(all.schema, rows.schema, "{}", split.topic());
                all.batches.extend(rows.batches);
                rows.damage.into_iter().for_each(|one| one.add_to(&mut all.damage));
            }
        }
    }
    all.unwrap()
}

/// Checks that the splits of each topic of the log at `path` are its table.
fn check(path: &Path, session: &Session, request: impl Fn(PlanRequest) -> PlanRequest) {
    let log = Log::open(path, session).unwrap();
    for target in TARGETS {
        let base = PlanRequest::new([path]).with_target_bytes(target);
        let plan = request(base).run(session).unwrap();
        assert!(plan.failed.is_empty(), "{:?}", plan.failed);
        for splits in plan.splits.chunk_by(|a, b| a.topic() == b.topic()) {
            let topic = splits[0].topic();
            let table = log.table(topic).unwrap();
            let what = format!("{} {topic} {target}", path.display());
            let want = read(&table);
            let got = read_splits(splits, session);
            assert_eq!(got.schema, want.schema, "{what}");
            assert!(got.concat() == want.concat(), "other rows: {what}");
            let known = |damage: &Damage| (damage.kind, damage.bytes.clone());
            let damage: Vec<_> = got.damage.iter().map(known).collect();
            assert_eq!(
                damage,
                want.damage.iter().map(known).collect::<Vec<_>>(),
                "{what}"
            );
        }
    }
}

#[test]
fn splits_of_ulogs_are_their_tables() {
    for path in logs(&["ulg"]) {
        check(&path, &Session::new(), |request| request);
    }
}

#[test]
fn splits_are_short() {
    let all = logs(&["ulg", "bag", "mcap", "pcap", "vel"]);
    for path in all {
        let Ok(plan) = PlanRequest::new([&path]).run(&Session::new()) else { continue };
        for split in plan.splits {
            let len = serde_json::to_string(&split).unwrap().len();
            assert!(
                len <= MAX_SPLIT_BYTES,
                "{} {}: {len} bytes",
                path.display(),
                split.topic()
            );
        }
    }
}
