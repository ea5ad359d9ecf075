//! Real logs that were damaged: against the undamaged one that they were made of.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::edge_log::{Case, Edge, samples};

pub(crate) const CASES: &[Case] = &[
    ("80_real_cut_half.ulg", |edge| {
        let original = original();
        assert!(original.starts_with(&edge.bytes));
        has_all_outside_the_damage(edge, &original);
    }),
    ("81_real_zero_sector.ulg", |edge| {
        has_all_outside_the_damage(edge, &original());
    }),
    ("83_real_50_bitflips.ulg", |edge| {
        let delivered = has_all_outside_the_damage(edge, &original());
        assert!(delivered * 100 >= 14_604 * 99, "{delivered}");
    }),
];

/// The rows of a log of which the 512 bytes from the middle on are zero.
pub(crate) fn rows_without_a_sector() -> Option<usize> {
    samples()?;
    let original = original();
    let mut bytes = original.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 512].fill(0);
    let edge = Edge::open(bytes.into());
    Some(has_all_outside_the_damage(&edge, &original))
}

fn original() -> Bytes {
    let folder = samples().expect("the edge cases are there");
    let path = folder.join("../pyulog_sample_log_small.ulg");
    std::fs::read(path).unwrap().into()
}

/// Asserts that each data message of `original` of which no byte is damaged is
/// delivered, byte by byte, and that nothing is delivered where none was. Returns how
/// many records there are.
fn has_all_outside_the_damage(edge: &Edge, original: &Bytes) -> usize {
    let written = data_messages(original);
    assert_eq!(written.len(), 14_604, "as the manifest of the samples says");
    let records = edge.records();
    let delivered: BTreeMap<u64, &Bytes> =
        records.iter().map(|(_, offset, payload)| (*offset, payload)).collect();

    let same = |range: std::ops::Range<usize>| {
        edge.bytes.get(range.clone()) == Some(&original[range])
    };
    for (offset, payload) in &written {
        let start = *offset as usize - 5;
        if same(start..*offset as usize + payload.len()) {
            assert_eq!(delivered.get(offset), Some(&payload), "at byte {offset}");
        }
    }
    for (offset, payload) in &delivered {
        let is_true = written.get(offset).is_some_and(|w| w.len() == payload.len());
        assert!(is_true, "no record was written at byte {offset}");
    }
    records.len()
}

/// The data messages of a sound log without appended sections, where they lie: a
/// message is a size, a type and so many bytes, of which the first two are an id.
fn data_messages(log: &Bytes) -> BTreeMap<u64, Bytes> {
    let (mut messages, mut at) = (BTreeMap::new(), 16);
    while at < log.len() {
        let size = usize::from(u16::from_le_bytes([log[at], log[at + 1]]));
        let end = at + 3 + size;
        if log[at + 2] == b'D' {
            messages.insert(at as u64 + 5, log.slice(at + 5..end));
        }
        at = end;
    }
    messages
}
