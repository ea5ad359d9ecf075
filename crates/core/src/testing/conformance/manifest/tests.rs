//! Law 9 fails for a manifest that differs from a full read.

use std::{ops::Range, panic::catch_unwind, sync::Arc};

use arrow_schema::Schema;
use bytes::Bytes;

use crate::{
    error::Result,
    io::source::Source,
    log::{Format, Log, MatchConfidence},
    model::{
        damage::{Damage, DamageKind},
        manifest::Manifest,
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
    },
    testing::{conformance::check_damaged, sample_log::Sample},
};

/// A change of a manifest.
type Mutation = fn(&mut Manifest);

/// A format whose logs always have the same records, with a manifest that a test can
/// change.
struct SampleFormat {
    damage: Option<Damage>,
    mutate: Mutation,
}

impl SampleFormat {
    /// Creates a log with a correct manifest.
    fn log(&self) -> Sample {
        let mut log = Sample::new(&[
            &[(0, 0, 10, b"one!"), (1, 0, 12, b"two, longer")],
            &[(0, 0, 20, b"three")],
        ]);
        log.manifest.time = Some(range(10..21));
        let declared = [(9, 10..21), (11, 12..13)];
        for (topic, (bytes, time)) in log.manifest.topics.iter_mut().zip(declared) {
            topic.bytes = Some(bytes);
            topic.time = Some(range(time));
        }
        if let Some(damage) = self.damage.clone() {
            log.manifest.damage.push(damage.clone());
            log = log.with_damage(1, damage);
        }
        log
    }
}

impl Format for SampleFormat {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn probe(&self, _: &str, _: &[u8]) -> MatchConfidence {
        MatchConfidence::Certain
    }

    fn open(&self, _: Arc<dyn Source>, _: OpenOptions) -> Result<Box<dyn Log>> {
        let mut log = self.log();
        (self.mutate)(&mut log.manifest);
        Ok(Box::new(log))
    }

    fn open_with_manifest(
        &self,
        _: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        _: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let mut log = self.log();
        log.manifest = Manifest::clone(&manifest);
        Ok(Box::new(log))
    }
}

fn range(nanos: Range<i64>) -> TimeRange {
    let [start, end] = [nanos.start, nanos.end].map(Timestamp::from_nanos);
    TimeRange { start, end }
}

/// Returns the message of the violated law for a log whose manifest `mutate` changes.
fn failure(damage: Option<Damage>, mutate: Mutation) -> Option<String> {
    let check = move || check_damaged(&SampleFormat { damage, mutate }, Bytes::new());
    let panic = catch_unwind(check).err()?;
    panic.downcast::<String>().ok().map(|message| *message)
}

fn garbled_damage() -> Option<Damage> {
    Some(Damage::new(DamageKind::Garbled, 1_100..1_110))
}

#[test]
fn correct_manifests_pass() {
    assert_eq!(failure(None, |_| {}), None);
    assert_eq!(failure(garbled_damage(), |_| {}), None);
}

#[test]
fn too_high_record_count_fails() {
    let mutate = |manifest: &mut Manifest| manifest.topics[0].records = Some(9);
    for damage in [None, garbled_damage()] {
        assert!(failure(damage, mutate).unwrap().contains("records of a"));
    }
}

#[test]
fn wrong_payload_size_fails() {
    let mutate = |manifest: &mut Manifest| manifest.topics[1].bytes = Some(4);
    assert!(failure(None, mutate).unwrap().contains("bytes of b"));
}

#[test]
fn empty_schema_fails() {
    let mutate = |manifest: &mut Manifest| {
        manifest.topics[0].schema = Arc::new(Schema::empty());
    };
    assert!(failure(None, mutate).unwrap().contains("columns of a"));
}

#[test]
fn wrong_times_of_a_topic_fail() {
    let mutations: [(Mutation, &str); 4] = [
        (|manifest| manifest.topics[0].time = Some(range(7..8)), "first time of a"),
        (|manifest| manifest.topics[0].time = Some(range(5..21)), "first time of a"),
        (|manifest| manifest.topics[0].time = Some(range(10..77)), "last time of a"),
        (|manifest| manifest.topics[0].time = Some(range(10..11)), "times outside"),
    ];
    for (mutate, expected) in mutations {
        let message = failure(None, mutate).unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn wrong_times_of_the_log_fail() {
    let mutations: [(Mutation, &str); 2] = [
        (|manifest| manifest.time = Some(range(11..21)), "first time of the log"),
        (|manifest| manifest.time = Some(range(10..77)), "last time of the log"),
    ];
    for (mutate, expected) in mutations {
        let message = failure(None, mutate).unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn dropped_damage_fails() {
    let message =
        failure(garbled_damage(), |manifest| manifest.damage.clear()).unwrap();
    assert!(message.contains("the manifest lacks"), "{message}");
}

#[test]
fn damage_that_a_full_read_does_not_find_fails() {
    let mutate = |manifest: &mut Manifest| {
        manifest.damage.push(Damage::new(DamageKind::Garbled, 100..110));
    };
    assert!(failure(None, mutate).unwrap().contains("a full read lacks"));
}
