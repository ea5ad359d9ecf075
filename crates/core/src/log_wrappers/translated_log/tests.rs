use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::*;
use crate::{
    model::{
        damage::{Damage, DamageKind},
        time::{Clock, ClockZero, TimeRange, Timestamp},
    },
    record::block::Block,
    testing::sample_log::Sample,
};

const UNIX: Clock = Clock { zero: ClockZero::Unix, to_unix: None };

/// Doubles each payload. An empty payload is damage.
struct PayloadDoubler;

impl Translate for PayloadDoubler {
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            messages.buffer().extend_from_slice(record.payload);
            if record.payload.is_empty() {
                messages.discard(record.undecodable_damage());
                continue;
            }
            messages.buffer().extend_from_slice(record.payload);
            messages.end_message(index);
        }
        Ok(())
    }
}

fn with_doubled_payloads(sample: Sample, source_topics: &[u32]) -> TranslatedLog {
    let manifest = sample.manifest.clone();
    let translation = |source_topic: &u32| Translation {
        source_topic: TopicId(*source_topic),
        topic: manifest.topics[*source_topic as usize].clone(),
        new_translator: Arc::new(|| Ok(Box::new(PayloadDoubler))),
    };
    let translations = source_topics.iter().map(translation).collect();
    TranslatedLog::new(Arc::new(sample), translations, 100).with_clock(UNIX)
}

type ReadRecords = (Vec<(u32, i64, Vec<u8>)>, Vec<Damage>);

fn read(log: &TranslatedLog, selection: &Selection) -> ReadRecords {
    read_in_parts(log, selection, 0)
}

/// Reads the log in parts of about `target_bytes` bytes.
fn read_in_parts(
    log: &TranslatedLog,
    selection: &Selection,
    target_bytes: u64,
) -> ReadRecords {
    let (mut messages, mut damage, mut block) =
        (Vec::new(), Vec::new(), Block::default());
    for part in log.manifest().plan(selection, target_bytes) {
        let mut cursor = log.read(&part, selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            messages.extend(block.iter().map(|record| {
                (record.topic.0, record.time.as_nanos(), record.payload.to_vec())
            }));
            damage.extend_from_slice(block.damage());
        }
    }
    (messages, damage)
}

#[test]
fn messages_are_in_the_order_of_their_records_with_shifted_times() {
    let log = with_doubled_payloads(
        Sample::new(&[&[(1, 0, 1, b"a"), (0, 0, 2, b"b"), (1, 0, 3, b"c")]]),
        &[1, 0, 1],
    );
    let (messages, damage) = read(&log, &Selection::default());
    let expected = [
        (0, 101, b"aa".to_vec()),
        (2, 101, b"aa".to_vec()),
        (1, 102, b"bb".to_vec()),
        (0, 103, b"cc".to_vec()),
        (2, 103, b"cc".to_vec()),
    ];
    assert_eq!(messages, expected);
    assert_eq!(damage, []);
    assert_eq!(log.manifest().parts[0].time.start.as_nanos(), 101);
}

#[test]
fn manifest_has_the_translated_topics_and_times() {
    let log = with_doubled_payloads(
        Sample::new(&[&[(1, 0, 1, b"a"), (0, 0, 2, b"b")]]),
        &[1, 0],
    );
    let time = TimeRange { start: Timestamp::from_nanos(102), end: Timestamp::MAX };
    let late = Selection { time, ..Selection::default() };
    assert_eq!(read(&log, &late).0, [(1, 102, b"bb".to_vec())]);
    let topics = [TopicId(0)].into_iter().collect();
    let first = Selection { topics, ..Selection::default() };
    assert_eq!(read(&log, &first).0, [(0, 101, b"aa".to_vec())]);
}

#[test]
fn untranslatable_records_are_damage() {
    let source_damage = Damage::new(DamageKind::Garbled, 7..9);
    let sample = Sample::new(&[&[(0, 0, 1, b""), (0, 0, 2, b"b")]]);
    let log = with_doubled_payloads(sample.with_damage(0, source_damage.clone()), &[0]);
    let (messages, damage) = read(&log, &Selection::default());
    assert_eq!(messages, [(0, 102, b"bb".to_vec())]);
    assert_eq!(damage[0], source_damage);
    assert_eq!((damage[1].kind, damage[1].records), (DamageKind::Undecodable, 1));
}

/// Combines pairs of payloads into one message with the time of the first.
#[derive(Default)]
struct PayloadPairs(Option<(Timestamp, Vec<u8>)>);

impl Translate for PayloadPairs {
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            match self.0.take() {
                None => self.0 = Some((record.time, record.payload.to_vec())),
                Some((time, first)) => {
                    messages.buffer().extend(first);
                    messages.buffer().extend_from_slice(record.payload);
                    messages.end_message_at(index, time);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, messages: &mut MessageBuffer) -> Result<()> {
        if let Some((_, single)) = self.0.take() {
            messages.buffer().extend(single);
            messages.end_message(0);
        }
        Ok(())
    }
}

#[test]
fn message_of_several_records_may_span_parts() {
    let sample = Sample::new(&[
        &[(0, 0, 1, b"a"), (0, 0, 2, b"b"), (0, 0, 3, b"c")],
        &[(0, 0, 4, b"d"), (0, 0, 5, b"e")],
    ]);
    let topic = sample.manifest.topics[0].clone();
    let new_translator =
        Arc::new(|| Ok(Box::<PayloadPairs>::default() as Box<dyn Translate>));
    let pairs = Translation { source_topic: TopicId(0), topic, new_translator };
    let log = TranslatedLog::new(Arc::new(sample), vec![pairs], 100)
        .with_clock(UNIX)
        .with_one_part();
    let (messages, _) = read(&log, &Selection::default());
    let expected = [(101, b"ab".to_vec()), (103, b"cd".to_vec()), (105, b"e".to_vec())];
    assert_eq!(messages, expected.map(|(time, bytes)| (0, time, bytes)));
}

/// Combines the second letters of payloads that start with the same digit into the
/// message of that digit. Another first letter is damage.
struct DigitWords {
    digits: Range<u32>,
    words: BTreeMap<u32, (Timestamp, Vec<u8>)>,
}

impl Translate for DigitWords {
    fn restrict_to(&mut self, groups: Range<u32>) {
        self.digits = groups;
    }

    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        for record in run.records() {
            let Some(digit) = char::from(record.payload[0]).to_digit(10) else {
                messages.discard(record.undecodable_damage());
                continue;
            };
            if self.digits.contains(&digit) {
                let word = self.words.entry(digit).or_default();
                word.0 = record.time;
                word.1.push(record.payload[1]);
            }
        }
        Ok(())
    }

    fn finish(&mut self, messages: &mut MessageBuffer) -> Result<()> {
        for (time, word) in std::mem::take(&mut self.words).into_values() {
            messages.buffer().extend(word);
            messages.end_message_at(0, time);
        }
        Ok(())
    }
}

#[test]
fn row_groups_are_complete_in_any_parts_and_damage_is_reported_once() {
    let sample = Sample::new(&[
        &[(0, 0, 1, b"0a"), (0, 0, 2, b"0b"), (0, 0, 3, b"1c"), (0, 0, 4, b"0d")],
        &[(0, 0, 5, b"1e"), (1, 0, 50, b"one"), (0, 0, 6, b"?!"), (0, 0, 7, b"1f")],
        &[(0, 0, 8, b"1g"), (0, 0, 9, b"?!"), (1, 0, 51, b"two")],
        &[(0, 0, 10, b"1h"), (0, 0, 11, b"2i"), (0, 0, 12, b"?!"), (0, 0, 13, b"2j")],
        &[(0, 0, 14, b"2k"), (0, 0, 15, b"3l"), (0, 0, 16, b"4m")],
    ]);
    let source_damage = Damage::new(DamageKind::Garbled, 1007..1009);
    let sample = Arc::new(sample.with_damage(1, source_damage.clone()));
    let range = |start: i64, end: i64| TimeRange {
        start: Timestamp::from_nanos(start),
        end: Timestamp::from_nanos(end),
    };
    let group =
        |start: u64, first_record: u64, time| RowGroup { start, first_record, time };
    // Group `1` has records before its start, and group `4` is not known.
    let groups = vec![
        group(0, 0, range(1, 5)),
        group(1000, 4, range(3, 11)),
        group(3002, 3002, range(11, 15)),
        group(4002, 4002, range(15, 17)),
    ];
    let words = || Translation {
        source_topic: TopicId(0),
        topic: sample.manifest.topics[0].clone(),
        new_translator: Arc::new(|| {
            Ok(Box::new(DigitWords { digits: 0..u32::MAX, words: BTreeMap::new() }))
        }),
    };
    let plain = Translation {
        source_topic: TopicId(1),
        topic: sample.manifest.topics[1].clone(),
        new_translator: Arc::new(|| Ok(Box::new(PayloadDoubler))),
    };
    let expected_messages = vec![
        (0, 104, b"abd".to_vec()),
        (0, 110, b"cefgh".to_vec()),
        (0, 114, b"ijk".to_vec()),
        (0, 115, b"l".to_vec()),
        (0, 116, b"m".to_vec()),
        (1, 150, b"oneone".to_vec()),
        (1, 151, b"twotwo".to_vec()),
    ];
    for part_bytes in [0, 2000, 3000, 5000] {
        let translations = vec![words(), plain.clone()];
        let log =
            TranslatedLog::new(sample.clone(), translations, 100).with_clock(UNIX);
        let groups = [(TopicId(0), groups.clone())].into();
        let log = log.with_row_groups_in_parts(groups, part_bytes);
        let (mut messages, damage) = read(&log, &Selection::default());
        for target_bytes in [2000, u64::MAX] {
            let joined = read_in_parts(&log, &Selection::default(), target_bytes);
            assert_eq!(joined, (messages.clone(), damage.clone()), "{target_bytes}");
        }
        messages.sort();
        assert_eq!(messages, expected_messages, "{part_bytes}");
        let undecodable = damage.iter().filter(|d| d.kind == DamageKind::Undecodable);
        assert_eq!(undecodable.map(|damage| damage.records).sum::<u64>(), 3);
        assert_eq!(damage.iter().filter(|damage| **damage == source_damage).count(), 1);
        let times: Vec<_> = log.manifest().parts.iter().map(|part| part.time).collect();
        match part_bytes {
            0 => {
                let words = [range(101, 105), range(103, 151), range(108, 152)];
                assert_eq!(times[..3], words);
                assert_eq!(times[3..], [range(111, 115), range(115, 117)]);
            }
            5000 => assert_eq!(times, [range(101, 152)]),
            _ => assert!(times.len() > 1 && times.len() < 5),
        }
        // A time selects the messages with that time.
        let late = Selection { time: range(114, 116), ..Selection::default() };
        let expected = [(0, 114, b"k".to_vec()), (0, 115, b"l".to_vec())];
        assert_eq!(read(&log, &late).0, expected, "{part_bytes}");
    }
}

#[test]
fn streams_of_the_source_topic_are_kept_on_request() {
    let mut sample =
        Sample::new(&[&[(1, 2, 1, b"a"), (0, 1, 2, b"b"), (1, 0, 3, b"c")]]);
    let stream = |topic: u32, word: &str| crate::model::topic::Stream {
        topic: TopicId(topic),
        metadata: [(
            "word".to_owned(),
            crate::model::value::Value::Text(word.to_owned()),
        )]
        .into(),
        metadata_keys: crate::model::topic::MetadataKeys::Format,
    };
    sample.manifest.streams = vec![stream(1, "x"), stream(0, "y"), stream(1, "z")];
    // The second topic has the latched streams 0 and 1, of which only the first one is
    // its own.
    let log = with_doubled_payloads(sample, &[1, 0]).with_streams();
    let words: Vec<_> = log
        .manifest()
        .streams
        .iter()
        .map(|stream| (stream.topic.0, stream.metadata["word"].to_string()))
        .collect();
    assert_eq!(words, [(0, "x".to_owned()), (0, "z".to_owned()), (1, "y".to_owned())]);
    assert_eq!(log.manifest().topics[0].latched, [0]);
    let mut block = Block::default();
    let part = &log.manifest().parts[0];
    assert!(log.read(part, &Selection::default()).unwrap().fill(&mut block).unwrap());
    let streams: Vec<_> =
        block.iter().map(|record| (record.topic.0, record.stream)).collect();
    assert_eq!(streams, [(0, 1), (1, 2), (0, 0)]);
}

#[test]
fn record_without_a_representable_time_is_reported_once() {
    // Each record has two messages, and the new clock is 100 ns ahead.
    let (last_representable, too_late) = (i64::MAX - 101, i64::MAX - 100);
    let records = [
        (0, 0, last_representable, b"a"),
        (0, 0, too_late, b"b"),
        (0, 0, i64::MAX, b"c"),
    ];
    let log = with_doubled_payloads(
        Sample::new(&[&records.map(|(topic, stream, time, payload)| {
            (topic, stream, time, &payload[..])
        })]),
        &[0, 0],
    );
    let (messages, damage) = read(&log, &Selection::default());
    let message = |topic| (topic, i64::MAX - 1, b"aa".to_vec());
    assert_eq!(messages, [message(0), message(1)]);
    let lost_records: u64 = damage.iter().map(|damage| damage.records).sum();
    assert_eq!((lost_records, damage[0].topic), (2, Some(TopicId(0))));
}
