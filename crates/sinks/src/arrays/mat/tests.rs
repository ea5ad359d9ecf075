use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{all_kinds, topic},
};

#[test]
fn matrix_has_the_layout_of_the_specification() {
    // The int16 matrix [1 2 3], written by hand according to "MAT-File Level 5 File Format".
    let expected: &[&[u8]] = &[
        &[14, 0, 0, 0, 56, 0, 0, 0],                       // miMATRIX
        &[6, 0, 0, 0, 8, 0, 0, 0],                         // miUINT32: flags
        &[10, 0, 0, 0, 0, 0, 0, 0],                        // mxINT16
        &[5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0], // miINT32: dimensions
        &[1, 0, 0, 0, 0, 0, 0, 0],                         // miINT8: no name
        &[3, 0, 0, 0, 6, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0], // miINT16, padded
    ];
    let bytes =
        element::matrix(MatrixClass::Int16, &[1, 3], &[1, 0, 2, 0, 3, 0]).unwrap();
    assert_eq!(bytes, expected.concat());
}

#[test]
fn matrices_above_the_size_limit_are_rejected() {
    let limit = (1 << 31) - 1;
    assert!(matrix_frame("", MatrixClass::Uint8, &[limit], limit).is_err());
    assert!(matrix_frame("", MatrixClass::Uint8, &[1 << 30], 1 << 30).is_ok());
}

#[test]
fn element_lengths_lead_from_each_element_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let sink = MatSink::new(
        outputs.clone(),
        "a.mat".into(),
        BTreeMap::new(),
        MemoryBudget::default(),
    );
    let batch = all_kinds();
    for name in ["one", "two"] {
        let mut writer = sink.new_table(&topic(name, 0), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    sink.finish().unwrap();
    let file = std::fs::read(&outputs.commit().unwrap()[0]).unwrap();
    assert_eq!(file[124..128], *b"\x00\x01IM");
    let mut offset = 128;
    let mut variables = Vec::new();
    while offset < file.len() {
        let number = |offset: usize| {
            u32::from_le_bytes(file[offset..offset + 4].try_into().unwrap()) as usize
        };
        assert_eq!(number(offset), 14);
        let len = number(offset + 44); // after the flags and two dimensions
        variables.push(
            String::from_utf8_lossy(&file[offset + 48..offset + 48 + len]).into_owned(),
        );
        offset += 8 + number(offset + 4);
    }
    assert_eq!(
        (variables, offset),
        (vec!["one".into(), "two".into(), "logtool".into()], file.len())
    );
}
