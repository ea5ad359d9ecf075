use std::slice::from_ref;

use super::*;

fn shape(topic: &str, of: &str, columns: &[(&str, &str)]) -> Shape {
    let columns =
        columns.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned()));
    Shape {
        topic: topic.to_owned(),
        instance: 0,
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
    let other = shape("gps", "gps", &[("t", "Int64"), ("lat", "Float64")]);
    let third =
        shape("gps", "gps", &[("t", "Int64"), ("lon", "Utf8"), ("lat", "Float64")]);
    assert_eq!(place(&mut tables, &old), "gps");
    assert_eq!(place(&mut tables, &more), "gps");
    assert_eq!(tables.place(&old), ("gps".to_owned(), None), "nothing is new");
    let own = place(&mut tables, &other);
    assert!(own.starts_with("gps~"), "{own}");
    assert_eq!(place(&mut tables, &third), own, "it fits the second one");
    let why = "`lat` is Float64, not Int32 as in the table gps";
    let live = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let odd = tables.odd(&live(&["gps", &own]));
    assert_eq!(odd, [format!("{own} is a table of its own of gps: {why}")]);
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
        shape("gps", "gps", &[("lat", "Float64")]),
        shape("gps", "gps", &[("lat", "Int32"), ("lon", "Int32")]),
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
        odd[0].ends_with("`SPEED` is Utf8, not Float64 as `speed` in the table car")
    );
}

#[test]
fn tables_without_files_are_forgotten_topic_by_topic() {
    let mut tables = Tables::default();
    for (topic, of) in [("gps", "Int32"), ("gps", "Utf8"), ("imu", "Int32")] {
        place(&mut tables, &shape(topic, topic, &[("x", of)]));
    }
    let one = tables.of_topic[&("gps".to_owned(), 0)][1].clone();
    let idle = tables.idle(&BTreeSet::from([one]));
    assert_eq!(idle, [("imu".to_owned(), 0)], "the order of a topic's tables stays");
    tables.forget("imu".to_owned(), 0);
    assert_eq!(place(&mut tables, &shape("imu", "imu", &[("x", "Utf8")])), "imu");
}

#[test]
fn of_long_types_only_what_differs_is_told() {
    let fields: Vec<String> = (0..30).map(|n| format!("\"f{n}\": Float64")).collect();
    let long = format!("Struct({})", fields.join(", "));
    let other = long.replace("\"f17\": Float64", "\"f17\": Int32");
    assert!(apart(&other, &long).starts_with("…\"f17\": Int32, \"f18\""));
    assert!(apart(&other, &long).len() < 80 && apart("Int32", &long) == "Int32");
}
