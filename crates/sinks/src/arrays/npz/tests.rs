use std::io::Cursor;

use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{all_kinds, names, write_one_file},
};

#[test]
fn array_header_has_the_layout_that_numpy_documents() {
    // numpy.save of arange(6, dtype="<i2").reshape(2, 3), with NumPy 1.26.
    let text = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
    let bytes = header("<i2", &[2, 3]);
    assert_eq!(bytes[..10], *b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(bytes[10..10 + text.len()], *text.as_bytes());
    assert_eq!((bytes.len(), bytes[127]), (128, b'\n'));
    assert!(String::from_utf8_lossy(&header("|u1", &[7])).contains("'shape': (7,), }"));
    assert!(String::from_utf8_lossy(&header("<U1", &[])).contains("'shape': (), }"));
}

#[test]
fn nulls_are_written_as_nan_nat_or_a_validity_array() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let sink = NpzSink::new(
        outputs.clone(),
        names("t"),
        BTreeMap::new(),
        MemoryBudget::default(),
    );
    let bytes =
        write_one_file(&outputs, &sink, &[all_kinds(), all_kinds().slice(1, 1)]);
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut array = |name: &str| {
        let mut bytes = Vec::new();
        zip.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        let header_len = 10 + usize::from(bytes[8]) + (usize::from(bytes[9]) << 8);
        (
            String::from_utf8_lossy(&bytes[10..header_len]).into_owned(),
            bytes[header_len..].to_vec(),
        )
    };
    let (header, booleans) = array("on");
    assert!(header.contains("'|b1'") && header.contains("(3,)"), "{header}");
    assert_eq!(booleans, [1, 0, 0]);
    let (header, times) = array("timestamp");
    assert!(header.contains("'<M8[ns]'"), "{header}");
    assert_eq!(times[..8], 1_234_567_000_i64.to_le_bytes());
    assert_eq!(times[8..16], i64::MIN.to_le_bytes(), "not a time");
    let (header, names) = array("mode_label");
    assert!(header.contains("'<U6'"), "{header}");
    assert_eq!(names[..8], *b"M\0\0\0A\0\0\0");
    assert_eq!(array("mode_label.valid").1, [1, 0, 0]);
    // Rows: [0.5, null], [] and [].
    let (header, items) = array("list");
    assert!(header.contains("'<f4'") && header.contains("(2,)"), "{header}");
    assert_eq!(items[..4], 0.5_f32.to_le_bytes());
    let offsets: Vec<u8> =
        [0_i64, 2, 2, 2].into_iter().flat_map(i64::to_le_bytes).collect();
    assert_eq!(array("list.offsets").1, offsets);
    assert_eq!(array("pair.x").1[8..16], f64::NEG_INFINITY.to_le_bytes());
    assert!(array("logtool.metadata").0.contains("'<U"));
}
