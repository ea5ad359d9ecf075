//! The laws that every format must keep, and the values of a known sentence.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::sync::Arc;

use arrow_array::{Float64Array, UInt32Array, cast::AsArray as _};
use bytes::Bytes;
use format_nmea::FORMAT;
use logtool_core::{
    Block, Columns, DamageKind, Format as _, Log, OpenOptions, Selection, TopicSort,
};

/// A GGA and an RMC sentence from the NMEA 0183 documentation, with their checksums.
const GGA: &str =
    "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n";
const RMC: &str =
    "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n";

/// Returns a line with the fields `body`.
fn line(body: &str) -> String {
    let checksum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    format!("${body}*{checksum:02X}\r\n")
}

/// Returns a log of 40 seconds with three types of sentences.
fn sample() -> String {
    (0..40)
        .map(|second| {
            let position = format!("5205.9{second:02}1,N,00506.4368,E");
            let mut lines = line(&format!(
                "GPRMC,0828{second:02}.5,A,{position},0.0,12.5,010624,,"
            ));
            lines += &line(&format!(
                "GPGGA,0828{second:02}.683,{position},1,03,3.6,48.1,M,46.7,M,,"
            ));
            if second % 5 == 0 {
                lines += &line("GPGSV,3,1,10,20,78,331,45,01,59,235,47");
            }
            lines
        })
        .collect()
}

fn open(text: impl Into<Bytes>) -> Box<dyn Log> {
    FORMAT.open(Arc::new(text.into()), OpenOptions::default()).unwrap()
}

#[test]
fn the_format_keeps_the_laws() {
    logtool_core::conformance::check(&FORMAT, sample().into());
}

#[test]
fn damaged_logs_keep_the_laws() {
    let damaged = sample().replacen("N,0050", "N,0x50", 3) + "$GPRMC,1";
    logtool_core::conformance::check_damaged(&FORMAT, damaged.into());
}

#[test]
fn the_manifest_states_topics_counts_and_times() {
    let log = open(sample());
    let topics: Vec<_> = log
        .manifest()
        .topics
        .iter()
        .map(|topic| (topic.name.as_str(), topic.records))
        .collect();
    assert_eq!(topics, [("GPRMC", Some(40)), ("GPGGA", Some(40)), ("GPGSV", Some(8))]);
    // `date -u -d '2024-06-01 08:28:00.5' +%s%N`, and 39.183 s later.
    let time = log.manifest().time.unwrap();
    assert_eq!(time.start.as_nanos(), 1_717_230_480_500_000_000);
    // The end of a range is the first nanosecond after it.
    assert_eq!(time.end.as_nanos(), 1_717_230_519_683_000_001);
}

#[test]
fn a_known_sentence_has_its_values() {
    let log = open(format!("{RMC}{GGA}"));
    let topic = log.manifest().topic_id("GPGGA").unwrap();
    let mut decoder = log.decoder(topic, &Columns::default()).unwrap();
    let (everything, mut block, mut damage) =
        (Selection::default(), Block::default(), Vec::new());
    let mut cursor = log.read(&log.manifest().parts[0], &everything).unwrap();
    while cursor.fill(&mut block).unwrap() {
        block.sort_by_topic(&mut TopicSort::default());
        for run in block.runs().filter(|run| run.topic() == topic) {
            decoder.append(run, &mut damage);
        }
    }
    let batch = decoder.take().unwrap();
    assert_eq!(damage, []);
    // `date -u -d '1994-03-23 12:35:19' +%s%N`
    let times = batch.column(0);
    let times = times.as_primitive::<arrow_array::types::TimestampNanosecondType>();
    assert_eq!(times.values(), &[764_426_119_000_000_000]);
    let altitude: &Float64Array = batch["altitude"].as_primitive();
    assert_eq!(altitude.values(), &[545.4]);
    let satellites: &UInt32Array = batch["satellites"].as_primitive();
    assert_eq!(satellites.values(), &[8]);
}

#[test]
fn a_broken_line_is_damage_at_its_offset() {
    let log = open(format!("{RMC}not a sentence\r\n{GGA}"));
    let manifest = log.manifest();
    let start = RMC.len() as u64;
    assert_eq!(manifest.damage.len(), 1);
    assert_eq!(manifest.damage[0].kind, DamageKind::Garbled);
    assert_eq!(manifest.damage[0].bytes, start..start + 16);
    assert_eq!(manifest.records(), Some(2));
}
