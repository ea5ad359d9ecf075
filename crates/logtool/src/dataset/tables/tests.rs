use std::slice::from_ref;

use arrow_schema::DataType;

use super::*;

fn schema(topic: &str, type_name: &str, columns: &[(&str, &str)]) -> RowSchema {
    let columns = columns.iter().map(|(name, data_type)| {
        let data_type = data_type.parse::<DataType>().unwrap();
        ((*name).to_owned(), ColumnType::new(&data_type))
    });
    RowSchema {
        topic: topic.to_owned(),
        instance: 0,
        has_instances: false,
        type_name: ros1_type_name(type_name),
        columns: columns.collect(),
    }
}

fn assign(tables: &mut TableSet, schema: &RowSchema) -> String {
    let (names, changes) = tables.assign(from_ref(schema));
    changes.into_iter().for_each(|change| tables.add(change));
    names.concat()
}

#[test]
fn assign_gives_a_separate_table_to_columns_of_another_kind() {
    let mut tables = TableSet::default();
    let old = schema("gps", "gps", &[("t", "Int64"), ("lat", "Int32")]);
    let more = schema("gps", "gps", &[("t", "Int64"), ("lon", "Int32")]);
    let wider = schema("gps", "gps", &[("t", "Int64"), ("lat", "Float64")]);
    let other = schema("gps", "gps", &[("t", "Int64"), ("lat", "Utf8")]);
    let third =
        schema("gps", "gps", &[("t", "Int64"), ("lon", "Utf8"), ("lat", "Utf8")]);
    assert_eq!(assign(&mut tables, &old), "gps");
    assert_eq!(assign(&mut tables, &more), "gps");
    assert_eq!(
        tables.assign(from_ref(&old)),
        (vec!["gps".to_owned()], vec![]),
        "nothing is new"
    );
    assert_eq!(assign(&mut tables, &wider), "gps", "readers widen it");
    let separate = assign(&mut tables, &other);
    assert!(separate.starts_with("gps~"), "{separate}");
    assert_eq!(assign(&mut tables, &third), separate, "it fits the second one");
    let reason = "`lat` is a text, but a number in the table gps";
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let reported = tables.separate_tables(&used(&["gps", &separate]));
    assert_eq!(reported, [format!("{separate} is a separate table of gps: {reason}")]);
    assert!(tables.separate_tables(&used(&["gps"])).is_empty(), "it has no files");
}

#[test]
fn assign_gives_each_topic_its_own_table() {
    let mut tables = TableSet::default();
    let columns = [("t", "Int64")];
    let imu = schema("/imu/data", "sensor_msgs/Imu", &columns);
    assert_eq!(assign(&mut tables, &imu), "imu_data");
    let similar = schema("/imu_data", "sensor_msgs/Imu", &columns);
    let similar = assign(&mut tables, &similar);
    assert!(similar.starts_with("imu_data~"), "{similar}");
    let ros2 = schema("/imu/data", "sensor_msgs/msg/Imu", &columns);
    assert_eq!(assign(&mut tables, &ros2), "imu_data");
    let other_type = schema("/imu/data", "std_msgs/String", &columns);
    assert!(assign(&mut tables, &other_type).starts_with("imu_data~"));
    let hidden = schema("_logtool", "x", &columns);
    assert_eq!(assign(&mut tables, &hidden), "topic_logtool");
}

#[test]
fn added_changes_restore_the_tables() {
    let mut tables = TableSet::default();
    let schemas = [
        schema("gps", "gps", &[("lat", "Int32")]),
        schema("gps", "gps", &[("lat", "Utf8")]),
        schema("gps", "gps", &[("lat", "Float64"), ("lon", "Int32")]),
    ];
    let mut restored = TableSet::default();
    for schema in &schemas {
        for change in tables.assign(from_ref(schema)).1 {
            tables.add(change.clone());
            restored.add(change);
        }
    }
    for schema in &schemas {
        let (names, changes) = restored.assign(from_ref(schema));
        assert_eq!((names, changes), (tables.assign(from_ref(schema)).0, vec![]));
    }
}

#[test]
fn assign_considers_tables_that_another_run_has_added() {
    let (mut first, mut other) = (TableSet::default(), TableSet::default());
    let number = schema("gps", "gps", &[("lat", "Int32")]);
    let text = schema("gps", "gps", &[("lat", "Utf8")]);
    let imu = schema("imu", "imu", &[("t", "Int64")]);
    let (names, changes) = first.assign(&[number.clone(), imu.clone()]);
    assert_eq!((names, changes.len()), (vec!["gps".to_owned(), "imu".to_owned()], 2));
    assert_eq!(first.assign(from_ref(&imu)).1.len(), 1, "nothing was added yet");
    // The other run does not know the changes at first.
    assert_eq!(other.assign(from_ref(&text)).0, ["gps"]);
    for change in changes {
        first.add(change.clone());
        other.add(change);
    }
    let (names, changes) = other.assign(&[text, imu.clone()]);
    assert!(names[0].starts_with("gps~") && names[1] == "imu", "{names:?}");
    assert_eq!(changes.len(), 1, "only the table of strings is new");
    assert!(first.assign(&[number, imu]).1.is_empty());
}

#[test]
fn assign_ignores_the_case_of_column_names() {
    let mut tables = TableSet::default();
    let first = schema("car", "car", &[("t", "Int64"), ("Speed", "Float64")]);
    let same = schema("car", "car", &[("t", "Int64"), ("speed", "Float64")]);
    let other = schema("car", "car", &[("t", "Int64"), ("SPEED", "Utf8")]);
    assert_eq!(assign(&mut tables, &first), "car");
    assert_eq!(assign(&mut tables, &same), "car");
    let separate = assign(&mut tables, &other);
    let reported = tables.separate_tables(&BTreeSet::from([separate]));
    let ends = ["Speed", "speed"].map(|known| {
        format!("`SPEED` is a text, but a number (`{known}`) in the table car")
    });
    assert!(ends.iter().any(|end| reported[0].ends_with(end)), "{reported:?}");
}

#[test]
fn unused_topics_have_no_table_with_files() {
    let mut tables = TableSet::default();
    for (topic, data_type) in [("gps", "Int32"), ("gps", "Utf8"), ("imu", "Int32")] {
        assign(&mut tables, &schema(topic, topic, &[("x", data_type)]));
    }
    let second = tables.by_topic["gps"][1].clone();
    let unused = tables.unused_topics(&BTreeSet::from([second]));
    assert_eq!(unused, ["imu"], "the order of a topic's tables stays");
    tables.remove_topic("imu");
    assert_eq!(assign(&mut tables, &schema("imu", "imu", &[("x", "Utf8")])), "imu");
}

#[test]
fn instances_of_a_topic_are_partitions_of_one_table() {
    let mut tables = TableSet::default();
    let ulog = |instance| RowSchema {
        instance,
        has_instances: true,
        ..schema("battery_status", "battery_status", &[("voltage_v", "Float32")])
    };
    assert_eq!(assign(&mut tables, &ulog(0)), "battery_status");
    assert_eq!(assign(&mut tables, &ulog(3)), "battery_status");
    let stem = ulog(3).file_stem("battery_status");
    assert_eq!(stem, "battery_status/instance=3/part-0");
    let second_type = RowSchema { instance: 1, has_instances: false, ..ulog(0) };
    assert_eq!(second_type.file_stem("battery_status"), "battery_status/part-1");
    // Readers expect the same partitions in all files of a table.
    let bag = schema("battery_status", "battery_status", &[("voltage_v", "Float32")]);
    assert!(assign(&mut tables, &bag).starts_with("battery_status~"));
}
