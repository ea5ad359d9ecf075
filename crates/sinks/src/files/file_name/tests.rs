use super::*;
use crate::testing::topic;

fn file_names(style: NameStyle, topics: &[(&str, u32)]) -> Vec<String> {
    let topics: Vec<Topic> = topics.iter().map(|(name, i)| topic(name, *i)).collect();
    let names = FileNames::new(style, &topics);
    topics.iter().map(|topic| names.file_name(topic, "csv")).collect()
}

fn file_name(name: &str) -> String {
    file_names(NameStyle::Topic, &[(name, 0)]).remove(0)
}

#[test]
fn prefixed_names_agree_with_ulog2csv() {
    let style = NameStyle::Prefixed("log 1".to_owned());
    let names = file_names(style, &[("sensor_gps", 0), ("sensor_gps", 1)]);
    assert_eq!(names, ["log 1_sensor_gps_0.csv", "log 1_sensor_gps_1.csv"]);
}

#[test]
fn names_without_instance_zero_agree_with_flight_review() {
    let names = file_names(NameStyle::OmitInstanceZero, &[("esc", 0), ("esc", 2)]);
    assert_eq!(names, ["esc.csv", "esc_2.csv"]);
}

#[test]
fn slashes_of_ros_topics_become_underscores() {
    assert_eq!(file_name("/imu/data"), "imu_data_0.csv");
    assert_eq!(file_name("imu-data.2"), "imu-data.2_0.csv");
}

#[test]
fn names_cannot_leave_the_directory_or_be_hidden() {
    for name in
        ["..", "/..", "../../etc/passwd", ".hidden", "a\\..\\b", "/", "", "a\0b"]
    {
        let file = file_name(name);
        assert!(!file.contains(['/', '\\', '\0']) && !file.starts_with('.'), "{file}");
        let path = std::path::Path::new("out").join(&file);
        assert_eq!(path.file_name().unwrap(), file.as_str());
    }
    let style = NameStyle::Prefixed("../x".to_owned());
    assert_eq!(file_names(style, &[("a", 0)]), ["_.._x_a_0.csv"]);
}

#[test]
fn names_reserved_by_windows_are_changed() {
    let name_without_instance =
        |name| file_names(NameStyle::OmitInstanceZero, &[(name, 0)]).remove(0);
    assert_eq!(name_without_instance("CON"), "_CON.csv");
    assert_eq!(name_without_instance("nul"), "_nul.csv");
    assert_eq!(name_without_instance("aux.txt"), "_aux.txt.csv");
    assert_eq!(name_without_instance("com7"), "_com7.csv");
    assert_eq!(name_without_instance("com77"), "com77.csv");
    assert_eq!(file_name("aux.txt"), "_aux.txt_0.csv");
    assert_eq!(file_name("CON"), "CON_0.csv");
    assert_eq!(file_name("a..."), "a____0.csv");
    assert_eq!(file_name("a:b*c?"), "a_b_c__0.csv");
}

#[test]
fn long_names_are_truncated_and_stay_unique() {
    let long = "x".repeat(400);
    let names = file_names(
        NameStyle::Topic,
        &[(&format!("{long}a"), 0), (&format!("{long}b"), 0)],
    );
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.len() < 250));
    let style = NameStyle::Prefixed("é".repeat(200));
    assert!(file_names(style, &[("a", 0)])[0].len() < 250);
}

#[test]
fn file_names_are_unique_for_all_topics() {
    let topics =
        [("/imu", 0), ("imu", 0), ("IMU", 0), ("i_m", 0), ("i/m", 0), ("i:m", 0)];
    let names = file_names(NameStyle::Topic, &topics);
    let lowercase_names: BTreeSet<String> =
        names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(lowercase_names.len(), topics.len(), "{names:?}");
    assert_eq!(names[0], "imu_0.csv");
    assert!(names[1].starts_with("imu_0~"));

    let names =
        file_names(NameStyle::OmitInstanceZero, &[("a", 1), ("a_1", 0), ("a_1", 1)]);
    assert_eq!(names[0], "a_1.csv");
    assert!(names[1].starts_with("a_1~"));
    assert_eq!(names[2], "a_1_1.csv");
}
