use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::{
    arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
    basic::Encoding,
    file::{
        reader::{FileReader as _, SerializedFileReader},
        serialized_reader::ReadOptionsBuilder,
    },
};

use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{all_kinds, column, names, table, times, write_one_file},
};

fn parquet(batches: &[RecordBatch]) -> bytes::Bytes {
    parquet_with(Floats::default(), batches)
}

fn parquet_with(floats: Floats, batches: &[RecordBatch]) -> bytes::Bytes {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let log_metadata = BTreeMap::from([("source".to_owned(), "a.ulg".to_owned())]);
    let sink = ParquetSink::new(
        outputs.clone(),
        names("t"),
        log_metadata,
        MemoryBudget::default(),
    )
    .with_floats(floats);
    write_one_file(&outputs, &sink, batches).into()
}

#[test]
fn written_tables_read_back() {
    let batch = all_kinds();
    let bytes = parquet(&[batch.clone(), batch.slice(1, 1)]);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let metadata = reader.schema().metadata().clone();
    assert_eq!(metadata["source"], "a.ulg");
    assert_eq!(metadata["logtool.topic"], "t");
    let batches: Vec<RecordBatch> =
        reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    let (first, second) = (batches[0].slice(0, 2), batches[0].slice(2, 1));
    assert_eq!(first.columns(), batch.columns());
    assert_eq!(second.columns(), batch.slice(1, 1).columns());
    assert_eq!(first.schema().fields(), batch.schema().fields());
}

#[test]
fn columns_encoded_in_parallel_keep_their_order() {
    // Longer than a row group that one thread encodes.
    let long_column = |k: i64| {
        let values = (0..100_000).map(move |i| i * k);
        column(
            &format!("x{k}"),
            Arc::new(arrow_array::Int64Array::from_iter_values(values)),
        )
    };
    let batch = table((0..20).map(long_column).collect());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let bytes = pool.install(|| parquet(std::slice::from_ref(&batch)));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let reader = reader.with_batch_size(100_000).build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].columns(), batch.columns());
}

#[test]
fn row_groups_do_not_depend_on_the_number_of_threads() {
    let numbers = |k: i64| {
        let values = (0..500_000).map(move |i| (i % 7 > 0).then_some(i * k));
        let values = arrow_array::Int64Array::from_iter(values);
        column(&format!("x{k}"), Arc::new(values))
    };
    let strings = (0..500_000).map(|i| "text".repeat(i % 5));
    let strings = arrow_array::StringArray::from_iter_values(strings);
    let mut columns: Vec<_> = (1..10).map(numbers).collect();
    columns.push(column("text", Arc::new(strings)));
    let batch = table(columns);
    let batches: Vec<RecordBatch> =
        (0..5).map(|i| batch.slice(100_000 * i, 100_000)).collect();
    let write = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| parquet(&batches))
    };
    let bytes = write(1);
    assert!(write(2) == bytes);
    assert!(write(5) == bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    assert!(reader.metadata().num_row_groups() > 1);
    let reader = reader.with_batch_size(500_000).build().unwrap();
    let read_batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(read_batches.len(), 1);
    assert!(read_batches[0].columns() == batch.columns());
}

#[test]
fn columns_are_encoded_by_their_type_and_have_an_index() {
    let floats =
        arrow_array::Float32Array::from_iter_values((0..1_000).map(|i| i as f32));
    let nanos = (0..1_000).map(|i| Some(i * 1_000)).collect();
    let packets = (0..1_000_u32).map(u32::to_le_bytes);
    let packets = arrow_array::FixedSizeBinaryArray::try_from_iter(packets).unwrap();
    let (floats, packets) = (Arc::new(floats), Arc::new(packets));
    let batch =
        table(vec![times("us", nanos), column("x", floats), column("p", packets)]);
    let reader = SerializedFileReader::new(parquet(&[batch])).unwrap();
    let metadata = reader.metadata();
    assert!(metadata.file_metadata().created_by().unwrap().starts_with("logtool "));
    let row_group = metadata.row_group(0);
    let encodings = |i: usize| row_group.column(i).encodings().collect::<Vec<_>>();
    assert!(encodings(0).contains(&Encoding::DELTA_BINARY_PACKED));
    assert!(encodings(1).contains(&Encoding::BYTE_STREAM_SPLIT));
    assert!(encodings(2).contains(&Encoding::PLAIN));
    assert!(!encodings(2).contains(&Encoding::DELTA_BYTE_ARRAY));
    let time = row_group.column(0).statistics().unwrap();
    assert_eq!(time.min_bytes_opt().unwrap(), 0_i64.to_le_bytes());
    assert_eq!(time.max_bytes_opt().unwrap(), 999_000_i64.to_le_bytes());
    assert!(row_group.column(0).offset_index_offset().is_some());
    assert!(row_group.column(0).column_index_offset().is_some());
}

#[test]
fn plain_floats_are_not_split() {
    let floats = [1.5_f64, -2.25, f64::MAX];
    let floats = Arc::new(arrow_array::Float64Array::from_iter_values(floats));
    let batch = table(vec![column("x", floats)]);
    let bytes = parquet_with(Floats::Plain, std::slice::from_ref(&batch));
    let reader = SerializedFileReader::new(bytes.clone()).unwrap();
    let column = reader.metadata().row_group(0).column(0);
    assert!(
        !column.encodings().any(|encoding| encoding == Encoding::BYTE_STREAM_SPLIT)
    );
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let read_batches: Vec<RecordBatch> =
        reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(read_batches[0].columns(), batch.columns());
}

#[test]
fn page_metadata_is_small() {
    let floats = (0..300_000).map(f64::from);
    let floats = Arc::new(arrow_array::Float64Array::from_iter_values(floats));
    let bytes = parquet(&[table(vec![column("x", floats)])]);
    let options = ReadOptionsBuilder::new().with_page_index().build();
    let reader = SerializedFileReader::new_with_options(bytes, options).unwrap();
    let row_groups = reader.metadata().offset_index().unwrap();
    let pages: usize =
        row_groups.iter().map(|group| group[0].page_locations().len()).sum();
    // 15 with the default page size, 2.3 with pages of 1 MiB.
    assert!((1..=4).contains(&pages), "{pages}");
}
