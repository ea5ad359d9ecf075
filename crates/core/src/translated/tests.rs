use std::sync::Arc;

use super::*;
use crate::{
    block::Block,
    damage::{Damage, DamageKind},
    sample::Sample,
    time::{TimeRange, Timestamp},
};

/// Makes each payload twice what it is; one that is empty is damaged.
struct Twice;

impl Translate for Twice {
    fn translate(&mut self, run: Run<'_>, messages: &mut Messages) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            messages.buffer().extend_from_slice(record.payload);
            if record.payload.is_empty() {
                messages.lose(record.undecodable());
                continue;
            }
            messages.buffer().extend_from_slice(record.payload);
            messages.end(index);
        }
        Ok(())
    }
}

fn twice(sample: Sample, froms: &[u32]) -> TranslatedLog {
    let manifest = sample.manifest.clone();
    let translation = |from: &u32| Translation {
        from: TopicId(*from),
        topic: manifest.topics[*from as usize].clone(),
        begin: Arc::new(|| Ok(Box::new(Twice))),
    };
    let translations = froms.iter().map(translation).collect();
    TranslatedLog::new(Arc::new(sample), translations, 100, true)
}

type Seen = (Vec<(u32, i64, Vec<u8>)>, Vec<Damage>);

fn read(log: &TranslatedLog, selection: &Selection) -> Seen {
    let (mut seen, mut damage, mut block) = (Vec::new(), Vec::new(), Block::default());
    for part in log.manifest().plan(selection, 0) {
        let mut cursor = log.read(&part, selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            let told = |r: crate::Record<'_>| {
                (r.topic.0, r.time.as_nanos(), r.payload.to_vec())
            };
            seen.extend(block.iter().map(told));
            damage.extend_from_slice(block.damage());
        }
    }
    (seen, damage)
}

#[test]
fn what_is_made_of_records_is_in_their_order_and_later() {
    let log = twice(
        Sample::new(&[&[(1, 0, 1, b"a"), (0, 0, 2, b"b"), (1, 0, 3, b"c")]]),
        &[1, 0, 1],
    );
    let (seen, damage) = read(&log, &Selection::default());
    let wanted = [
        (0, 101, b"aa".to_vec()),
        (2, 101, b"aa".to_vec()),
        (1, 102, b"bb".to_vec()),
        (0, 103, b"cc".to_vec()),
        (2, 103, b"cc".to_vec()),
    ];
    assert_eq!(seen, wanted);
    assert_eq!(damage, []);
    assert_eq!(log.manifest().parts[0].time.start.as_nanos(), 101);
}

#[test]
fn topics_and_times_are_those_of_the_new_log() {
    let log = twice(Sample::new(&[&[(1, 0, 1, b"a"), (0, 0, 2, b"b")]]), &[1, 0]);
    let time = TimeRange { start: Timestamp::from_nanos(102), end: Timestamp::MAX };
    let late = Selection { time, ..Selection::default() };
    assert_eq!(read(&log, &late).0, [(1, 102, b"bb".to_vec())]);
    let topics = [TopicId(0)].into_iter().collect();
    let first = Selection { topics, ..Selection::default() };
    assert_eq!(read(&log, &first).0, [(0, 101, b"aa".to_vec())]);
}

#[test]
fn what_cannot_be_translated_is_damage_beside_that_of_the_log() {
    let known = Damage::new(DamageKind::Garbled, 7..9);
    let sample = Sample::new(&[&[(0, 0, 1, b""), (0, 0, 2, b"b")]]);
    let log = twice(sample.damaged(0, known.clone()), &[0]);
    let (seen, damage) = read(&log, &Selection::default());
    assert_eq!(seen, [(0, 102, b"bb".to_vec())]);
    assert_eq!(damage[0], known);
    assert_eq!((damage[1].kind, damage[1].records), (DamageKind::Undecodable, 1));
}

/// Makes pairs of payloads one, of the time of the first.
#[derive(Default)]
struct Pairs(Option<(Timestamp, Vec<u8>)>);

impl Translate for Pairs {
    fn translate(&mut self, run: Run<'_>, messages: &mut Messages) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            match self.0.take() {
                None => self.0 = Some((record.time, record.payload.to_vec())),
                Some((time, first)) => {
                    messages.buffer().extend(first);
                    messages.buffer().extend_from_slice(record.payload);
                    messages.end_at(index, time);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, messages: &mut Messages) -> Result<()> {
        if let Some((_, single)) = self.0.take() {
            messages.buffer().extend(single);
            messages.end(0);
        }
        Ok(())
    }
}

#[test]
fn a_message_of_several_records_may_be_of_several_parts_and_the_last_is_not_lost() {
    let sample = Sample::new(&[
        &[(0, 0, 1, b"a"), (0, 0, 2, b"b"), (0, 0, 3, b"c")],
        &[(0, 0, 4, b"d"), (0, 0, 5, b"e")],
    ]);
    let topic = sample.manifest.topics[0].clone();
    let begin = Arc::new(|| Ok(Box::<Pairs>::default() as Box<dyn Translate>));
    let pairs = Translation { from: TopicId(0), topic, begin };
    let log =
        TranslatedLog::new(Arc::new(sample), vec![pairs], 100, true).in_one_part();
    let (seen, _) = read(&log, &Selection::default());
    let wanted = [(101, b"ab".to_vec()), (103, b"cd".to_vec()), (105, b"e".to_vec())];
    assert_eq!(seen, wanted.map(|(time, bytes)| (0, time, bytes)));
}

#[test]
fn streams_are_those_of_the_topic_beneath_if_they_are_wanted() {
    let mut sample =
        Sample::new(&[&[(1, 2, 1, b"a"), (0, 1, 2, b"b"), (1, 0, 3, b"c")]]);
    let stream = |topic: u32, word: &str| crate::topic::Stream {
        topic: TopicId(topic),
        metadata: [("word".to_owned(), crate::value::Value::Text(word.to_owned()))]
            .into(),
    };
    sample.manifest.streams = vec![stream(1, "x"), stream(0, "y"), stream(1, "z")];
    // The second topic latches its streams 0 and 1, of which only the first is its own.
    let log = twice(sample, &[1, 0]).with_streams();
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
fn a_record_without_a_time_on_the_new_clock_is_told_once_and_left_out() {
    // Two messages are made of each record; the new clock is 100 ns ahead.
    let (fits, late) = (i64::MAX - 101, i64::MAX - 100);
    let records = [(0, 0, fits, b"a"), (0, 0, late, b"b"), (0, 0, i64::MAX, b"c")];
    let log = twice(
        Sample::new(&[&records.map(|(t, s, at, p)| (t, s, at, &p[..]))]),
        &[0, 0],
    );
    let (seen, damage) = read(&log, &Selection::default());
    let twice = |topic| (topic, i64::MAX - 1, b"aa".to_vec());
    assert_eq!(seen, [twice(0), twice(1)]);
    let told: u64 = damage.iter().map(|damage| damage.records).sum();
    assert_eq!((told, damage[0].topic), (2, Some(TopicId(0))));
}
