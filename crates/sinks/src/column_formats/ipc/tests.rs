use std::io::Cursor;

use arrow_array::{StringArray, cast::AsArray as _, types::Int32Type};
use arrow_ipc::reader::FileReader;

use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{all_kinds, labels, names, table, topic, write_one_file},
};

#[test]
fn written_rows_read_back_in_one_batch() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let log = BTreeMap::from([("source".to_owned(), "a.ulg".to_owned())]);
    let sink = IpcSink::new(outputs.clone(), names("t"), log, MemoryBudget::default());
    let batch = all_kinds();
    let bytes = write_one_file(&outputs, &sink, &[batch.clone(), batch.slice(1, 1)]);
    let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
    let metadata = reader.schema().metadata().clone();
    assert_eq!(metadata["source"], "a.ulg");
    assert_eq!(metadata["logtool.topic"], "t");
    assert_eq!(metadata["logtool.topic.instance"], "0");
    assert_eq!(metadata["logtool.topic.type_name"], "t_s");
    assert_eq!(metadata["logtool.topic.definition"], "uint64_t timestamp;float x;");

    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].num_rows(), 3);
    for (i, column) in batches[0].columns().iter().enumerate() {
        match batch.schema().field(i).name().as_str() {
            "mode_label" => {
                let column = column.as_dictionary::<Int32Type>();
                let names = column.downcast_dict::<StringArray>().unwrap();
                let names: Vec<_> = names.into_iter().collect();
                assert_eq!(names, [Some("MANUAL"), None, None]);
            }
            _ => assert_eq!(&column.slice(0, 2), batch.column(i)),
        }
    }
}

#[test]
fn batches_with_different_dictionaries_are_written_with_one_dictionary() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let sink = IpcSink::new(
        outputs.clone(),
        names("t"),
        BTreeMap::new(),
        MemoryBudget::default(),
    );
    let modes = ["MANUAL", "AUTO"];
    let batch = |rows: &[Option<&str>]| table(vec![labels("mode", &modes, rows)]);
    let long = vec![Some("AUTO"); BATCH_BYTES / 4]; // as long as a batch of the file
    let batches =
        [batch(&[None, Some("AUTO"), Some("MANUAL")]), batch(&long), batch(&long)];
    let bytes = write_one_file(&outputs, &sink, &batches);
    let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
    let read_batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert!(read_batches.len() > 1);
    let mut labels = Vec::new();
    for batch in &read_batches {
        let column = batch.column(0).as_dictionary::<Int32Type>();
        let names: Vec<_> =
            column.values().as_string::<i32>().iter().flatten().collect();
        assert_eq!(names, modes);
        labels.extend(column.downcast_dict::<StringArray>().unwrap());
    }
    assert_eq!(labels[..4], [None, Some("AUTO"), Some("MANUAL"), Some("AUTO")]);
    assert_eq!(labels.len(), 3 + 2 * long.len());
}

#[test]
fn undeclared_dictionary_value_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let sink =
        IpcSink::new(outputs, names("t"), BTreeMap::new(), MemoryBudget::default());
    let batch = table(vec![labels("mode", &["MANUAL"], &[Some("AUTO")])]);
    let mut writer = sink.new_table(&topic("t", 0), &batch.schema()).unwrap();
    let err = writer.write(&batch).unwrap_err();
    assert!(err.to_string().contains("AUTO"), "{err}");
}
