use std::slice::from_ref;

use arrow_schema::DataType;

use super::*;

fn shape(topic: &str, of: &str, columns: &[(&str, &str)]) -> Shape {
    let columns = columns.iter().map(|(name, of)| {
        let of = of.parse::<DataType>().unwrap();
        ((*name).to_owned(), ColumnType::new(&of))
    });
    Shape {
        topic: topic.to_owned(),
        instance: 0,
        has_instances: false,
        type_name: plain_type(of),
        columns: columns.collect(),
    }
}

fn place(tables: &mut Tables, shape: &Shape) -> String {
    tables.place(shape).0
}

#[test]
fn columns_come_and_go_and_one_of_another_type_has_a_table_of_its_own() {
    let mut tables = Tables::default();
    let old = shape("gps", "gps", &[("t", "Int64"), ("lat", "Int32")]);
    let more = shape("gps", "gps", &[("t", "Int64"), ("lon", "Int32")]);
    let wider = shape("gps", "gps", &[("t", "Int64"), ("lat", "Float64")]);
    let other = shape("gps", "gps", &[("t", "Int64"), ("lat", "Utf8")]);
    let third =
        shape("gps", "gps", &[("t", "Int64"), ("lon", "Utf8"), ("lat", "Utf8")]);
    assert_eq!(place(&mut tables, &old), "gps");
    assert_eq!(place(&mut tables, &more), "gps");
    assert_eq!(tables.place(&old), ("gps".to_owned(), None), "nothing is new");
    assert_eq!(place(&mut tables, &wider), "gps", "readers widen it");
    let own = place(&mut tables, &other);
    assert!(own.starts_with("gps~"), "{own}");
    assert_eq!(place(&mut tables, &third), own, "it fits the second one");
    let why = "`lat` is a text, but a number in the table gps";
    let live = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let odd = tables.odd(&live(&["gps", &own]));
    assert_eq!(odd, [format!("{own} is a separate table of gps: {why}")]);
    assert!(tables.odd(&live(&["gps"])).is_empty(), "it has no files");
}

#[test]
fn topics_of_two_names_never_share_a_table() {
    let mut tables = Tables::default();
    let columns = [("t", "Int64")];
    assert_eq!(
        place(&mut tables, &shape("/imu/data", "sensor_msgs/Imu", &columns)),
        "imu_data"
    );
    let other = place(&mut tables, &shape("/imu_data", "sensor_msgs/Imu", &columns));
    assert!(other.starts_with("imu_data~"), "{other}");
    let ros2 = shape("/imu/data", "sensor_msgs/msg/Imu", &columns);
    assert_eq!(place(&mut tables, &ros2), "imu_data");
    let text = shape("/imu/data", "std_msgs/String", &columns);
    assert!(place(&mut tables, &text).starts_with("imu_data~"));
    assert_eq!(place(&mut tables, &shape("_logtool", "x", &columns)), "topic_logtool");
}

#[test]
fn what_is_noted_makes_the_same_tables() {
    let mut tables = Tables::default();
    let shapes = [
        shape("gps", "gps", &[("lat", "Int32")]),
        shape("gps", "gps", &[("lat", "Utf8")]),
        shape("gps", "gps", &[("lat", "Float64"), ("lon", "Int32")]),
    ];
    let mut again = Tables::default();
    for shape in &shapes {
        if let (_, Some(new)) = tables.place(shape) {
            again.add(new);
        }
    }
    for shape in &shapes {
        assert_eq!(again.place(shape), (tables.place(shape).0, None));
    }
}

#[test]
fn who_was_slower_decides_again_knowing_what_was_decided() {
    let (mut one, mut other) = (Tables::default(), Tables::default());
    let number = shape("gps", "gps", &[("lat", "Int32")]);
    let text = shape("gps", "gps", &[("lat", "Utf8")]);
    let imu = shape("imu", "imu", &[("t", "Int64")]);
    let (names, new) = one.places(&[number.clone(), imu.clone()]);
    assert_eq!((names, new.len()), (vec!["gps".to_owned(), "imu".to_owned()], 2));
    assert_eq!(one.places(from_ref(&imu)).1.len(), 1, "nothing was noted yet");
    // The other one knows nothing of that, and then all of it.
    assert_eq!(other.places(from_ref(&text)).0, ["gps"]);
    for table in new {
        one.add(table.clone());
        other.add(table);
    }
    let (names, new) = other.places(&[text, imu.clone()]);
    assert!(names[0].starts_with("gps~") && names[1] == "imu", "{names:?}");
    assert_eq!(new.len(), 1, "only the table of texts is new");
    assert!(one.places(&[number, imu]).1.is_empty());
}

#[test]
fn columns_that_differ_only_in_capitals_are_one_to_readers() {
    let mut tables = Tables::default();
    let first = shape("car", "car", &[("t", "Int64"), ("Speed", "Float64")]);
    let same = shape("car", "car", &[("t", "Int64"), ("speed", "Float64")]);
    let other = shape("car", "car", &[("t", "Int64"), ("SPEED", "Utf8")]);
    assert_eq!(place(&mut tables, &first), "car");
    assert_eq!(place(&mut tables, &same), "car");
    let own = place(&mut tables, &other);
    let odd = tables.odd(&BTreeSet::from([own]));
    assert!(
        odd[0].ends_with("`SPEED` is a text, but a number (`Speed`) in the table car")
            || odd[0].ends_with(
                "`SPEED` is a text, but a number (`speed`) in the table car"
            )
    );
}

#[test]
fn tables_without_files_are_forgotten_topic_by_topic() {
    let mut tables = Tables::default();
    for (topic, of) in [("gps", "Int32"), ("gps", "Utf8"), ("imu", "Int32")] {
        place(&mut tables, &shape(topic, topic, &[("x", of)]));
    }
    let one = tables.of_topic["gps"][1].clone();
    let idle = tables.idle(&BTreeSet::from([one]));
    assert_eq!(idle, ["imu"], "the order of a topic's tables stays");
    tables.forget("imu");
    assert_eq!(place(&mut tables, &shape("imu", "imu", &[("x", "Utf8")])), "imu");
}

#[test]
fn instances_of_a_topic_share_a_table_and_are_partitions() {
    let mut tables = Tables::default();
    let ulog = |instance| Shape {
        instance,
        has_instances: true,
        ..shape("battery_status", "battery_status", &[("voltage_v", "Float32")])
    };
    assert_eq!(place(&mut tables, &ulog(0)), "battery_status");
    assert_eq!(place(&mut tables, &ulog(3)), "battery_status");
    let stem = ulog(3).file_stem("battery_status");
    assert_eq!(stem, "battery_status/instance=3/part-0");
    // Readers want the same partitions of all files of a table.
    let bag = shape("battery_status", "battery_status", &[("voltage_v", "Float32")]);
    assert!(place(&mut tables, &bag).starts_with("battery_status~"));
}
