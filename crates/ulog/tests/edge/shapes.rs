//! Padding, nested types, long formats, and field types.

use arrow_array::{Array as _, cast::AsArray, types};

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("21_pad_omitted.ulg", has_the_padded_row),
    ("22_pad_present.ulg", has_the_padded_row),
    ("24_nested_array.ulg", |edge| {
        edge.has_rows(&[("outer", 1)]);
        assert_eq!(edge.sum("outer"), 23.0);
        let column = |name| edge.column("outer", name)[0];
        let first = [column("it[0].v[0]"), column("it[0].v[1]"), column("it[0].k")];
        let second = [column("it[1].v[0]"), column("it[1].v[1]"), column("it[1].k")];
        assert_eq!([first, second], [[1.0, 2.0, 0.0], [2.0, 3.0, 1.0]]);
        assert_eq!((column("timestamp"), column("n")), (5.0, 9.0));
    }),
    ("25_nested_last_pad.ulg", |edge| {
        edge.has_rows(&[("outer", 1)]);
        assert_eq!(edge.sum("outer"), 8.0);
    }),
    ("47_long_format.ulg", |edge| {
        edge.has_rows(&[("big", 1)]);
        assert_eq!(edge.sum("big"), 12_497_501.0);
    }),
    ("48_max_message.ulg", |edge| {
        edge.has_rows(&[("big", 1)]);
        assert_eq!(edge.sum("big"), 65_526.0);
    }),
    ("50_char_array.ulg", |edge| {
        edge.has_rows(&[("s", 1)]);
        assert_eq!(edge.texts("s", "name"), ["hi"]);
        assert_eq!(edge.texts("s", "c"), ["Z"]);
        let bits = ["b[0]", "b[1]", "b[2]"].map(|name| edge.column("s", name)[0]);
        assert_eq!(bits, [1.0, 0.0, 1.0]);
        // Raw records still contain the bytes after the NUL.
        assert!(edge.records()[0].2.windows(9).any(|bytes| bytes == b"hi\0garbag"));
    }),
    ("73_no_fields.ulg", |edge| edge.has_rows(&[("att", 2)])),
    ("74_u64_large.ulg", |edge| {
        edge.has_rows(&[("d", 1)]);
        let table = edge.table("d");
        let column = |name| table.column_by_name(name).expect("a column of the format");
        let id = column("id").as_primitive::<types::UInt64Type>();
        assert_eq!(id.value(0), 9_223_372_036_854_775_809);
        let s = column("s").as_primitive::<types::Int64Type>();
        assert_eq!(s.value(0), -9_007_199_254_740_993);
        // The bytes in the file: a0 c8 eb 85 f3 cc e1 7f, and 00 00 c0 7f.
        let v = column("v").as_primitive::<types::Float64Type>();
        assert_eq!(v.value(0).to_bits(), 0x7fe1_ccf3_85eb_c8a0);
        let nan = column("nanv").as_primitive::<types::Float32Type>();
        assert!(!nan.is_null(0));
        assert_eq!(nan.value(0).to_bits(), 0x7fc0_0000);
    }),
];

fn has_the_padded_row(edge: &Edge) {
    edge.has_rows(&[("pad", 1)]);
    let table = edge.table("pad");
    let schema = table.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| &**f.name()).collect();
    assert_eq!(names, ["timestamp", "a", "b"]);
    let row = ["timestamp", "a", "b"].map(|name| edge.column("pad", name)[0]);
    assert_eq!(row, [5.0, 2.0, 7.0]);
}
