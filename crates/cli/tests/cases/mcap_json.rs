//! The cases of MCAP files with JSON messages.

use crate::{program::Folder, samples::sample};

/// Returns the values of the field `name` in the records that `cat` prints of the sample
/// `name`, each as it is written.
fn cat_values(file: &str, field: &str) -> Vec<String> {
    let run = Folder::new().run(&["cat", file]);
    let start = format!("\"{field}\":");
    let value = |line: &str| {
        let (_, rest) = line.split_once(&start).unwrap();
        rest.split([',', '}']).next().unwrap().to_owned()
    };
    run.stdout.lines().map(value).collect()
}

#[test]
fn json_floats_are_rounded_correctly() {
    let Some(file) = sample("cases/mcap/m_json_double.mcap") else { return };
    let values = cat_values(&file, "x");
    assert_eq!(values[..2], ["-1.0993429982852039", "-29.650000000000006"]);
    let parsed = values.iter().map(|value| value.parse::<f64>().unwrap().to_bits());
    // The texts of the messages, as Python's `mcap` reads them.
    let expected = [
        -1.0993429982852039,
        -29.650000000000006,
        0.1,
        1e23,
        9007199254740993.0,
        2.2250738585072014e-308,
        123456789.12345679,
    ];
    assert!(parsed.eq(expected.map(f64::to_bits)), "{values:?}");
}

#[test]
fn json_floats_are_exact_in_tables() {
    let Some(file) = sample("cases/mcap/m_json_double.mcap") else { return };
    let folder = Folder::new();
    folder
        .run(&["convert", &file, "--format", "csv", "-o", "tables"])
        .assert_status(0, &[]);
    let names = folder.list("tables");
    let name = names.iter().find(|name| name.ends_with(".csv")).unwrap();
    let table = folder.read(&format!("tables/{name}"));
    for value in ["-1.0993429982852039", "-29.650000000000006"] {
        assert!(table.contains(value), "{table}");
    }
}

#[test]
fn integers_above_63_bits_are_exact() {
    let Some(file) = sample("cases/mcap/j_bigint.mcap") else { return };
    assert_eq!(cat_values(&file, "u"), ["18446744073709551615", "1", "1000"]);
    assert_eq!(cat_values(&file, "n"), ["-9223372036854775808", "2", "null"]);
    let folder = Folder::new();
    folder
        .run(&["convert", &file, "--format", "csv", "-o", "tables"])
        .assert_status(3, &["not match"]);
    let name = &folder.list("tables")[0];
    let table = folder.read(&format!("tables/{name}"));
    assert!(table.contains(",18446744073709551615,-9223372036854775808\n"), "{table}");
    folder.run(&["repair", &file, "-o", "new.mcap"]).assert_status(3, &["mismatch"]);
    let strict = ["--strict", "repair", &file, "-o", "strict.mcap"];
    folder.run(&strict).assert_status(1, &["does not match its schema"]);
    assert!(!folder.path().join("strict.mcap").exists());
}
