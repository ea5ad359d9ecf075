//! Decoding of hand-written payloads of variable size.

use arrow_array::{RecordBatch, cast::AsArray as _, types::*};
use bytes::Bytes;

use super::{field, primitive};
use crate::{
    decode::columns::*,
    log::View,
    model::{
        labels::Labels,
        layout::{LayoutField, LayoutKind, Primitive, RecordProperties},
        topic::TopicId,
    },
    record::block::Block,
};

const ROS: RecordProperties =
    RecordProperties { time_unit: "ns", trailing_bytes: TrailingBytes::Nothing };

pub(super) fn layout(name: &str, fields: Vec<LayoutField>) -> Layout {
    Layout::from_fields(name.into(), fields).unwrap().with_record_properties(ROS)
}

fn list(name: &str, element: LayoutKind) -> LayoutField {
    field(name, LayoutKind::List(element.into()), None)
}

fn header() -> LayoutKind {
    let fields = vec![
        primitive("seq", Primitive::U32, None),
        field("stamp", LayoutKind::Timestamp, None),
        field("frame_id", LayoutKind::Text, None),
    ];
    LayoutKind::Nested(layout("std_msgs/Header", fields).into())
}

/// ```text
/// Header header · float32[2] xy · point[] cloud {uint8 r, float64 z}
/// string[2] names · tag[] tags {string key, uint8[] value} · duration d
/// ```
fn kitchen() -> Layout {
    let point =
        vec![primitive("r", Primitive::U8, None), primitive("z", Primitive::F64, None)];
    let tag = vec![
        field("key", LayoutKind::Text, None),
        field("value", LayoutKind::Bytes, None),
    ];
    let fields = vec![
        field("header", header(), None),
        primitive("xy", Primitive::F32, Some(2)),
        list("cloud", LayoutKind::Nested(layout("point", point).into())),
        field("names", LayoutKind::Text, Some(2)),
        list("tags", LayoutKind::Nested(layout("tag", tag).into())),
        field("d", LayoutKind::Duration, None),
    ];
    layout("kitchen", fields)
}

/// A message of this type, written by hand.
const ROW: &[u8] = b"\x09\0\0\0\
    \x02\0\0\0\x05\0\0\0\
    \x03\0\0\0imu\
    \0\0\x80\x3f\0\0\0\xc0\
    \x02\0\0\0\
    \x07\0\0\0\0\0\0\xf0\x3f\
    \x08\0\0\0\0\0\0\x00\x40\
    \x01\0\0\0a\x02\0\0\0\xc3\xa9\
    \x01\0\0\0\
    \x01\0\0\0k\x03\0\0\0\x00\xff\x01\
    \xff\xff\xff\xff\xfe\xff\xff\xff";

/// Returns the rows, and the number of lost records.
pub(super) fn decode(
    layout: &Layout,
    columns: &Columns,
    rows: &[&[u8]],
) -> (RecordBatch, u64) {
    let (batch, damage) = decode_with_damage(layout, columns, rows);
    let lost = damage.iter().filter(|damage| damage.kind.is_loss());
    (batch, lost.map(|damage| damage.records).sum())
}

fn decode_with_damage(
    layout: &Layout,
    columns: &Columns,
    rows: &[&[u8]],
) -> (RecordBatch, Vec<Damage>) {
    let mut block = Block::default();
    block.reset(Bytes::from(rows.concat()), 0);
    let mut start = 0;
    for (time, row) in (7..).zip(rows) {
        let end = start + row.len();
        block.push(TopicId(0), Timestamp::from_nanos(time), start..end);
        start = end;
    }
    let mut decoder = LayoutDecoder::new(layout, columns).unwrap();
    let mut damage = Vec::new();
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    (decoder.take().unwrap(), damage)
}

fn names(batch: &RecordBatch) -> Vec<String> {
    batch.schema().fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn fields_after_strings_and_lists_are_decoded() {
    let (batch, lost) = decode(&kitchen(), &Columns::default(), &[ROW, ROW]);
    assert_eq!((lost, batch.num_rows()), (0, 2));
    assert_eq!(names(&batch), ["time", "header", "xy", "cloud", "names", "tags", "d"]);
    assert_eq!(batch.schema().field(0).metadata()[TIME_UNIT_KEY], "ns");
    let header = batch["header"].as_struct();
    assert_eq!(header["seq"].as_primitive::<UInt32Type>().values(), &[9, 9]);
    let timestamps = header["stamp"].as_primitive::<TimestampNanosecondType>();
    assert_eq!(timestamps.values(), &[2_000_000_005, 2_000_000_005]);
    assert_eq!(header["frame_id"].as_string::<i32>().value(1), "imu");
    let xy = batch["xy"].as_fixed_size_list().values();
    assert_eq!(xy.as_primitive::<Float32Type>().values(), &[1.0, -2.0, 1.0, -2.0]);
    let cloud = batch["cloud"].as_list::<i32>();
    assert_eq!(cloud.offsets().as_ref(), &[0, 2, 4]);
    let cloud = cloud.values().as_struct();
    assert_eq!(cloud["r"].as_primitive::<UInt8Type>().values(), &[7, 8, 7, 8]);
    assert_eq!(cloud["z"].as_primitive::<Float64Type>().values()[..2], [1.0, 2.0]);
    let names = batch["names"].as_fixed_size_list().values().as_string::<i32>();
    assert_eq!(names.iter().flatten().collect::<Vec<_>>(), ["a", "é", "a", "é"]);
    let tags = batch["tags"].as_list::<i32>().value(1);
    assert_eq!(tags.as_struct()["key"].as_string::<i32>().value(0), "k");
    assert_eq!(tags.as_struct()["value"].as_binary::<i32>().value(0), b"\x00\xff\x01");
    let durations = batch["d"].as_primitive::<DurationNanosecondType>();
    assert_eq!(durations.values(), &[-1_000_000_002; 2]);
}

#[test]
fn flat_view_splits_structs_and_fixed_arrays_but_not_lists() {
    let (batch, _) = decode(&kitchen(), &Columns::new(View::Flat), &[ROW]);
    let expected = [
        "time",
        "header.seq",
        "header.stamp",
        "header.frame_id",
        "xy[0]",
        "xy[1]",
        "cloud",
        "names[0]",
        "names[1]",
        "tags",
        "d",
    ];
    assert_eq!(names(&batch), expected);
    assert_eq!(kitchen().flat_columns(100, u32::MAX), 10);
    assert_eq!(batch["xy[1]"].as_primitive::<Float32Type>().value(0), -2.0);
    assert_eq!(batch["names[1]"].as_string::<i32>().value(0), "é");
    assert_eq!(batch["cloud"].as_list::<i32>().value_length(0), 2);
}

#[test]
fn flat_view_keeps_arrays_if_there_are_too_many_columns() {
    let point = layout("point", vec![primitive("x", Primitive::U8, Some(2))]);
    let fields = vec![
        field("at", LayoutKind::Nested(point.into()), None),
        primitive("big", Primitive::U8, Some(70_000)),
        primitive("few", Primitive::U8, Some(2)),
    ];
    let wide = layout("wide", fields);
    let mut row = vec![1, 2];
    row.extend((0..70_000).map(|i| i as u8));
    row.extend([3, 4]);
    let columns = Columns::new(View::Flat);
    let (batch, lost) = decode(&wide, &columns, &[&row, &row]);
    let expected = ["time", "at.x[0]", "at.x[1]", "big", "few[0]", "few[1]"];
    assert_eq!((names(&batch), lost), (expected.map(str::to_owned).into(), 0));
    let big = batch["big"].as_fixed_size_list().value(1);
    assert_eq!(big.as_primitive::<UInt8Type>().values()[..], row[2..70_002]);
    assert_eq!(batch["few[1]"].as_primitive::<UInt8Type>().values(), &[4, 4]);

    // 65,536 columns of short arrays, and one.
    let line = layout("line", vec![primitive("v", Primitive::U8, Some(256))]);
    let fields = vec![
        field("lines", LayoutKind::Nested(line.into()), Some(256)),
        primitive("a", Primitive::U8, None),
    ];
    let (batch, _) = decode(&layout("matrix", fields), &columns, &[]);
    assert_eq!(names(&batch), ["time", "lines", "a"]);
}

#[test]
fn any_selection_gives_exactly_the_selected_columns() {
    for view in [View::Nested, View::Flat] {
        let (full_batch, _) = decode(&kitchen(), &Columns::new(view), &[ROW, ROW]);
        let column_count = full_batch.num_columns();
        for mask in 0..1_u32 << (column_count - 1) {
            let indices = (1..column_count).filter(|i| mask >> (i - 1) & 1 == 1);
            let indices: Vec<usize> = indices.collect();
            let mut expected = vec![0];
            expected.extend(&indices);
            let columns = Columns { indices: Some(indices), ..Columns::new(view) };
            let (batch, _) = decode(&kitchen(), &columns, &[ROW, ROW]);
            assert_eq!(batch, full_batch.project(&expected).unwrap());
        }
    }
}

#[test]
fn truncated_payload_is_damage_and_adjacent_records_are_rows() {
    let (whole, _) = decode(&kitchen(), &Columns::default(), &[ROW, ROW]);
    for truncated in (0..ROW.len()).map(|end| &ROW[..end]) {
        let (batch, lost) =
            decode(&kitchen(), &Columns::default(), &[ROW, truncated, ROW]);
        assert_eq!(lost, 1, "{} bytes", truncated.len());
        assert_eq!(batch.columns()[1..], whole.columns()[1..]);
        let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
        assert_eq!(times.values(), &[7, 9]);
    }
}

#[test]
fn trailing_bytes_are_reported_and_the_fields_are_a_row() {
    let (whole, _) = decode(&kitchen(), &Columns::default(), &[ROW, ROW, ROW]);
    let (long, longer) = ([ROW, b"\0"].concat(), [ROW, &[7; 40_000]].concat());
    let (batch, damage) =
        decode_with_damage(&kitchen(), &Columns::default(), &[&long, ROW, &longer]);
    assert_eq!(batch.columns()[1..], whole.columns()[1..]);
    let [damage] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!((damage.kind, damage.records), (DamageKind::ExtraBytes, 2));
    assert_eq!(damage.lost_bytes, 40_001);
    assert!(damage.kind.is_harmful() && !damage.kind.is_loss());
}

#[test]
fn trailing_bytes_of_fixed_payloads_depend_on_the_record_properties() {
    let point = || vec![primitive("x", Primitive::U16, None)];
    let of_vel =
        RecordProperties { time_unit: "ns", trailing_bytes: TrailingBytes::Any };
    // The third payload is longer than the layout: it is a row, or it cannot be decoded.
    for (properties, rows, extra_bytes, undecodable) in [
        (ROS, 3, Some((1, 3)), (1, 1)),
        (of_vel, 3, None, (1, 1)),
        (RecordProperties::default(), 2, None, (2, 6)),
    ] {
        let layout = Layout::from_fields("point".into(), point())
            .unwrap()
            .with_record_properties(properties);
        let payloads: [&[u8]; 4] =
            [b"\x01\x02", b"\x01", b"\x01\x02\x03\x04\x05", b"\x01\x02"];
        let (batch, damage) =
            decode_with_damage(&layout, &Columns::default(), &payloads);
        assert_eq!(
            batch["x"].as_primitive::<UInt16Type>().values(),
            &vec![0x0201; rows]
        );
        let losses = |kind| {
            let entry = damage.iter().find(|damage| damage.kind == kind);
            entry.map(|damage| (damage.records, damage.lost_bytes))
        };
        assert_eq!(losses(DamageKind::ExtraBytes), extra_bytes);
        assert_eq!(losses(DamageKind::Undecodable), Some(undecodable));
    }
}

#[test]
fn huge_length_is_damage() {
    for offset in 0..ROW.len() - 3 {
        let mut row = ROW.to_vec();
        row[offset..offset + 4].copy_from_slice(&[0xff; 4]);
        let (batch, lost) = decode(&kitchen(), &Columns::default(), &[&row]);
        assert_eq!(batch.num_rows() as u64 + lost, 1);
    }
}

#[test]
fn billions_of_empty_elements_take_no_time_and_have_their_number() {
    let empty = LayoutKind::Nested(layout("empty", vec![]).into());
    let fields = vec![
        list("many", empty.clone()),
        list("lists", LayoutKind::List(empty.into())),
        primitive("x", Primitive::I8, None),
    ];
    let row = b"\xff\xff\xff\xff\x02\0\0\0\xff\xff\xff\xff\xfe\xff\xff\xff\x05";
    for view in [View::Nested, View::Flat] {
        let all_columns = Columns::new(view);
        let layout = layout("billions", fields.clone());
        let (batch, lost) = decode(&layout, &all_columns, &[row]);
        assert_eq!(
            (lost, names(&batch)),
            (0, ["time", "many", "lists", "x"].map(String::from).into())
        );
        assert_eq!(batch.column(1).as_primitive::<UInt32Type>().values(), &[u32::MAX]);
        let counts = batch.column(2).as_list::<i32>().value(0);
        let counts = counts.as_primitive::<UInt32Type>();
        assert_eq!(counts.values(), &[u32::MAX, u32::MAX - 1]);
        assert_eq!(batch.column(3).as_primitive::<Int8Type>().values(), &[5]);
        assert_eq!(count_columns(batch.schema().fields()), ["many"]);
        let last_column = Columns { indices: Some(vec![3]), ..all_columns };
        let (last, _) = decode(&layout, &last_column, &[row]);
        assert_eq!((names(&last).len(), last.column(1)), (2, batch.column(3)));
    }
}

#[test]
fn arrays_of_elements_without_fields_have_their_number() {
    let empty = LayoutKind::Nested(layout("empty", vec![]).into());
    // The elements of the second array have no bytes either.
    let pair = vec![field("two", empty.clone(), Some(2))];
    let pair = LayoutKind::Nested(layout("pair", pair).into());
    let both = vec![
        field("three", empty.clone(), Some(3)),
        primitive("y", Primitive::U8, None),
    ];
    let both = LayoutKind::Nested(layout("both", both).into());
    let fields = vec![
        field("many", empty.clone(), Some(4_000_000)),
        field("none", empty, Some(0)),
        field("pairs", pair.clone(), Some(5)),
        field("text", LayoutKind::Text, None),
        field("one", pair, None),
        list("list", both),
    ];
    let row = b"\x01\0\0\0a\x02\0\0\0\x07\x08";
    let number = |array: &ArrayRef| array.as_primitive::<UInt32Type>().value(1);
    for view in [View::Nested, View::Flat] {
        let layout = layout("arrays", fields.clone());
        let (batch, lost) = decode(&layout, &Columns::new(view), &[row, row]);
        assert_eq!((lost, batch.num_rows()), (0, 2));
        assert_eq!(number(&batch["many"]), 4_000_000);
        assert_eq!(number(&batch["pairs"]), 5);
        match view {
            View::Nested => assert_eq!(number(batch["one"].as_struct().column(0)), 2),
            View::Flat => assert_eq!(number(&batch["one.two"]), 2),
        }
        let elements = batch["list"].as_list::<i32>().value(1);
        assert_eq!((elements.len(), number(elements.as_struct().column(0))), (2, 3));
        let counts = count_columns(batch.schema().fields());
        assert_eq!(counts[..2], ["many", "pairs"]);
        assert_eq!(counts[3..], ["list.three"]);
        assert!(batch.column_by_name("none").is_none());
        assert!(layout.count_column().unwrap().contains(" many "));
    }
}

#[test]
fn exponentially_nested_types_are_an_error() {
    let mut kind = LayoutKind::Primitive(Primitive::U8);
    for level in 0..30 {
        let fields = vec![list("a", kind.clone()), list("b", kind)];
        kind = LayoutKind::Nested(layout(&format!("level{level}"), fields).into());
    }
    let LayoutKind::Nested(layout) = kind else { unreachable!() };
    for view in [View::Nested, View::Flat] {
        assert!(LayoutDecoder::new(&layout, &Columns::new(view)).is_err());
        let none = Columns { indices: Some(vec![]), ..Columns::new(view) };
        assert!(LayoutDecoder::new(&layout, &none).is_err());
    }
}

#[test]
fn types_nested_deeper_than_64_levels_are_refused() {
    let mut fields = vec![primitive("x", Primitive::U8, None)];
    for depth in 1..=64 {
        let layout = Layout::from_fields("deep".into(), fields).unwrap();
        fields = vec![field("x", LayoutKind::Nested(layout.into()), None)];
        assert!(depth < 65);
    }
    assert!(Layout::from_fields("deeper".into(), fields).is_err());
}

#[test]
fn labelled_values_at_any_position_get_a_dictionary_column() {
    let status = vec![
        primitive("status", Primitive::I8, None),
        field("text", LayoutKind::Text, None),
    ];
    let status = LayoutKind::Nested(layout("Status", status).into());
    let fields = vec![field("now", status.clone(), None), list("past", status)];
    let mut labels = Labels::default();
    labels.insert("Status", "status", -1, "NO_FIX".into());
    let columns =
        Columns { labels: Some(Arc::new(labels)), ..Columns::new(View::Flat) };
    let row = b"\xff\0\0\0\0\x02\0\0\0\x07\0\0\0\0\xff\0\0\0\0";
    let (batch, lost) = decode(&layout("Fix", fields), &columns, &[row]);
    assert_eq!(lost, 0);
    let expected = ["time", "now.status", "now.status_label", "now.text", "past"];
    assert_eq!(names(&batch), expected);
    let label = batch["now.status_label"].as_dictionary::<Int32Type>();
    assert_eq!(label.values().as_string::<i32>().value(0), "NO_FIX");
    let past = batch["past"].as_list::<i32>().values().as_struct();
    let keys: Vec<_> =
        past["status_label"].as_dictionary::<Int32Type>().keys().iter().collect();
    assert_eq!(keys, [None, Some(0)]);
}

#[test]
fn field_with_the_name_of_the_time_column_is_renamed() {
    let fields = vec![
        field("time", LayoutKind::Timestamp, None),
        field("s", LayoutKind::Text, None),
    ];
    let (batch, _) = decode(&layout("t", fields), &Columns::default(), &[&[0; 12]]);
    assert_eq!(names(&batch), ["time", "time_", "s"]);
}

#[test]
fn string_that_is_not_utf8_is_latin1_and_reported() {
    let layout = layout("text", vec![field("s", LayoutKind::Text, None)]);
    let rows: [&[u8]; 3] =
        [b"\x03\0\0\0a\xe4b", b"\x02\0\0\0\xc3\xa4", b"\x01\0\0\0\xff"];
    let (batch, damage) = decode_with_damage(&layout, &Columns::default(), &rows);
    let strings: Vec<_> = batch["s"].as_string::<i32>().iter().flatten().collect();
    assert_eq!(strings, ["aäb", "ä", "ÿ"]);
    let [damage] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!((damage.kind, damage.records), (DamageKind::Latin1, 2));
    assert_eq!(damage.lost_bytes, 0);
}
