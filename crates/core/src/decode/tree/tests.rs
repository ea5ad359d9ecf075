use arrow_array::{Array as _, cast::AsArray as _, types::*};
use bytes::Bytes;

use super::*;
use crate::{
    log::View,
    model::{time::Timestamp, topic::TopicId},
    record::block::Block,
};

/// A reader of payloads that are empty, or consist of a number for `a.x` and numbers for
/// the list `l`. The value 255 is invalid.
struct ToyReader;

impl TreeReader for ToyReader {
    fn read(&mut self, payload: &[u8], row: &mut Branch, _: u64) -> Option<RowSummary> {
        for (index, byte) in payload.iter().enumerate() {
            let value = Scalar::UInt((*byte).into());
            match index {
                0 => {
                    let a = row.field(0)?;
                    let open_row = a.len();
                    a.field(0)?.set(open_row, value)?;
                }
                _ => row.field(1)?.item()?.push(value)?,
            }
            if *byte == 255 {
                return None;
            }
        }
        row.close();
        Some(RowSummary {
            items: payload.len() as u64,
            type_mismatches: 0,
            extra_bytes: 0,
        })
    }
}

fn record_type() -> StructType {
    let a = StructType {
        type_name: "A".to_owned(),
        fields: vec![("x".to_owned(), ValueType::U32)],
    };
    let list = ValueType::List(Box::new(ValueType::U32));
    let fields = vec![("a".to_owned(), ValueType::Struct(a)), ("l".to_owned(), list)];
    StructType { type_name: "T".to_owned(), fields }
}

fn decode(columns: &Columns, payloads: &[&[u8]]) -> (RecordBatch, Vec<Damage>) {
    let mut decoder = TreeDecoder::new(&record_type(), ToyReader, 0, columns).unwrap();
    let (mut block, mut damage) = (Block::default(), Vec::new());
    block.reset(Bytes::from(payloads.concat()), 0);
    let mut start = 0;
    for payload in payloads {
        let end = start + payload.len();
        block.push(TopicId(0), Timestamp::from_nanos(5), start..end);
        start = end;
    }
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    (decoder.take().unwrap(), damage)
}

#[test]
fn missing_values_are_null_and_invalid_records_leave_no_values() {
    let payloads: [&[u8]; 4] = [&[7, 8, 9], &[1, 2, 255], &[], &[3]];
    let (batch, damage) = decode(&Columns::default(), &payloads);
    assert_eq!(batch.num_rows(), 3);
    assert_eq!((damage.len(), damage[0].records), (1, 1));
    let a = batch["a"].as_struct();
    assert_eq!((a.is_null(0), a.is_null(1), a.is_null(2)), (false, true, false));
    assert_eq!(a.column(0).as_primitive::<UInt32Type>().value(2), 3);
    let list = batch["l"].as_list::<i32>();
    let values = list.value(0);
    assert_eq!(values.as_primitive::<UInt32Type>().values(), &[8, 9]);
    assert!(list.is_null(1) && list.is_null(2));
}

/// A reader of payloads that are strings, or invalid if they start with `!`.
struct TextReader;

impl TreeReader for TextReader {
    fn read(&mut self, payload: &[u8], row: &mut Branch, _: u64) -> Option<RowSummary> {
        row.field(0)?.push(Scalar::Bytes(payload))?;
        if payload.starts_with(b"!") {
            return None;
        }
        row.close();
        Some(RowSummary::default())
    }
}

#[test]
fn texts_that_are_not_utf8_are_reported_for_their_records() {
    let record_type = StructType {
        type_name: "T".to_owned(),
        fields: vec![("s".to_owned(), ValueType::Text)],
    };
    let columns = Columns::default();
    let mut decoder = TreeDecoder::new(&record_type, TextReader, 0, &columns).unwrap();
    let payloads: [&[u8]; 5] = [b"a\xe4b", b"a\xc3\xa4", b"a\xc3", b"!\xff", b"a\xe4b"];
    let (mut block, mut damage) = (Block::default(), Vec::new());
    block.reset(Bytes::from(payloads.concat()), 0);
    let mut start = 0;
    for payload in payloads {
        let end = start + payload.len();
        block.push(TopicId(0), Timestamp::from_nanos(5), start..end);
        start = end;
    }
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    let texts = decoder.take().unwrap();
    let texts: Vec<_> = texts["s"].as_string::<i32>().iter().flatten().collect();
    assert_eq!(texts, ["a\u{e4}b", "a\u{e4}", "a\u{fffd}", "a\u{e4}b"]);
    let records = |kind| {
        let damage = damage.iter().filter(|damage| damage.kind == kind);
        damage.map(|damage| damage.records).sum::<u64>()
    };
    assert_eq!(records(DamageKind::Latin1), 2);
    assert_eq!(records(DamageKind::IncompleteText), 1);
    assert_eq!(records(DamageKind::Undecodable), 1);
}

#[test]
fn flat_view_splits_structs_and_has_only_selected_columns() {
    let columns = Columns { indices: Some(vec![1]), ..Columns::new(View::Flat) };
    let (batch, _) = decode(&columns, &[&[7], &[], &[9]]);
    assert_eq!(batch.schema().fields().len(), 2);
    let x = batch["a.x"].as_primitive::<UInt32Type>();
    assert_eq!(x.iter().collect::<Vec<_>>(), [Some(7), None, Some(9)]);
}

#[test]
fn struct_types_with_too_many_fields_are_refused() {
    let mut deep = ValueType::U32;
    for _ in 0..100 {
        deep = ValueType::List(Box::new(deep));
    }
    let fields = vec![("x".to_owned(), deep)];
    assert!(StructType { type_name: String::new(), fields }.check().is_err());
    let fields =
        (0..=MAX_STRUCT_FIELDS).map(|n| (n.to_string(), ValueType::Bool)).collect();
    assert!(StructType { type_name: String::new(), fields }.check().is_err());
}
