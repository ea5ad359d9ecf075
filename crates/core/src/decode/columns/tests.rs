//! Decoding of hand-written payloads.

mod random;
mod variable_size;

use arrow_array::{RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::DataType;
use bytes::Bytes;

use super::*;
use crate::{
    log::View,
    model::{
        labels::Labels,
        layout::{FieldRole, LayoutField, LayoutKind, Primitive},
        topic::TopicId,
    },
    record::block::Block,
};

fn field(name: &str, kind: LayoutKind, count: Option<u32>) -> LayoutField {
    LayoutField { name: name.into(), kind, count, offset: 0, role: FieldRole::Plain }
}

fn primitive(name: &str, primitive: Primitive, count: Option<u32>) -> LayoutField {
    field(name, LayoutKind::Primitive(primitive), count)
}

/// `u16 a; u8 _padding; { i8 b; bool c[2] } esc[2]; char[4] name; u8 menu;`
fn layout() -> Layout {
    let status = vec![
        primitive("b", Primitive::I8, None),
        primitive("c", Primitive::Bool, Some(2)),
    ];
    let status = Layout::from_fields("esc".into(), status).unwrap();
    let mut padding = primitive("_padding0", Primitive::U8, None);
    padding.role = FieldRole::Hidden;
    let fields = vec![
        primitive("a", Primitive::U16, None),
        padding,
        field("esc", LayoutKind::Nested(status.into()), Some(2)),
        primitive("name", Primitive::Char, Some(4)),
        primitive("menu", Primitive::U8, None),
    ];
    Layout::from_fields("kitchen".into(), fields).unwrap()
}

const ROW: &[u8] = b"\x34\x12\xee\xff\x00\x99\x05\x01\x00hi\0x\x01";

fn decode(columns: &Columns, rows: &[&[u8]]) -> (RecordBatch, Vec<Damage>) {
    let mut block = Block::default();
    block.reset(Bytes::from(rows.concat()), 0);
    let mut start = 0;
    for (time, row) in (7..).zip(rows) {
        let end = start + row.len();
        block.push(TopicId(0), Timestamp::from_nanos(time), start..end);
        start = end;
    }
    let mut decoder = LayoutDecoder::new(&layout(), columns).unwrap();
    let mut damage = Vec::new();
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    (decoder.take().unwrap(), damage)
}

#[test]
fn discarded_rows_are_not_taken() {
    for indices in [None, Some(Vec::new())] {
        let columns = Columns { indices, ..Columns::default() };
        let mut decoder = LayoutDecoder::new(&layout(), &columns).unwrap();
        for time in [5, 6] {
            decoder.discard_rows().unwrap();
            assert_eq!(decoder.rows(), 0);
            let mut block = Block::default();
            block.reset(Bytes::from_static(ROW), 0);
            block.push(TopicId(0), Timestamp::from_nanos(time), 0..ROW.len());
            block.runs().for_each(|run| decoder.append(run, &mut Vec::new()));
        }
        let batch = decoder.take().unwrap();
        let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
        assert_eq!(times.values(), &[6]);
    }
}

#[test]
fn nested_types_become_lists_of_structs() {
    let (batch, damage) = decode(&Columns::default(), &[ROW, ROW]);
    assert_eq!(damage, []);
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["time", "a", "esc", "name", "menu"]);
    let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(times.values(), &[7, 8]);
    assert_eq!(batch.column(1).as_primitive::<UInt16Type>().values(), &[0x1234; 2]);
    let esc = batch.column(2).as_fixed_size_list().values().as_struct();
    assert_eq!(esc.column(0).as_primitive::<Int8Type>().values(), &[-1, 5, -1, 5]);
    let booleans = esc.column(1).as_fixed_size_list().values().as_boolean();
    let booleans: Vec<bool> = booleans.values().iter().take(4).collect();
    assert_eq!(booleans, [false, true, true, false]);
    assert_eq!(batch.column(3).as_string::<i32>().value(1), "hi");
}

#[test]
fn flat_view_names_columns_by_path() {
    let (batch, _) = decode(&Columns::new(View::Flat), &[ROW]);
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(
        names,
        [
            "time",
            "a",
            "esc[0].b",
            "esc[0].c[0]",
            "esc[0].c[1]",
            "esc[1].b",
            "esc[1].c[0]",
            "esc[1].c[1]",
            "name",
            "menu"
        ]
    );
    assert_eq!(batch.column(5).as_primitive::<Int8Type>().value(0), 5);
}

#[test]
fn columns_are_selected_by_index_in_the_view() {
    let columns = Columns { indices: Some(vec![5, 1]), ..Columns::new(View::Flat) };
    let (batch, _) = decode(&columns, &[ROW]);
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["time", "a", "esc[1].b"]);
    let missing = Columns { indices: Some(vec![10]), ..Columns::new(View::Flat) };
    assert!(LayoutDecoder::new(&layout(), &missing).is_err());
}

#[test]
fn short_payload_is_damage_and_adjacent_records_are_rows() {
    let (batch, damage) = decode(&Columns::default(), &[ROW, &ROW[..13], ROW]);
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(damage.len(), 1);
    assert_eq!((damage[0].bytes.clone(), damage[0].records), (14..27, 1));
}

#[test]
fn labelled_values_get_a_dictionary_column() {
    let mut labels = Labels::default();
    for (value, name) in [(0, "NONE"), (1, "CARBONARA"), (2, "NONE")] {
        labels.insert("kitchen", "menu", value, name.into());
    }
    let columns = Columns { labels: Some(Arc::new(labels)), ..Columns::default() };
    let (batch, _) = decode(&columns, &[ROW]);
    let label = batch.column_by_name("menu_label").unwrap();
    let label = label.as_dictionary::<Int32Type>();
    let names: Vec<_> = label.values().as_string::<i32>().iter().flatten().collect();
    assert_eq!(names, ["NONE", "CARBONARA"]);
    assert_eq!(label.keys().values(), &[1]);
    let field = batch.schema().field_with_name("menu_label").unwrap().clone();
    assert_eq!(field.metadata()[VALUE_NAMES_KEY], r#"["NONE","CARBONARA"]"#);
}

#[test]
fn label_column_has_a_unique_name() {
    let unlabelled =
        |name: &str| field(name, LayoutKind::Primitive(Primitive::U8), None);
    let fields = ["a", "a_label", "a_label__", "b"].map(unlabelled).to_vec();
    let layout = Layout::from_fields("k".into(), fields).unwrap();
    let mut labels = Labels::default();
    for field in ["a", "b"] {
        labels.insert("k", field, 1, "ONE".into());
    }
    for view in [View::Nested, View::Flat] {
        let labels = Some(Arc::new(labels.clone()));
        let columns = Columns { labels, ..Columns::new(view) };
        let decoder = LayoutDecoder::new(&layout, &columns).unwrap();
        let fields = decoder.schema().fields().iter();
        let names: Vec<_> = fields.map(|field| field.name().as_str()).collect();
        let expected =
            ["time", "a", "a_label_", "a_label", "a_label__", "b", "b_label"];
        assert_eq!(names, expected);
    }
}

#[test]
fn repeated_empty_type_is_one_column_of_a_number() {
    let empty = Arc::new(Layout::from_fields("empty".into(), vec![]).unwrap());
    let fields = vec![field("x", LayoutKind::Nested(empty), Some(1 << 20))];
    let million = Arc::new(Layout::from_fields("million".into(), fields).unwrap());
    let fields = vec![field("y", LayoutKind::Nested(million), Some(1 << 20))];
    let layout = Layout::from_fields("billion".into(), fields).unwrap();
    for view in [View::Nested, View::Flat] {
        let decoder = LayoutDecoder::new(&layout, &Columns::new(view)).unwrap();
        let [_, y] = &decoder.schema().fields()[..] else { panic!("{decoder:?}") };
        assert_eq!((y.name().as_str(), y.data_type()), ("y", &DataType::UInt32));
    }
}
