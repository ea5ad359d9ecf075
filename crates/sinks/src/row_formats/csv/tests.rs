use std::sync::Arc;

use arrow_array::{
    BinaryArray, DictionaryArray, Float32Array, Float64Array, Int32Array, ListArray,
    RecordBatch, StringArray, UInt8Array, types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{all_kinds, column, names, table, times, utc_times, write_one_file},
};

fn csv_with(batches: &[RecordBatch], options: CsvOptions) -> String {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let sink = CsvSink::new(outputs.clone(), names("t"), options);
    String::from_utf8(write_one_file(&outputs, &sink, batches)).unwrap()
}

fn csv(batch: RecordBatch) -> String {
    csv_with(&[batch], CsvOptions::default())
}

#[test]
fn each_column_type_has_its_text() {
    let expected = "\
timestamp,f,big,small,on,text,mode_label,list,pair
1234567,0.1,18446744073709551615,-9223372036854775808,true,\"say \"\"hi\"\",\r\n\",MANUAL,\
\"[0.5,null]\",\"{\"\"x\"\":null,\"\"s\"\":\"\"a\"\"}\"
,16777216.0,0,-1,false,\u{1}é\\,,[],\"{\"\"x\"\":-1e999,\"\"s\"\":null}\"
";
    assert_eq!(csv(all_kinds()), expected);
}

#[test]
fn long_cells_are_written_in_chunks() {
    let len = 100_000;
    let numbers = UInt8Array::from_iter_values((0..len).map(|i| (i % 251) as u8));
    let item = Arc::new(Field::new("item", DataType::UInt8, true));
    let list = ListArray::new(
        item,
        OffsetBuffer::from_lengths([len - 2, 2]),
        Arc::new(numbers.clone()),
        None,
    );
    let text = "quote \" and, é ".repeat(len / 10);
    let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
    let batch = table(vec![
        column("before", Arc::new(Int32Array::from(vec![7, 7]))),
        column("list", Arc::new(list)),
        column("between", Arc::new(Int32Array::from(vec![8, 8]))),
        column("text", Arc::new(StringArray::from(vec![text.as_str(), "b"]))),
        column("bytes", Arc::new(BinaryArray::from(vec![bytes.as_slice(), b"\x0f"]))),
        column("after", Arc::new(Int32Array::from(vec![9, 9]))),
    ]);
    let numbers: Vec<String> = (0..len - 2).map(|i| (i % 251).to_string()).collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (last, before_last) = ((len - 1) % 251, (len - 2) % 251);
    let header = ["before", "list", "between", "text", "bytes", "after"];
    let list = format!("\"[{}]\"", numbers.join(","));
    let text = format!("\"{}\"", text.replace('"', "\"\""));
    let long_row = ["7", &list, "8", &text, &hex, "9"];
    let list = format!("\"[{before_last},{last}]\"");
    let short_row = ["7", &list, "8", "b", "0f", "9"];
    let lines = [header, long_row, short_row].map(|cells| cells.join(",") + "\n");
    assert!(csv(batch) == lines.concat());
}

#[test]
fn floats_have_the_shortest_text_that_reads_back() {
    // The shortest digits according to Python's repr and numpy's float32 repr.
    let f32s = [f32::MIN_POSITIVE, 3.4028235e38, 1e-45, -0.0, 1.0, 123_456.79];
    let f64s = [0.1, 1e21, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let text = csv(table(vec![
        column("a", Arc::new(Float32Array::from(f32s.to_vec()))),
        column("b", Arc::new(Float64Array::from(f64s.to_vec()))),
    ]));
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let expected = [
        "1.1754944e-38,0.1",
        "3.4028235e+38,1e+21",
        "1e-45,5e-324",
        "-0.0,inf",
        "1.0,-inf",
        "123456.79,NaN",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn times_are_exact_in_the_unit_of_the_format() {
    let nanos = vec![Some(1_714_564_800_123_456_789), Some(0), None];
    let cells = |column| -> Vec<String> {
        csv(table(vec![column])).lines().skip(1).map(str::to_owned).collect()
    };
    assert_eq!(cells(times("us", nanos.clone())), ["1714564800123456", "0", ""]);
    assert_eq!(cells(times("ns", nanos.clone())), ["1714564800123456789", "0", ""]);
    let utc = ["2024-05-01T12:00:00.123456Z", "1970-01-01T00:00:00.000000Z", ""];
    assert_eq!(cells(utc_times("us", nanos.clone())), utc);
    let utc = ["2024-05-01T12:00:00.123456789Z", "1970-01-01T00:00:00.000000000Z", ""];
    assert_eq!(cells(utc_times("ns", nanos)), utc);
    let before_epoch = vec![Some(-1_000), Some(-1_000_001_000)];
    assert_eq!(cells(times("us", before_epoch.clone())), ["-1", "-1000001"]);
    let utc = ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:58.999999Z"];
    assert_eq!(cells(utc_times("us", before_epoch)), utc);
}

#[test]
fn repeated_value_is_equal_in_every_batch() {
    let batch = |values: Vec<Option<i32>>| {
        table(vec![column("a", Arc::new(Int32Array::from(values)))])
    };
    let batches = [
        batch(vec![Some(7), Some(7), None, Some(7)]),
        batch(vec![Some(7), Some(-7)]),
        batch(vec![Some(-7)]),
    ];
    let text = csv_with(&batches, CsvOptions::default());
    assert_eq!(text, "a\n7\n7\n\n7\n7\n-7\n-7\n");
}

#[test]
fn negative_zero_and_zero_are_distinguished() {
    let zeros = Float32Array::from(vec![0.0, -0.0, 0.0]);
    let text = csv(table(vec![column("a", Arc::new(zeros))]));
    assert_eq!(text, "a\n0.0\n-0.0\n0.0\n");
}

#[test]
fn cells_and_names_are_quoted_if_necessary() {
    let strings = StringArray::from(vec!["a,b", "a;b", "a\rb", "\"", ""]);
    let batch = table(vec![column("x,\"y\"", Arc::new(strings))]);
    let text = csv(batch);
    assert_eq!(text, "\"x,\"\"y\"\"\"\n\"a,b\"\na;b\n\"a\rb\"\n\"\"\"\"\n\n");
}

#[test]
fn formulas_are_marked_on_request() {
    let strings =
        ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=a,b", "＝1", "a=1", "'=1", ""];
    let labels: DictionaryArray<Int32Type> = strings.into_iter().collect();
    let batch = table(vec![
        column("=x", Arc::new(StringArray::from(strings.to_vec()))),
        column("label", Arc::new(labels)),
        column("number", Arc::new(Int32Array::from(vec![-1; strings.len()]))),
    ]);
    let expected = [
        "'=x,label,number",
        "'=1+1,'=1+1,-1",
        "'+1,'+1,-1",
        "'-1,'-1,-1",
        "'@SUM(A1),'@SUM(A1),-1",
        "'\tx,'\tx,-1",
        "\"'\rx\",\"'\rx\",-1",
        "\"'=a,b\",\"'=a,b\",-1",
        "'＝1,'＝1,-1",
        "a=1,a=1,-1",
        "'=1,'=1,-1",
        ",,-1",
        "",
    ];
    let options = CsvOptions::default().with_marked_formulas();
    assert_eq!(csv_with(std::slice::from_ref(&batch), options), expected.join("\n"));
    assert!(csv(batch).starts_with("=x,label,number\n=1+1,=1+1,-1\n"));
}

#[test]
fn labels_are_written_as_their_names() {
    let batch = |names: Vec<Option<&str>>| {
        let labels = names.into_iter().collect::<DictionaryArray<Int32Type>>();
        table(vec![column("a_label", Arc::new(labels))])
    };
    let batches = [
        batch(vec![Some("X"), Some("Y, Z"), None, Some("X")]),
        batch(vec![None, None]),
        batch(vec![Some("Y, Z")]),
    ];
    let text = csv_with(&batches, CsvOptions::default());
    assert_eq!(text, "a_label\nX\n\"Y, Z\"\n\nX\n\n\n\"Y, Z\"\n");
}

#[test]
fn byte_strings_are_hexadecimal() {
    let bytes = BinaryArray::from(vec![b"\x00\xab".as_slice(), b""]);
    assert_eq!(csv(table(vec![column("a", Arc::new(bytes))])), "a\n00ab\n\n");
}

#[test]
fn tables_longer_than_a_block_are_complete() {
    let rows = 50_000;
    let batch = table(vec![
        column("a", Arc::new(Int32Array::from_iter_values(0..rows))),
        column(
            "b",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|i| "x".repeat(i as usize % 300)),
            )),
        ),
    ]);
    let text = csv(batch);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("a,b"));
    for row in 0..rows {
        let line = format!("{row},{}", "x".repeat(row as usize % 300));
        assert_eq!(lines.next(), Some(line.as_str()));
    }
    assert_eq!(lines.next(), None);
}
