use std::io::Cursor;

use arrow_array::StringArray;
use arrow_ipc::reader::FileReader;

use super::*;
use crate::{
    staged::Existing,
    testing::{all_kinds, names, written},
};

#[test]
fn what_is_written_reads_back_in_one_batch() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), Existing::Refuse);
    let log = BTreeMap::from([("source".to_owned(), "a.ulg".to_owned())]);
    let sink = IpcSink::new(outputs.clone(), names("t"), log);
    let batch = all_kinds();
    let bytes = written(&outputs, &sink, &[batch.clone(), batch.slice(1, 1)]);
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
    let labels = StringArray::from(vec![Some("MANUAL"), None, None]);
    for (i, column) in batches[0].columns().iter().enumerate() {
        match batch.schema().field(i).name().as_str() {
            "mode_label" => assert_eq!(column.as_string::<i32>(), &labels),
            _ => assert_eq!(&column.slice(0, 2), batch.column(i)),
        }
    }
}
