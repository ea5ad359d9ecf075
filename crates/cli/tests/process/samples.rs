//! The samples, and the files in `testdata/`.

use std::{fs, path::PathBuf};

use logtool_core::conformance;

/// A file of `testdata/`.
pub(crate) fn testdata(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    root.join(name).into_os_string().into_string().unwrap()
}

/// Returns the path of a sample, or `None` if there is none.
pub(crate) fn sample(name: &str) -> Option<String> {
    let path = conformance::sample_path(name)?;
    Some(path.into_os_string().into_string().unwrap())
}

/// The rows of `rosbag/edge/EXPECT.tsv`: a bag, and the number of its readable messages.
pub(crate) fn expected_bag_messages() -> Vec<(String, u64)> {
    let Some(table) = sample("rosbag/edge/EXPECT.tsv") else { return vec![] };
    let table = fs::read_to_string(table).unwrap();
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let name = format!("rosbag/edge/{}", cells.next()?);
        Some((name, cells.next()?.parse().ok()?))
    };
    table.lines().skip(1).filter_map(row).collect()
}
