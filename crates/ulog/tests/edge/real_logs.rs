//! Damaged real logs, compared with the undamaged original.

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

/// Returns the number of records in a log whose middle 512 bytes are zeroed.
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

/// Asserts that each undamaged data message of `original` is delivered unchanged, and
/// that no other records are delivered. Returns the number of records.
fn has_all_outside_the_damage(edge: &Edge, original: &Bytes) -> usize {
    let written = data_messages(original);
    assert_eq!(written.len(), 14_604, "the number in the manifest of the samples");
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

/// Returns the data messages of a valid log without appended sections, by offset: a
/// message is a size, a type and a payload that starts with a 2-byte id.
fn data_messages(log: &Bytes) -> BTreeMap<u64, Bytes> {
    let (mut messages, mut offset) = (BTreeMap::new(), 16);
    while offset < log.len() {
        let size = usize::from(u16::from_le_bytes([log[offset], log[offset + 1]]));
        let end = offset + 3 + size;
        if log[offset + 2] == b'D' {
            messages.insert(offset as u64 + 5, log.slice(offset + 5..end));
        }
        offset = end;
    }
    messages
}
